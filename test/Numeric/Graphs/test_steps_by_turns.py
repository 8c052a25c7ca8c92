# SPDX-License-Identifier: Apache-2.0
"""Recurrences whose weights exceed the L2 cache: every second step runs its tasks in reverse order
(hewn-alternate-task-order)."""

import hewn
import numpy as np
import pytest
from numeric import check, compiled, feeds_of, one_node, oracle

# Column counts of the weights. They give a kernel with as many tasks as an alternating step has
# parts, with more tasks, or with a number of tasks that the number of parts does not divide. 512
# columns of 512 rows are 1 MB.
HIDDEN = (523, 640, 1100)
STEPS = (1, 2, 3, 8)


def recurrence(op, hidden, steps, batch, random):
    gates = {"RNN": 1, "LSTM": 4}[op] * hidden
    x = random.standard_normal((steps, batch, 5)).astype(np.float32)
    weights = [(random.standard_normal((1, gates, k)) / np.sqrt(k)).astype(np.float32) for k in (5, hidden)]
    model = one_node(op, [x, *weights], outputs=2, opset=14, constants=(1, 2), hidden_size=hidden)
    return model, feeds_of([x, *weights], (1, 2))


@pytest.mark.parametrize("threads", (1, 2, 3))
@pytest.mark.parametrize("target", ("host", "x86-64-v2", "x86-64-v3"))
def test_results_are_those_of_steps_in_order(target, threads):
    random = np.random.default_rng(threads)
    for hidden in HIDDEN:
        op, steps, batch = random.choice(["RNN", "LSTM"]), int(random.choice(STEPS)), int(random.choice([1, 2, 7]))
        model, feeds = recurrence(op, hidden, steps, batch, random)
        got = compiled(model, target, threads=threads).run(feeds)
        check(list(got.values()), oracle(model, feeds), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", STEPS)
def test_bits_are_those_of_any_number_of_threads(steps):
    model, feeds = recurrence("LSTM", 640, steps, 1, np.random.default_rng(steps))
    one, three = (hewn.compile(model, threads=n).run(feeds) for n in (1, 3))
    for name in one:
        np.testing.assert_array_equal(one[name], three[name])


def test_turns_are_recorded():
    """The compiler alternates the order of tasks between steps only for weights that exceed the
    cache."""
    for hidden, turns in ((64, False), (640, True)):
        model, _ = recurrence("LSTM", hidden, 3, 1, np.random.default_rng(0))
        assert ("plan.alternates" in hewn._compile(model, target="x86-64-v3", emit="kernels")) == turns

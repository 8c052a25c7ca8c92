# SPDX-License-Identifier: Apache-2.0
"""Prefix scans (cumulative sums and cumulative products) on a GPU, by a thread, a warp or a block.
Tests results, and the effect of missing synchronization."""

import emulated
import numpy as np
import pytest
from comparison import compare, feeds_for
from mutation import BARRIER, SCHEDULES, SHUFFLE, is_caught, looking, on_host, without
from onnx import TensorProto, helper
from test_ptx import DOUBLE, FLOAT, HALF, model


def sums(shape, axis, kind=FLOAT, **attributes):
    nodes = [helper.make_node("CumSum", ["x", "axis"], ["y"], **attributes)]
    return model(nodes, [("x", kind, shape)], [("y", kind)], axis=np.array(axis))


def products(shape, axis, **attributes):
    """Returns a model that multiplies numbers near 1 cumulatively along an axis."""
    nodes = [
        helper.make_node("Tanh", ["x"], ["t"]),
        helper.make_node("Mul", ["t", "small"], ["s"]),
        helper.make_node("Add", ["s", "one"], ["near"]),
        helper.make_node("CumProd", ["near", "axis"], ["y"], **attributes),
    ]
    constants = {"axis": np.array(axis), "small": np.float32(0.01), "one": np.float32(1)}
    made = model(nodes, [("x", FLOAT, shape)], [("y", FLOAT)], **constants)
    made.opset_import[0].version = 26
    made.ir_version = 13
    return made


BACKWARD, EXCLUSIVE = {"reverse": 1}, {"exclusive": 1}
MODELS = {
    # A block scans each row. The last chunk is partial. The cases cover all scan orders.
    "long-line": sums([3, 2500], 1),
    "long-line-backward": sums([3, 2500], 1, **BACKWARD),
    "long-line-before": sums([2, 1500], 1, **EXCLUSIVE),
    "long-line-before-backward": sums([2, 1029], 1, **BACKWARD, **EXCLUSIVE),
    "integers": sums([3, 2500], 1, TensorProto.INT64),
    "doubles": sums([2, 1500], 1, DOUBLE),
    "halves": sums([2, 300], 1, HALF),
    "any-length": sums(["m", "n"], 1),
    # One warp scans a row; a scan runs along a strided dim; scans are short; adjacent threads scan.
    "warp": sums([5, 100], 1, **EXCLUSIVE),
    "across": sums([700, 3], 0),
    "short": sums([40, 9], 1, **BACKWARD),
    "many": sums([30, 10000], 0),
    "products": products([2, 1500], 1),
    "products-before": products([2, 600], 1, **BACKWARD, **EXCLUSIVE),
    "none": sums([0, 20], 1),
    "of-nothing": sums([20, 0], 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_as_on_the_host(name):
    feeds, want = on_host(MODELS[name])
    with emulated.compiled(MODELS[name]) as module:
        for schedule in SCHEDULES:
            with emulated.setting("SCHEDULE", schedule):
                compare(module.run(feeds), want)
        del module


@pytest.mark.parametrize("length", [1, 3, 4, 5, 127, 1024, 1025, 4097])
def test_any_length(length):
    random = np.random.default_rng(length)
    x = random.standard_normal((3, length)).astype(np.float32)
    with emulated.compiled(MODELS["any-length"]) as module:
        got = module.run({"x": x})["y"]
        del module
    np.testing.assert_allclose(got, np.cumsum(x.astype(np.float64), 1), rtol=1e-5, atol=1e-5 * np.sqrt(length))


def test_work_is_linear():
    """The amount of work of a scan is linear in its length: the kernel has one loop over the
    scanned dim."""
    seen = []
    with emulated.mutated(looking(seen.append)), emulated.compiled(MODELS["long-line"]) as module:
        module.run(feeds_for(module.inputs))
        del module
    # The kernel of a prefix scan by a block has five warp shuffles and two block barriers, which
    # another test removes.
    assert seen[0].count(SHUFFLE) == 5 and seen[0].count(BARRIER) == 2


@pytest.mark.parametrize("call", [BARRIER, SHUFFLE])
def test_threads_that_do_not_wait(call):
    assert is_caught(MODELS["long-line"], without(call))


@pytest.mark.parametrize("number", [0, 1])
def test_every_barrier_is_needed(number):
    def change(text):
        lines = text.split("\n")
        barriers = [i for i, line in enumerate(lines) if BARRIER in line]
        del lines[barriers[number]]
        return "\n".join(lines)

    assert is_caught(MODELS["long-line"], change)

# SPDX-License-Identifier: Apache-2.0
"""Attention with a small number of rows (flash decoding). The columns are split over blocks, and
the last block to finish combines the partial results."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import emulated
import hewn
import numpy as np
import onnx
import pytest
from mutation import BARRIER, SCHEDULES, is_caught, looking, on_host
from onnx import TensorProto, helper
from test_attention import grouped, in_halves

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
from test_chains import attention

DIVIDED = "splitTiles = "


def reasons(model):
    """Returns the output of `hewn explain` for the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(model, path)
        command = [os.environ["HEWN_TOOLS"] + "/hewn", "explain", str(path), "--target=sm_80"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(model, feeds, want, schedule, rtol=1e-4, atol=3e-6):
    """Runs the model twice and compares the results. The first run must reset the counters of its
    blocks."""
    with emulated.compiled(model) as module, emulated.setting("SCHEDULE", schedule):
        for _ in range(2):
            for name, value in module.run(feeds).items():
                np.testing.assert_allclose(value, want[name], rtol=rtol, atol=atol)
        del module


# Batch, heads, rows, columns, head size. The cases have a partial last split, rows of several
# warps, odd and large head sizes, and so many splits that the last ones are empty.
SHAPES = [(1, 2, 1, 600, 64), (2, 1, 1, 1000, 20), (1, 3, 20, 400, 16), (1, 1, 7, 500, 128), (1, 1, 1, 4500, 33)]


@pytest.mark.parametrize("mask, shape", list(zip(["add", "none", "where", "none", "row"], SHAPES)), ids=str)
def test_as_on_the_host(shape, mask):
    model, feeds = attention(*shape, mask, scale_first=False)
    assert DIVIDED in reasons(model)
    _, want = on_host(model, feeds)
    for schedule in SCHEDULES:
        run(model, feeds, want, schedule)


def test_of_any_length():
    """One attention kernel handles all numbers of columns of a dynamic dim. A small number of
    columns is one split, and zero columns are no split."""
    model, _ = attention(1, 2, 1, 8, 16, "add", False, dynamic_rows=True, dynamic_columns=True)
    assert DIVIDED in reasons(model)
    reference = hewn.compile(model)
    generator = np.random.default_rng(8)
    with emulated.compiled(model) as module:
        for rows, columns in [(1, 3), (1, 700), (3, 129), (70, 500), (1, 300), (1, 0)]:
            shapes = {
                "q": (1, 2, rows, 16),
                "k": (1, 2, columns, 16),
                "v": (1, 2, columns, 16),
                "mask": (1, 1, rows, columns),
            }
            feeds = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
            (want,) = reference.run(feeds).values()
            (got,) = module.run(feeds).values()
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=3e-6)
        del module


def test_halves():
    model, feeds = attention(1, 2, 1, 700, 24, "none", scale_first=False)
    _, want = on_host(model, feeds)
    run(*in_halves(model, feeds), want, "random", rtol=2e-3, atol=1e-3)


def test_parts_without_columns_that_count():
    """Tests masks that exclude all columns of a split, so that the scores of the split have no
    maximum."""
    model, feeds = attention(1, 1, 1, 900, 16, "add", scale_first=False)
    for keeps in (slice(0, 3), slice(897, 900), slice(400, 500)):
        feeds["mask"] = np.full((1, 1, 1, 900), -np.inf, np.float32)
        feeds["mask"][..., keeps] = 0
        _, want = on_host(model, feeds)
        run(model, feeds, want, "random")


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("heads", [(6, 2), (4, 1)], ids=str)
def test_groups_of_heads(heads, causal):
    """In grouped-query attention, the query heads that share keys are the rows of one GEMM."""
    model, feeds = grouped(*heads, rows=1, columns=600, causal=causal)
    assert DIVIDED in reasons(model)
    _, want = on_host(model, feeds)
    texts = []
    with emulated.mutated(looking(texts.append)):
        run(model, feeds, want, "random")
    assert "@hewn.simt.counter.add" in texts[0]


def test_enough_rows_are_left_alone():
    """The columns are not split if the rows already occupy all SMs, or if the number of columns is
    small."""
    for shape in [(2, 16, 512, 512, 64), (1, 2, 1, 200, 64)]:
        model, _ = attention(*shape, "none", scale_first=False)
        assert DIVIDED not in reasons(model)


def test_every_step_is_needed():
    model, feeds = attention(1, 1, 20, 300, 16, "none", scale_first=False)
    found = []
    is_caught(model, looking(lambda text: found.append(text)), feeds)
    text = found[0]
    call = re.compile(rf"^.*{re.escape(BARRIER)}.*\n", re.M)
    places = [match.span() for match in call.finditer(text)]
    # The test skips the last barrier of the loop over tiles, before a block's next rows: the
    # barrier before the counter follows it.
    counts = list(re.finditer(r"^.*call i32 @hewn.simt.counter.add.*\n", text, re.M))
    assert len(counts) == 2
    around = [place for place in places if place[0] < counts[0].start()][-1:] + [
        place for place in places if place[0] > counts[-1].start()
    ][:1]
    for begin, end in around:
        assert is_caught(model, lambda text, begin=begin, end=end: text[:begin] + text[end:], feeds), text[begin:end]
    # Mutations of the kernel, which do not count a block's arrival at the counter, or let a block
    # act as the last one too early.
    add = r"(call i32 @hewn.simt.counter.add\(i64 [^,]+, i32) 1\)"
    assert is_caught(model, lambda text: re.sub(add, r"\1 0)", text), feeds)
    assert is_caught(model, lambda text: re.sub(add, r"\1 2)", text), feeds)


def test_counters_are_left_as_they_were():
    model, feeds = attention(1, 1, 1, 300, 16, "none", scale_first=False)
    _, want = on_host(model, feeds)
    reset = r"(call i32 @hewn.simt.counter.add\(i64 [^,]+, i32) -\d+\)"
    with emulated.mutated(lambda text: re.sub(reset, r"\1 0)", text)), pytest.raises(AssertionError):
        run(model, feeds, want, "random")


def several():
    """Returns a model with three independent attentions, which become one persistent kernel with
    the ops around them."""
    value = helper.make_tensor_value_info
    nodes, feeds, generator = [], {}, np.random.default_rng(9)
    for i in range(3):
        nodes += [
            helper.make_node("MatMul", [f"q{i}", f"k{i}"], [f"s{i}"]),
            helper.make_node("Softmax", [f"s{i}"], [f"w{i}"]),
            helper.make_node("MatMul", [f"w{i}", f"v{i}"], [f"a{i}0"]),
        ]
        # The kernels of this model are so small that they take less time than their launches, so
        # that the compiler merges them.
        nodes += [helper.make_node("Softmax", [f"a{i}{j}"], [f"a{i}{j + 1}" if j < 5 else f"y{i}"]) for j in range(6)]
        for name, shape in {"q": (1, 1, 8), "k": (1, 8, 520), "v": (1, 520, 8)}.items():
            feeds[f"{name}{i}"] = generator.standard_normal(shape).astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "several",
        [value(name, TensorProto.FLOAT, data.shape) for name, data in feeds.items()],
        [value(f"y{i}", TensorProto.FLOAT, None) for i in range(3)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds


def test_parts_of_a_joint_kernel():
    model, feeds = several()
    _, want = on_host(model, feeds)
    for schedule in SCHEDULES:
        before = emulated.DRIVER.emulator_launches()
        run(model, feeds, want, schedule)
        assert emulated.DRIVER.emulator_launches() - before == 1  # the second run replays a graph
    # The run that captures the graph and the replay use the same counters, which each run must
    # reset.
    meeting = re.compile(r"^.*call void @joint\d+_meet\w*\(.*\n", re.M)
    assert is_caught(model, lambda text: meeting.sub("", text), feeds)

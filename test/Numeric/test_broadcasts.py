# SPDX-License-Identifier: Apache-2.0
"""Kernels with values of several ranks. The compiler derives from the ops which dims correspond,
not from equal extents or from positions."""

import hewn
import numpy as np
import pytest
from broadcasts import check, model_of
from onnx import TensorProto, helper


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_chains(first):
    model, feeds, want = model_of(range(first, first + 40))
    check(hewn.compile(model).run(feeds), want)


def reduced(op, x, axes, keepdims, rest, others):
    """Builds a model that reduces x to r and applies the ops of `rest` to r, x and `others`."""
    nodes = [helper.make_node(op, ["x"], ["r"], axes=axes, keepdims=keepdims)]
    nodes += [helper.make_node(op, reads, [makes]) for op, reads, makes in rest]
    feeds = {"x": x, **others}
    graph = helper.make_graph(
        nodes,
        "reduced",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in feeds.items()],
        [helper.make_tensor_value_info(makes, TensorProto.FLOAT, None) for _, _, makes in rest],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), feeds


def numbers(*shape):
    return np.random.default_rng(6).standard_normal(shape).astype(np.float32)


def test_result_of_columns_in_rows():
    """The input x is square, so that extents do not identify dims. The reduction results of its
    rows broadcast along its columns."""
    x = numbers(28, 28)
    model, feeds = reduced("ReduceMin", x, [1], 0, [("Sub", ["r", "x"], "y")], {})
    np.testing.assert_array_equal(hewn.compile(model).run(feeds)["y"], x.min(1) - x)


def test_result_along_a_dim_of_equal_extent():
    x = numbers(1, 2, 2)
    model, feeds = reduced("ReduceMean", x, [2], 0, [("Max", ["r", "x"], "y")], {})
    np.testing.assert_allclose(hewn.compile(model).run(feeds)["y"], np.maximum(x.mean(2), x), rtol=1e-6)


def test_result_of_a_larger_rank():
    """The model's result y has the rank of the reduced input x, but the dim of extent 58 has
    another index in y than in x."""
    x, t = numbers(1, 1, 58, 1, 1), numbers(1, 1, 1, 1, 1)
    model, feeds = reduced("ReduceMean", x, [4], 0, [("Div", ["r", "t"], "y")], {"t": t})
    np.testing.assert_allclose(hewn.compile(model).run(feeds)["y"], x.mean(4) / t, rtol=1e-6)


def test_results_of_two_ranks():
    """One op reads the reduction result r for each element of a row, another op reads r as a value
    of a larger rank."""
    x, t = numbers(34, 5), numbers(1, 1, 1, 1)
    model, feeds = reduced("ReduceMax", x, [1], 1, [("Add", ["r", "x"], "y"), ("Add", ["r", "t"], "z")], {"t": t})
    got = hewn.compile(model).run(feeds)
    np.testing.assert_array_equal(got["y"], x.max(1, keepdims=True) + x)
    np.testing.assert_array_equal(got["z"], (x.max(1, keepdims=True) + t))
    assert got["z"].shape == (1, 1, 34, 1)


def test_one_dim_twice():
    """Both dims of the value `d` index rows of the input x, so that d[i, j] combines rows i and
    j."""
    x = numbers(16, 16)
    rest = [("Neg", ["r"], "n"), ("Sum", ["c", "n"], "d"), ("Sub", ["x", "d"], "y")]
    model, feeds = reduced("ReduceMax", x, [1], 0, rest, {})
    model.graph.node.insert(1, helper.make_node("ReduceMax", ["x"], ["c"], axes=[1], keepdims=1))
    d = x.max(1, keepdims=True) - x.max(1)
    np.testing.assert_array_equal(hewn.compile(model).run(feeds)["y"], x - d)


def test_a_dynamic_dim_of_one_in_joined_rows():
    """The reduction runs over both dims of x as one row. The dim n of t broadcasts if it is 1 at run
    time, so that t is no such row: its elements must not be read beyond its end."""
    nodes = [
        helper.make_node("Add", ["t", "x"], ["s"]),
        helper.make_node("ReduceMax", ["s"], ["m"], axes=[0, 1]),
        helper.make_node("Max", ["m", "s"], ["p"]),
        helper.make_node("Add", ["p", "t"], ["y"]),
    ]
    x = numbers(33, 33)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
        helper.make_tensor_value_info("t", TensorProto.FLOAT, ["n", 33]),
    ]
    graph = helper.make_graph(nodes, "joined", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    module = hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    for n in (1, 33):
        t = numbers(n, 33)
        got = module.run({"x": x, "t": t})["y"]
        np.testing.assert_array_equal(got, np.maximum((t + x).max(), t + x) + t)

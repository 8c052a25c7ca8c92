# SPDX-License-Identifier: Apache-2.0
"""Tests GEMMs whose right operand is computed by other ops, so that the GEMM kernel packs it at run
time. The panels hold pairs or groups of four along K for dot-product instructions. The tests draw
shapes in both memory orders."""

import ml_dtypes
import numpy as np
import pytest
from numeric import compiled
from onnx import helper

OPSET = helper.make_opsetid("", 22)


def model(nodes, feeds, result, rank, open_dims):
    def value(name, array):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        dims = [f"{name}{i}" if (name, i) in open_dims else d for i, d in enumerate(array.shape)]
        return helper.make_tensor_value_info(name, kind, dims)

    output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(result)), [None] * rank)
    graph = helper.make_graph(nodes, "packed", [value(*item) for item in feeds.items()], [output])
    return helper.make_model(graph, opset_imports=[OPSET], ir_version=10)


def drawn(seed):
    """Draws batch, rows, K, columns, whether K is innermost in memory, and the symbolic dims. The
    number of rows is large enough to make packing profitable."""
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([2, 4, 8, 16, 20, 32, 48, 64, 96, 130]))
    shape = int(rng.integers(1, 4)), int(rng.integers(64, 70)), depth, int(rng.integers(16, 150))
    turned = bool(rng.integers(2))
    open_dims = [set(), set(), set(), {("w", 1 if turned else 2)}, {("x", 1)}][rng.integers(5)]
    return rng, shape, turned, open_dims


@pytest.mark.parametrize("target", ["host", "znver4", "x86-64-v3"])
@pytest.mark.parametrize("seed", range(24))
def test_floats(seed, target):
    rng, (batch, rows, depth, columns), turned, open_dims = drawn(seed)
    kind = ml_dtypes.bfloat16 if seed % 3 else np.float32
    x = rng.standard_normal((batch, rows, depth)).astype(kind)
    w = rng.standard_normal((batch, columns, depth) if turned else (batch, depth, columns)).astype(kind)
    nodes = [helper.make_node("Relu", ["w"], ["r"]) if seed % 2 else helper.make_node("Identity", ["w"], ["r"])]
    if turned:
        nodes.append(helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]))
    nodes.append(helper.make_node("MatMul", ["x", "t" if turned else "r"], ["y"]))
    feeds = {"x": x, "w": w}
    module = compiled(model(nodes, feeds, kind, 3, open_dims), target, precision="medium")
    right = w.astype(np.float64) if seed % 2 == 0 else np.maximum(w.astype(np.float64), 0)
    if turned:
        right = right.transpose(0, 2, 1)
    want = x.astype(np.float64) @ right
    np.testing.assert_allclose(
        module.run(feeds)["y"].astype(np.float64), want, rtol=2e-2, atol=2e-2 * np.abs(want).max()
    )


@pytest.mark.parametrize("target", ["host", "znver4", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("seed", range(12))
def test_integers(seed, target):
    rng, (batch, rows, depth, columns), turned, open_dims = drawn(100 + seed)
    x = rng.integers(0, 256, (batch, rows, depth)).astype(np.uint8)
    kind = [np.int8, np.uint8][seed % 2]
    w = rng.integers(-128, 256, (batch, columns, depth) if turned else (batch, depth, columns)).astype(kind)
    nodes = [helper.make_node("Transpose", ["w"], ["t"], perm=[0, 2, 1])] if turned else []
    nodes.append(helper.make_node("MatMulInteger", ["x", "t" if turned else "w"], ["y"]))
    feeds = {"x": x, "w": w}
    module = compiled(model(nodes, feeds, np.int32, 3, open_dims), target)
    right = w.transpose(0, 2, 1) if turned else w
    np.testing.assert_array_equal(module.run(feeds)["y"], x.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize("open_dims", [set(), {("x", 0), ("w", 0)}])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "batch, depth, columns", [(0, 32, 40), (1, 32, 0), (2, 0, 16), (2, 2, 1), (1, 130, 17), (3, 32, 64)]
)
def test_nothing_one_and_two_threads(batch, depth, columns, turned, open_dims):
    """Tests GEMMs with dims of 0 and 1, and packing of the right operand that is split between two
    threads."""
    rng = np.random.default_rng(batch + depth + columns)
    x = rng.standard_normal((batch, 70, depth)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((batch, columns, depth) if turned else (batch, depth, columns)).astype(ml_dtypes.bfloat16)
    nodes = [helper.make_node("Identity", ["w"], ["r"])]
    if turned:
        nodes = [helper.make_node("Transpose", ["w"], ["r"], perm=[0, 2, 1])]
    nodes.append(helper.make_node("MatMul", ["x", "r"], ["y"]))
    feeds = {"x": x, "w": w}
    made = model(nodes, feeds, ml_dtypes.bfloat16, 3, open_dims)
    got = [compiled(made, threads=threads).run(feeds)["y"].astype(np.float64) for threads in (1, 2)]
    np.testing.assert_array_equal(*got)
    want = x.astype(np.float64) @ (w.transpose(0, 2, 1) if turned else w).astype(np.float64)
    np.testing.assert_allclose(got[0], want, rtol=2e-2, atol=2e-2 * max(1, np.abs(want).max(initial=0)))

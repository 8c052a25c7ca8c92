# SPDX-License-Identifier: Apache-2.0
"""hewn-merge-gemvs merges matmuls of successive rows with the same weights into one matmul. Tests
random slices, shapes and orders."""

import hewn
import numpy as np
import pytest
from numeric import check, compiled, oracle
from onnx import TensorProto, helper, numpy_helper


def unrolled(random, steps, dims, columns, axis=None, reshapes=None):
    """Builds an unrolled loop as tracers write it: each slice of a tensor along one dim is
    multiplied by the same weights, with a running sum of the results."""
    axis = int(random.integers(len(dims) - 1)) if axis is None else axis
    length = int(random.integers(1, 4))
    whole = [*dims]
    whole[axis] = steps * length + int(random.integers(3))
    first = int(random.integers(whole[axis] - steps * length + 1))
    weights = (random.standard_normal((dims[-1], columns)) / np.sqrt(dims[-1])).astype(np.float32)
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.int64([axis]), "axis")]
    nodes, last = [], None
    for i in random.permutation(steps):
        begin = first + i * length
        for name, at in (("begin", begin), ("end", begin + length)):
            constants.append(numpy_helper.from_array(np.int64([at]), f"{name}{i}"))
        nodes.append(helper.make_node("Slice", ["x", f"begin{i}", f"end{i}", "axis"], [f"part{i}"]))
        rows = f"part{i}"
        if random.integers(2) if reshapes is None else reshapes:
            constants.append(numpy_helper.from_array(np.int64([-1, dims[-1]]), f"shape{i}"))
            nodes.append(helper.make_node("Reshape", [rows, f"shape{i}"], [f"rows{i}"]))
            rows = f"rows{i}"
        nodes.append(helper.make_node("MatMul", [rows, "w"], [f"product{i}"]))
        nodes.append(helper.make_node("ReduceMax", [f"product{i}"], [f"y{i}"], keepdims=0))
        if last is not None:
            nodes.append(helper.make_node("Add", [f"y{i}", last], [f"sum{i}"]))
        last = f"sum{i}" if last is not None else f"y{i}"
    results = [helper.make_tensor_value_info(f"product{i}", TensorProto.FLOAT, None) for i in range(steps)]
    results.append(helper.make_tensor_value_info(last, TensorProto.FLOAT, []))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, whole)]
    graph = helper.make_graph(nodes, "unrolled", inputs, results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"x": random.standard_normal(whole).astype(np.float32)}


@pytest.mark.parametrize("seed", range(24))
def test_drawn_steps(seed):
    random = np.random.default_rng(seed)
    dims = [int(random.choice([1, 2, 3])) for _ in range(random.integers(1, 3))] + [int(random.choice([5, 16, 33]))]
    model, feeds = unrolled(random, int(random.integers(2, 9)), dims, int(random.choice([7, 16, 70])))
    target = str(random.choice(["host", "x86-64-v2", "x86-64-v3"]))
    got = compiled(model, target).run(feeds)
    check(list(got.values()), oracle(model, feeds), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reshapes", (False, True))
@pytest.mark.parametrize("dims", ([1, 16], [1, 1, 16], [1, 2, 16]))
def test_steps_share_a_product(dims, reshapes):
    model, feeds = unrolled(np.random.default_rng(0), 8, dims, 16, axis=0, reshapes=reshapes)
    assert hewn._compile(model, target="x86-64-v3", emit="kernels").count("graph.matmul") == 1
    check(list(compiled(model).run(feeds).values()), oracle(model, feeds), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dims, depth", [((0, 4), 4), ((3, 0, 4), 4), ((3, 0), 0), ((3, 4), 4), (("n", 4), 4)])
def test_sizes_that_have_no_rows(dims, depth):
    """Tests slices without rows, slices beyond the end, and slices of a dynamic dim."""
    constants = [
        numpy_helper.from_array(np.ones((depth, 8), np.float32), "w"),
        numpy_helper.from_array(np.int64([0]), "axis"),
    ]
    nodes = []
    for i, (begin, end) in enumerate([(0, 1), (1, 2), (2, 9), (5, 6)]):
        constants += [
            numpy_helper.from_array(np.int64([at]), f"{name}{i}") for name, at in (("begin", begin), ("end", end))
        ]
        nodes.append(helper.make_node("Slice", ["x", f"begin{i}", f"end{i}", "axis"], [f"part{i}"]))
        nodes.append(helper.make_node("MatMul", [f"part{i}", "w"], [f"y{i}"]))
    results = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(4)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    graph = helper.make_graph(nodes, "sizes", inputs, results, constants)
    module = compiled(model := helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    for rows in (0, 1, 2, 6) if dims[0] == "n" else (dims[0],):
        feeds = {"x": np.random.default_rng(rows).standard_normal((rows, *dims[1:])).astype(np.float32)}
        check(list(module.run(feeds).values()), oracle(model, feeds), rtol=1e-5, atol=1e-5)

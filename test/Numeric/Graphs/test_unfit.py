# SPDX-License-Identifier: Apache-2.0
"""Shape mismatches between symbolic dims: the run reports an error instead of reading out of
bounds."""

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper


def ones(*shape):
    return np.ones(shape, np.float32)


def symbolic(nodes, inputs, outputs, constants):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    kept = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "unfit", values, made, kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


# Each case has an op, the dims of its inputs, constants, attributes, valid sizes of the symbols,
# invalid sizes, and the expected message.
CASES = [
    ("Add", [["n"], ["m"]], [], {}, [(1,), (5,)], [(3,), (5,)], "a dim of 3 is neither 1 nor the 5"),
    ("Add", [["n", 3]], [ones(4, 3)], {}, [(4, 3)], [(5, 3)], "a dim of 5 is neither 1 nor the 4"),
    ("MatMul", [[2, "n"], ["m", 3]], [], {}, [(2, 4), (4, 3)], [(2, 4), (9, 3)], "must be equal, and are 9 and 4"),
    ("MatMul", [[2, "n"]], [ones(8, 3)], {}, [(2, 8)], [(2, 4)], "must be equal, and are 8 and 4"),
    ("Gemm", [[2, "n"], ["m", 3]], [], {}, [(2, 9), (9, 3)], [(2, 9), (4, 3)], "must be equal, and are 4 and 9"),
    ("Concat", [[2, "n"], [2, "m"]], [], {"axis": 0}, [(2, 4), (2, 4)], [(2, 4), (2, 9)], "are 9 and 4"),
    ("Conv", [[1, "c", 8]], [ones(4, 3, 3)], {}, [(1, 3, 8)], [(1, 5, 8)], "are 5 and 3"),
    ("Reshape", [["n"]], [np.array([4, 8])], {}, [(32,)], [(5,)], "are 5 and 32"),
    ("Reshape", [["n"]], [np.array([-1, 8])], {}, [(16,)], [(5,)], "must be equal"),
    ("Expand", [["n"]], [np.array([2, 8])], {}, [(1,)], [(5,)], "a dim of 5 is neither 1 nor the 8"),
    ("BatchNormalization", [[1, "c", 4]], [ones(8)] * 4, {}, [(1, 8, 4)], [(1, 5, 4)], "equal, and are 8 and 5"),
    ("LayerNormalization", [[2, "n"]], [ones(8)], {}, [(2, 8)], [(2, 5)], "a dim of 8 is neither 1 nor the 5"),
    (
        "LSTM",
        [["t", "b", "i"]],
        [ones(1, 8, 3), ones(1, 8, 2)],
        {"hidden_size": 2},
        [(2, 1, 3)],
        [(2, 1, 5)],
        "are 3 and 5",
    ),
    (
        "Einsum",
        [[2, "n"], ["m", 3]],
        [],
        {"equation": "ij,jk->ik"},
        [(2, 4), (4, 3)],
        [(2, 4), (9, 3)],
        "must be equal",
    ),
]


@pytest.mark.parametrize("op, dims, constants, attributes, fit, unfit, said", CASES)
def test_unfit(op, dims, constants, attributes, fit, unfit, said):
    inputs = {f"x{i}": list_ for i, list_ in enumerate(dims)}
    given = {f"c{i}": array for i, array in enumerate(constants)}
    nodes = [helper.make_node(op, [*inputs, *given], ["y"], **attributes), helper.make_node("Relu", ["y"], ["z"])]
    module = hewn.compile(symbolic(nodes, inputs, ["z"], given))
    with pytest.raises(hewn.RunError, match=said):
        module.run({name: ones(*shape) for name, shape in zip(inputs, unfit)})
    assert np.isfinite(module.run({name: ones(*shape) for name, shape in zip(inputs, fit)})["z"]).all()


def test_parts_lie_within_their_dim():
    node = helper.make_node("Split", ["x", "sizes"], ["y", "z"], axis=0)
    module = hewn.compile(symbolic([node], {"x": ["n"]}, ["y", "z"], {"sizes": np.array([4, 4])}))
    assert module.run({"x": np.arange(8, dtype=np.float32)})["z"].tolist() == [4, 5, 6, 7]
    with pytest.raises(hewn.RunError, match="takes 8 elements along a dim that has 5"):
        module.run({"x": ones(5)})


def test_no_dim_is_negative():
    """A run reports a negative dim of an intermediate value as well."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("ReduceSum", ["c", "axes"], ["y"])]
    module = hewn.compile(symbolic(nodes, {"x": [1, 1, "n"]}, ["y"], {"w": ones(2, 1, 8), "axes": np.array([2])}))
    assert module.run({"x": ones(1, 1, 9)})["y"].ravel().tolist() == [16, 16]
    with pytest.raises(hewn.RunError, match="takes 0 elements along a dim that has -4"):
        module.run({"x": ones(1, 1, 3)})


@pytest.mark.parametrize("left, right", [(3, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("inner", [[], ["k"]])
def test_batches_of_one(left, right, inner):
    """Batch dims of two operands that are different symbols broadcast: one of the symbols is 1 in
    some runs."""
    inputs = {"a": ["n", *inner, 2, 4], "b": ["m", *inner, 4, 3]}
    compiled = hewn.compile(symbolic([helper.make_node("MatMul", ["a", "b"], ["y"])], inputs, ["y"], {}))
    random = np.random.default_rng(0)
    more = [5] * len(inner)
    a = random.standard_normal((left, *more, 2, 4)).astype(np.float32)
    b = random.standard_normal((right, *more, 4, 3)).astype(np.float32)
    np.testing.assert_allclose(compiled.run({"a": a, "b": b})["y"], a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "sizes, fits", [([2, 3], True), ([5, 0], True), ([1, 1], False), ([4, 4], False), ([6, -1], False)]
)
def test_parts_of_a_split(sizes, fits):
    nodes = [helper.make_node("Split", ["x", "sizes"], ["y", "z"])]
    model = symbolic(nodes, {"x": ["n", 4]}, ["y", "z"], {})
    model.graph.input.append(helper.make_tensor_value_info("sizes", TensorProto.INT64, [2]))
    feeds = {"x": ones(5, 4), "sizes": np.array(sizes)}
    compiled = hewn.compile(model)
    if fits:
        assert [y.shape[0] for y in compiled.run(feeds).values()] == sizes
    else:
        with pytest.raises(hewn.RunError, match="Split"):
            compiled.run(feeds)
    known = symbolic(nodes, {"x": [5, 4]}, ["y", "z"], {"sizes": np.array([1, 1])})
    with pytest.raises(hewn.CompileError, match="the parts have 2 elements in total, but the dim has 5"):
        hewn.compile(known)


def test_sizes_that_data_decide():
    """The number of elements that a mask selects must be equal to a dim of another input."""
    nodes = [
        helper.make_node("NonZero", ["mask"], ["places"]),
        helper.make_node("Transpose", ["places"], ["rows"]),
        helper.make_node("GatherND", ["x", "rows"], ["picked"]),
        helper.make_node("Add", ["picked", "y"], ["z"]),
    ]
    compiled = hewn.compile(symbolic(nodes, {"mask": ["n"], "x": ["n"], "y": ["m"]}, ["z"], {}))
    feeds = {"mask": np.array([1, 0, 1, 1], np.float32), "x": np.arange(4, dtype=np.float32), "y": ones(3)}
    np.testing.assert_array_equal(compiled.run(feeds)["z"], [1, 3, 4])
    with pytest.raises(hewn.RunError, match="Add"):
        compiled.run(feeds | {"y": ones(64)})


@pytest.mark.parametrize("size, taken, fits", [(3, True, True), (5, False, True), (5, True, False)])
def test_branches(size, taken, fits):
    """A shape mismatch in a branch that is not taken is not an error."""
    then = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["sum"])],
        "then",
        [],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n"])],
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["minus"])],
        "other",
        [],
        [helper.make_tensor_value_info("minus", TensorProto.FLOAT, ["n"])],
    )
    nodes = [helper.make_node("If", ["taken"], ["z"], then_branch=then, else_branch=other)]
    model = symbolic(nodes, {"x": ["n"], "y": ["m"]}, ["z"], {})
    model.graph.input.append(helper.make_tensor_value_info("taken", TensorProto.BOOL, []))
    feeds = {"x": ones(3), "y": ones(size), "taken": np.array(taken)}
    compiled = hewn.compile(model)
    if fits:
        np.testing.assert_array_equal(compiled.run(feeds)["z"], np.full(3, 2 if taken else -1))
    else:
        with pytest.raises(hewn.RunError, match="Add"):
            compiled.run(feeds)

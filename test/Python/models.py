# SPDX-License-Identifier: Apache-2.0
"""Small models that the tests of the package share."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=(), opset=18):
    """Builds an ONNX model. `inputs` and `outputs` are tuples (name, ONNX type, dims), `constants`
    are pairs (name, array)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def scaled():
    """Returns a model of y = 3 * x + 1 for a dynamic number of rows of four elements."""
    return model(
        [helper.make_node("Mul", ["x", "three"], ["m"]), helper.make_node("Add", ["m", "one"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", 4])],
        [("y", TensorProto.FLOAT, ["batch", 4])],
        [("three", np.float32([3])), ("one", np.float32([1]))],
    )


def two_inputs():
    """Returns a model of total = a + b for integers, and more = a > b."""
    return model(
        [helper.make_node("Add", ["a", "b"], ["total"]), helper.make_node("Greater", ["a", "b"], ["more"])],
        [("a", TensorProto.INT64, ["n"]), ("b", TensorProto.INT64, ["n"])],
        [("total", TensorProto.INT64, ["n"]), ("more", TensorProto.BOOL, ["n"])],
    )


def wrong():
    """Returns a model with three unknown ops, one of them from an unknown domain."""
    built = model(
        [
            helper.make_node("Conjure", ["x"], ["a"], name="first"),
            helper.make_node("Abs", ["a"], ["b"]),
            helper.make_node("Vanish", ["b"], ["c"], name="second"),
            helper.make_node("Fuse", ["c"], ["y"], name="third", domain="com.elsewhere"),
        ],
        [("x", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
    )
    built.opset_import.append(helper.make_opsetid("com.elsewhere", 3))
    return built


def deep(layers=12, width=32):
    """Returns a model whose compilation takes some time: each of its matmuls has different sizes
    and becomes a separate kernel."""
    random = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for i in range(layers):
        rows, columns = width + i, width + i + 1
        constants.append((f"w{i}", random.standard_normal((rows, columns)).astype(np.float32)))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Tanh", [f"p{i}"], [f"t{i}"]))
        last = f"t{i}"
    return model(
        nodes, [("x", TensorProto.FLOAT, [8, width])], [(last, TensorProto.FLOAT, [8, width + layers])], constants
    )

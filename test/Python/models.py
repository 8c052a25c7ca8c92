# SPDX-License-Identifier: Apache-2.0
"""Small models for the tests of the package."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=(), opset=18):
    """Inputs and outputs are (name, ONNX type, dims); constants are (name, array)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def scaled():
    """y = 3 * x + 1 for any number of rows of four."""
    return model(
        [helper.make_node("Mul", ["x", "three"], ["m"]), helper.make_node("Add", ["m", "one"], ["y"])],
        [("x", TensorProto.FLOAT, ["batch", 4])],
        [("y", TensorProto.FLOAT, ["batch", 4])],
        [("three", np.float32([3])), ("one", np.float32([1]))],
    )


def two_inputs():
    """total = a + b as integers; more = a > b."""
    return model(
        [helper.make_node("Add", ["a", "b"], ["total"]), helper.make_node("Greater", ["a", "b"], ["more"])],
        [("a", TensorProto.INT64, ["n"]), ("b", TensorProto.INT64, ["n"])],
        [("total", TensorProto.INT64, ["n"]), ("more", TensorProto.BOOL, ["n"])],
    )


def wrong():
    """Three nodes that nobody has, one of them from a domain of its own."""
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
    """A model that takes a while to compile: products of unlike sizes, each a kernel of its own."""
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

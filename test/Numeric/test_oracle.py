# SPDX-License-Identifier: Apache-2.0
"""Compares code of -O0 (plain loops and libm) with optimized code."""

import hewn
import numpy as np
import pytest
from numeric import TensorProto, check, feeds_of, one_node
from onnx import helper

X = np.concatenate([np.linspace(-4, 4, 61), [0, -0.0, 20, -20]]).astype(np.float32)
POSITIVE = np.abs(X) + np.float32(0.125)
UNIT = np.clip(X / 5, -0.99, 0.99).astype(np.float32)

INPUTS = {"Log": POSITIVE, "Acosh": POSITIVE + 1, "Asin": UNIT, "Acos": UNIT, "Atanh": UNIT}
UNARY = (
    "Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu HardSwish Log Mish Selu Sigmoid Sin Sinh Softplus "
    "Sqrt Tan Tanh"
).split()


def both(model, feeds):
    got = hewn.compile(model).run(feeds)
    want = hewn.compile(model, optimize=False).run(feeds)
    check(list(got.values()), list(want.values()), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    inputs = [INPUTS.get(op, X)]
    both(one_node(op, inputs, opset=24), feeds_of(inputs))


def test_pow():
    inputs = [POSITIVE, X]
    both(one_node("Pow", inputs, opset=17), feeds_of(inputs))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype):
    inputs = [X.astype(dtype)]
    both(one_node("Tanh", inputs, opset=17), feeds_of(inputs))


def test_a_chain():
    """The model has several functions, and a constant subgraph. With -O0, constant folding compiles
    the subgraph with -O0 as well."""
    weight = np.linspace(-2, 2, 16).astype(np.float32)
    nodes = [
        helper.make_node("Erf", ["w"], ["folded"]),
        helper.make_node("Add", ["x", "folded"], ["a"]),
        helper.make_node("Gelu", ["a"], ["b"]),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["d"]),
        helper.make_node("Pow", ["d", "w"], ["e"]),
        helper.make_node("Exp", ["e"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor("w", TensorProto.FLOAT, [16], weight)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)
    both(model, {"x": np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)})

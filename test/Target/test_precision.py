# SPDX-License-Identifier: Apache-2.0
"""Checks the element types in which a float32 matmul multiplies, by target and precision, and the
rates of the target that decide it.

A lower precision is used only where the cost model estimates that it is faster. For example, on a
target whose bfloat16 dot-product instructions are slower than float32 FMAs, `medium` multiplies in
float32, unless reading the weights bounds the kernel.
"""

import re

import hewn
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

INTEL = "sapphirerapids-amx"
PRECISIONS = ("highest", "high", "medium")
# Matmuls as (rows, K, columns). Weights of 16 MB are read from memory, those of 0.5 MB from the L2
# cache.
PRODUCTS = {
    "one row": (1, 1024, 4096),
    "six rows": (6, 1024, 4096),
    "many rows": (128, 1024, 4096),
    "one row, cached": (1, 256, 512),
    "many rows, cached": (128, 256, 512),
    "dynamic rows": ("rows", 1024, 4096),
}
FLOATS, BFLOATS, WEIGHTS = "f32 x f32", "bf16 x bf16", "f32 x bf16"
TERMS = {"high": " x ".join(["bf16"] * 4), "highest": " x ".join(["bf16"] * 6)}
# By target and matmul: the element types of the operands with the precision `medium`. With `high`
# and `highest` the operands are float32, except on targets with AMX.
MEDIUM = {
    INTEL: {
        "one row": BFLOATS,
        "six rows": WEIGHTS,
        "many rows": FLOATS,
        "one row, cached": FLOATS,
        "many rows, cached": FLOATS,
        "dynamic rows": FLOATS,
    },
    "icelake-server+bf16": {"one row": BFLOATS, "six rows": WEIGHTS, "many rows": FLOATS},
    "sapphirerapids": dict.fromkeys(PRODUCTS, BFLOATS) | {"one row, cached": FLOATS},
    "x86-64-v4+vnni+bf16+amx": {"one row": BFLOATS, "many rows": BFLOATS},
    "znver4": dict.fromkeys(PRODUCTS, BFLOATS),
    "znver5": dict.fromkeys(PRODUCTS, BFLOATS),
    "neoverse-v1": dict.fromkeys(PRODUCTS, BFLOATS),
    "icelake-server": dict.fromkeys(PRODUCTS, FLOATS),
    "x86-64-v3": dict.fromkeys(PRODUCTS, FLOATS),
}


def matmul(rows, k, columns):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, k])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.ones((k, columns), np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def kernels(model, target, precision):
    return hewn._compile(model, emit="kernels", target=target, precision=precision)


def operands(product, target, precision):
    """Returns the element types of the operands of the only contraction in the kernels."""
    text = kernels(matmul(*PRODUCTS[product]), target, precision)
    (types,) = re.findall(r"graph\.matmul .*? : \((.*)\) ->", text)
    return " x ".join(re.findall(r"tensor<[^#]*?x(bf16|f32)\b", types))


@pytest.mark.parametrize("target", MEDIUM)
def test_medium(target):
    for product, want in MEDIUM[target].items():
        assert operands(product, target, "medium") == want, product


@pytest.mark.parametrize("precision", ["high", "highest"])
@pytest.mark.parametrize("target", [INTEL, "znver4", "sapphirerapids"])
def test_exact(target, precision):
    """Only a target with a matrix unit multiplies split float32 components, and only with enough
    rows."""
    for product in ("one row", "many rows", "one row, cached"):
        gains = target == "sapphirerapids" and product == "many rows"
        assert operands(product, target, precision) == (TERMS[precision] if gains else FLOATS), product


@pytest.mark.parametrize("target", [INTEL, "znver4", "sapphirerapids"])
def test_winograd(target):
    """A 3x3 convolution with many channels is computed by Winograd in float32 on a target without a
    matrix unit."""
    weights = onnx.numpy_helper.from_array(np.ones((128, 128, 3, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 128, 56, 56])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for precision in PRECISIONS:
        assert ("#plan.winograd<" in kernels(model, target, precision)) == (target != "sapphirerapids"), precision


@pytest.mark.parametrize(
    ("target", "dots", "tiles"),
    [
        ("sapphirerapids", {"dpbf16ps": 22, "vpdpbusd": 98}, {"tdpbf16ps": 11, "tdpbusd": 22}),
        (INTEL, {"dpbf16ps": 22, "vpdpbusd": 98}, {}),
        ("icelake-server+bf16", {"dpbf16ps": 22, "vpdpbusd": 98}, {}),
        ("znver4", {"dpbf16ps": 100, "vpdpbusd": 100}, {}),
        ("znver5", {"dpbf16ps": 100, "vpdpbusd": 100}, {}),
        ("x86-64-v4+vnni+bf16", {"dpbf16ps": 100, "vpdpbusd": 100}, {}),
        ("x86-64-v4+vnni+bf16+amx", {"dpbf16ps": 22, "vpdpbusd": 98}, {"tdpbf16ps": 11, "tdpbusd": 22}),
    ],
)
def test_rates(target, dots, tiles):
    text = kernels(matmul(1, 64, 64), target, "highest")
    for name, rate in dots.items():
        (found,) = re.findall(rf"#plan.dot_product<[^>]*{name}\.512\"[^>]*>", text)
        assert int((re.search(r"issueRate = (\d+)", found) or [0, 100])[1]) == rate
    for name, rate in tiles.items():
        (found,) = re.findall(rf'product = "llvm.x86.{name}.internal", relativeRate = (\d+)', text)
        assert int(found) == rate
    assert ("#plan.matrix_unit<" in text) == bool(tiles)


def test_sets_can_be_removed():
    text = kernels(matmul(1, 64, 64), INTEL, "highest")
    assert "tdpbusd" not in text and "vpdpbusd" in text
    for unknown in (
        "sapphirerapids-",
        "sapphirerapids-sse",
        "znver4-amx",
        "x86-64-v4+vnni-vnni-vnni",
        "neoverse-v1-dotprod",
    ):
        with pytest.raises(hewn.CompileError, match="unknown target"):
            kernels(matmul(1, 64, 64), unknown, "highest")

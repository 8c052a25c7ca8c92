# SPDX-License-Identifier: Apache-2.0
"""Contractions of quantized tensors on their integers: the same numbers as ONNX's definition, on every machine at hand."""

import numpy as np
import onnx
import pytest
from numeric import compiled, run
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

# The last two, whose tiles stand alone, are compiled; Contract/test_matrix_unit.py runs such code.
TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+amx", "x86-64-v4+bf16+amx"]


def model_of(nodes, inputs, outputs, initializers):
    graph = helper.make_graph(
        nodes,
        "integers",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def random(generator, dtype, *shape):
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
@pytest.mark.parametrize("k, columns", [(64, 100), (29, 17)])
def test_integer_product_is_exact(k, columns, types, target):
    generator = np.random.default_rng(4)
    weights = {
        "w": random(generator, types[1], k, columns),
        "xz": random(generator, types[0], 1)[0],
        "wz": random(generator, types[1], columns),
    }
    model = model_of(
        [helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])],
        [("x", helper.np_dtype_to_tensor_dtype(np.dtype(types[0])), ["rows", k])],
        [("y", TensorProto.INT32)],
        weights,
    )
    module = compiled(model, target)
    for rows in (1, 7, 13):
        x = random(generator, types[0], rows, k)
        want = (x.astype(np.int64) - weights["xz"]) @ (weights["w"].astype(np.int64) - weights["wz"])
        np.testing.assert_array_equal(module.run({"x": x})["y"], want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zero", [0, 113])
@pytest.mark.parametrize("channels, kernel, pad, stride", [(16, 3, 1, 1), (3, 3, 1, 2), (8, 1, 0, 1), (10, 5, 2, 1)])
def test_quantized_convolution(channels, kernel, pad, stride, zero, target):
    """QuantizeLinear - DequantizeLinear - Conv - QuantizeLinear, weights a scale a channel."""
    generator = np.random.default_rng(5)
    features = 24
    weights = {
        "sx": np.float32(0.02),
        "zx": np.uint8(zero),
        "w": random(generator, np.int8, features, channels, kernel, kernel),
        "sw": generator.uniform(0.001, 0.01, features).astype(np.float32),
        "zw": np.zeros(features, np.int8),
        "b": generator.standard_normal(features).astype(np.float32),
        "sy": np.float32(0.1),
        "zy": np.uint8(128),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wd"], axis=0),
        helper.make_node("Conv", ["xd", "wd", "b"], ["c"], pads=[pad] * 4, strides=[stride] * 2),
        helper.make_node("QuantizeLinear", ["c", "sy", "zy"], ["y"]),
    ]
    outputs = [("c", TensorProto.FLOAT), ("y", TensorProto.UINT8)]
    model = model_of(nodes, [("x", TensorProto.FLOAT, [1, channels, 11, 13])], outputs, weights)
    x = generator.uniform(-2, 3, (1, channels, 11, 13)).astype(np.float32)
    got, rounded = run(model, {"x": x}, target)
    want, expected = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    # A sum in another order may fall on the other side of a half.
    assert np.abs(rounded.astype(int) - expected).max() <= 1
    assert (rounded != expected).mean() < 0.001


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_when_run(target):
    """DynamicQuantizeLinear - MatMulInteger - Cast - Mul, as dynamic quantization writes a product."""
    generator = np.random.default_rng(6)
    weights = {
        "w": random(generator, np.int8, 96, 80),
        "wz": np.int8(0),
        "sw": generator.uniform(0.001, 0.01, 80).astype(np.float32),
    }
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "sw"], ["scale"]),
        helper.make_node("Mul", ["float", "scale"], ["y"]),
    ]
    model = model_of(nodes, [("x", TensorProto.FLOAT, ["rows", 96])], [("y", TensorProto.FLOAT)], weights)
    x = generator.standard_normal((9, 96)).astype(np.float32)
    (got,) = run(model, {"x": x}, target)
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pads", [[2, 0, 1, 0], [0, 1, 0, 2], [1, 1, 1, 1]], ids=["rows", "depth", "both"])
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("zero", [0, 100])
def test_border_around_a_product(rows, pads, zero):
    """A border along rows or along the summed dim, with and without a zero point of the weights."""
    generator = np.random.default_rng(7)
    k = 32 + pads[1] + pads[3]
    weights = {
        "sx": np.float32(0.1),
        "zx": np.uint8(77),
        "pads": np.array(pads, np.int64),
        "w": random(generator, np.uint8, k, 16),
        "sw": np.float32(0.05),
        "zw": np.uint8(zero),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["xd"]),
        helper.make_node("Pad", ["xd", "pads"], ["xp"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wd"]),
        helper.make_node("MatMul", ["xp", "wd"], ["y"]),
    ]
    model = model_of(nodes, [("x", TensorProto.UINT8, [rows, 32])], [("y", TensorProto.FLOAT)], weights)
    x = random(generator, np.uint8, rows, 32)
    (got,) = run(model, {"x": x}, "host")
    padded = np.pad((x.astype(np.float64) - 77) * 0.1, [(pads[0], pads[2]), (pads[1], pads[3])])
    want = padded @ ((weights["w"].astype(np.float64) - zero) * 0.05)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_border_along_channels():
    generator = np.random.default_rng(8)
    weights = {
        "sx": np.float32(0.1),
        "zx": np.uint8(77),
        "pads": np.array([0, 1, 0, 0, 0, 2, 0, 0], np.int64),
        "w": random(generator, np.int8, 16, 8, 3, 3),
        "sw": np.float32(0.05),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["xd"]),
        helper.make_node("Pad", ["xd", "pads"], ["xp"]),
        helper.make_node("DequantizeLinear", ["w", "sw"], ["wd"]),
        helper.make_node("Conv", ["xp", "wd"], ["y"]),
    ]
    model = model_of(nodes, [("x", TensorProto.UINT8, [1, 5, 9, 9])], [("y", TensorProto.FLOAT)], weights)
    x = random(generator, np.uint8, 1, 5, 9, 9)
    (got,) = run(model, {"x": x}, "host")
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_weights_that_are_sums_of_themselves_are_looked_at_once():
    """A constant behind forty additions has 2^40 ways to it."""
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["w0"])]
    nodes += [helper.make_node("Add", [f"w{i}", f"w{i}"], [f"w{i + 1}"]) for i in range(40)]
    nodes += [
        helper.make_node("DequantizeLinear", ["x", "s"], ["xd"]),
        helper.make_node("MatMul", ["xd", "w40"], ["y"]),
    ]
    weights = {"w": np.ones((32, 16), np.int8), "s": np.float32(1e-6)}
    model = model_of(nodes, [("x", TensorProto.UINT8, [3, 32])], [("y", TensorProto.FLOAT)], weights)
    (got,) = run(model, {"x": np.ones((3, 32), np.uint8)}, "host")
    np.testing.assert_allclose(got, np.full((3, 16), 32 * 1e-12 * 2.0**40), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_transposed_convolution(target):
    """A scale for each channel of the result, of which the matrix of weights has a column for each place of the window."""
    generator = np.random.default_rng(12)
    weights = {
        "w": random(generator, "int8", 16, 24, 2, 2),
        "sx": np.float32(0.02),
        "zx": np.uint8(77),
        "sw": generator.uniform(0.001, 0.01, 24).astype(np.float32),
        "zw": np.zeros(24, np.int8),
    }
    model = model_of(
        [
            helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["a"]),
            helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["b"], axis=1),
            helper.make_node("ConvTranspose", ["a", "b"], ["y"], strides=[2, 2]),
        ],
        [("x", TensorProto.UINT8, [1, 16, 5, 7])],
        [("y", TensorProto.FLOAT)],
        weights,
    )
    x = random(generator, "uint8", 1, 16, 5, 7)
    sums = np.einsum("nchw,cokl->nohkwl", x.astype(np.int64) - 77, weights["w"].astype(np.int64))
    want = sums.reshape(1, 24, 10, 14) * (np.float64(weights["sx"]) * weights["sw"])[:, None, None]
    # The sums are exact: what is left are the roundings of two products.
    np.testing.assert_allclose(compiled(model, target).run({"x": x})["y"], want, rtol=5e-7)


@pytest.mark.parametrize("target", TARGETS)
def test_filtered_convolution_is_within_a_step(target):
    """Large windows, which machines without sums of four products compute in float32: each integer is ONNX's or next to it."""
    generator = np.random.default_rng(13)
    weights = {
        "w": random(generator, "int8", 64, 64, 3, 3),
        "sx": np.float32(0.02),
        "zx": np.uint8(77),
        "sw": generator.uniform(0.001, 0.01, 64).astype(np.float32),
        "zw": np.zeros(64, np.int8),
        "sy": np.float32(0.7),
        "zy": np.uint8(120),
    }
    model = model_of(
        [
            helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["a"]),
            helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["b"], axis=0),
            helper.make_node("Conv", ["a", "b"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("QuantizeLinear", ["c", "sy", "zy"], ["y"]),
        ],
        [("x", TensorProto.UINT8, [1, 64, 56, 56])],
        [("y", TensorProto.UINT8)],
        weights,
    )
    x = random(generator, "uint8", 1, 64, 56, 56)
    padded = np.pad(x.astype(np.float64) - 77, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("nchwkl,ockl->nohw", windows, weights["w"].astype(np.float64), optimize=True)
    quotients = sums * (np.float64(weights["sx"]) * weights["sw"])[:, None, None] / weights["sy"] + 120
    want = np.clip(np.rint(quotients), 0, 255)
    got = compiled(model, target).run({"x": x})["y"].astype(np.int64)
    # A sum of 576 products in float32 is wrong by a few millionths of the largest ones: only what lies that near to a half may differ.
    far = np.abs(quotients - np.floor(quotients) - 0.5) > 0.01
    np.testing.assert_array_equal(got[far], want[far])
    assert np.abs(got - want).max() <= 1

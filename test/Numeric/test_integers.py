# SPDX-License-Identifier: Apache-2.0
"""Contractions of quantized tensors in integer arithmetic: the results equal ONNX's definition on
every target that this machine can run."""

import numpy as np
import onnx
import pytest
from numeric import compiled, run
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

# The AMX targets run here only where they can be retargeted; Contract/test_matrix_unit.py runs more
# AMX code.
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
    """Tests QuantizeLinear, DequantizeLinear, Conv and QuantizeLinear with one weight scale per
    feature."""
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
    # Results may differ by one integer, because another order of addition may round to the other
    # side of a tie.
    assert np.abs(rounded.astype(int) - expected).max() <= 1
    assert (rounded != expected).mean() < 0.001


@pytest.mark.parametrize("target", TARGETS)
def test_quantized_when_run(target):
    """Tests DynamicQuantizeLinear, MatMulInteger, Cast and Mul, to which dynamic quantization
    converts a MatMul."""
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
    """Tests zero padding of a quantized operand along the rows or along K of the contraction. The
    weights may have a zero point."""
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
    """The analysis of weights visits each op once: forty additions of a value to itself have 2^40
    paths to the constant."""
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
    """The weights have one scale per output channel. The GEMM's weight matrix has one column per
    channel and window position."""
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
    # The integer sums of the contraction are exact, and only the two multiplications after it
    # round.
    np.testing.assert_allclose(compiled(model, target).run({"x": x})["y"], want, rtol=5e-7)


@pytest.mark.parametrize("target", TARGETS)
def test_filtered_convolution_is_within_a_step(target):
    """Targets without dot-product instructions compute a quantized 3x3 convolution in float32. Each
    integer differs from ONNX's by at most one."""
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
    # A float32 sum of 576 products has an error of a few millionths of the largest one. Therefore
    # only values that are this close to a tie may differ.
    far = np.abs(quotients - np.floor(quotients) - 0.5) > 0.01
    np.testing.assert_array_equal(got[far], want[far])
    assert np.abs(got - want).max() <= 1


FILTER = (16, (3, 3), {"pads": [1, 1, 1, 1]})


@pytest.mark.parametrize(
    "channels, kernel, attributes, kind, target",
    [(*FILTER, "uint8", target) for target in TARGETS[:4]]
    + [(*FILTER, "int8", "host")]
    + [
        (channels, kernel, attributes, "uint8", "host")
        for channels, kernel, attributes in (
            (6, (3, 2), {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 2, 1]}),
            (24, (1, 1), {}),
            (24, (1, 1), {"strides": [2, 2]}),
            (12, (5,), {"pads": [2, 2]}),
        )
    ],
)
def test_zero_points_of_filters(channels, kernel, attributes, kind, target, tmp_path):
    """The zero points of a convolution's weights are subtracted by a sum over its windows, so that
    the weights stay bytes."""
    generator = np.random.default_rng(43)
    weights = {
        "w": random(generator, kind, 40, channels, *kernel),
        "xz": random(generator, "uint8", 1)[0],
        "wz": random(generator, kind, 1)[0],
    }
    rank = len(kernel)
    model = model_of(
        [helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], **attributes)],
        [("x", TensorProto.UINT8, ["n", channels, "h", "w"][: 2 + rank])],
        [("y", TensorProto.INT32)],
        weights,
    )
    module = compiled(model, target, output=tmp_path / "conv.so")
    small = weights["w"].size
    assert (tmp_path / "conv.so.weights").stat().st_size < 2 * small + 4096
    exact = helper.make_model(
        helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["y"], **attributes)],
            "exact",
            [helper.make_tensor_value_info(n, TensorProto.DOUBLE, None) for n in "xw"],
            [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
        ),
        opset_imports=[helper.make_opsetid("", 19)],
    )
    reference = ReferenceEvaluator(exact)
    for batch, *size in ((1, 7, 9), (2, 4, 4), (1, 12, 3)):
        x = random(generator, "uint8", batch, channels, *size[:rank])
        wide = {"x": x.astype(float) - float(weights["xz"]), "w": weights["w"].astype(float) - float(weights["wz"])}
        np.testing.assert_array_equal(module.run({"x": x})["y"], reference.run(None, wide)[0])


@pytest.mark.parametrize("groups", [1, 2])
def test_weights_that_grow(groups, recwarn):
    """A grouped convolution converts its integers to a wider type, which the compiler reports with
    the node."""
    generator = np.random.default_rng(44)
    weights = {"w": random(generator, np.uint8, 512, 512 // groups, 3, 3), "xz": np.uint8(7), "wz": np.uint8(99)}
    model = model_of(
        [helper.make_node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], "wide", group=groups)],
        [("x", TensorProto.UINT8, [1, 512, 4, 4])],
        [("y", TensorProto.INT32)],
        weights,
    )
    compiled(model)
    grown = [str(w.message) for w in recwarn if "node 'wide' stores" in str(w.message)]
    assert len(grown) == groups - 1
    assert all("MB of ui8" in text for text in grown)

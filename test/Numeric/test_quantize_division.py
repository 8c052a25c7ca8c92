# SPDX-License-Identifier: Apache-2.0
"""QuantizeLinear with a constant scale: compares the integers for all floats near each rounding
boundary."""

import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper


def around(center):
    """Returns eight adjacent float32 values on each side of each number in `center`."""
    near = np.abs(center).astype(np.float32).view(np.int32)[:, None] + np.arange(-8, 9, dtype=np.int32)
    return (np.maximum(near, 0).view(np.float32) * np.where(center < 0, -1, 1)[:, None]).ravel().astype(np.float32)


def quantized(x, scale, zero, dtype):
    """Computes QuantizeLinear in float32 as ONNX defines it. NaN becomes the smallest integer."""
    limits = np.iinfo(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        integers = np.rint(x / scale) + np.float32(zero)
    integers = np.where(np.isnan(integers), limits.min, integers)
    return np.clip(integers, limits.min, limits.max).astype(dtype)


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quotients_next_to_halves(dtype, target):
    generator = np.random.default_rng(11)
    limits = np.iinfo(dtype)
    count = 48
    scales = np.exp(generator.uniform(np.log(1e-6), np.log(1e4), count)).astype(np.float32)
    # Scales of the tested QuantizeLinear: powers of two, their neighbors, and the ends of float32's
    # range.
    scales[:8] = np.array(
        [0.25, 1, np.nextafter(np.float32(1), 0), np.nextafter(np.float32(2), 0), 3, 1e-38, 1e30, 1e-30]
    )
    zeros = generator.integers(limits.min, limits.max + 1, count).astype(dtype)
    zeros[:2] = limits.min, limits.max
    specials = np.array([0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45], np.float32)
    nodes, weights, feeds, inputs = [], {}, {}, []
    for i, (scale, zero) in enumerate(zip(scales, zeros, strict=True)):
        halves = np.arange(-258, 259) + 0.5
        feeds[f"x{i}"] = np.concatenate([around(halves * np.float64(scale)), specials])
        weights |= {f"s{i}": scale, f"z{i}": zero}
        nodes.append(helper.make_node("QuantizeLinear", [f"x{i}", f"s{i}", f"z{i}"], [f"y{i}"]))
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, feeds[f"x{i}"].shape))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        nodes,
        "divisions",
        inputs,
        [helper.make_tensor_value_info(f"y{i}", element, None) for i in range(count)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    got = compiled(model, target).run(feeds)
    for i, (scale, zero) in enumerate(zip(scales, zeros, strict=True)):
        want = quantized(feeds[f"x{i}"], scale, zero, dtype)
        np.testing.assert_array_equal(got[f"y{i}"], want, err_msg=f"scale {scale!r}, zero point {zero}")


def graph_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_a_scale_that_is_made_behind_the_integers():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
        helper.make_node("Abs", ["m"], ["s2"]),
        helper.make_node("DequantizeLinear", ["q", "s2", "z"], ["d"]),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    constants = {"s": np.float32(0.05), "z": np.uint8(100)}
    model = graph_of(nodes, [("x", [4, 32])], [("y", TensorProto.FLOAT)], constants)
    x = np.random.default_rng(1).standard_normal((4, 32)).astype(np.float32)
    integers = quantized(x, np.float32(0.05), 100, np.uint8).astype(np.float32) - 100
    want = np.maximum(integers * np.abs(x.max()), 0)
    np.testing.assert_allclose(compiled(model, "host").run({"x": x})["y"], want, rtol=1e-6)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("truncates", [["Cast"], ["Floor", "Cast"]])
def test_a_convolution_whose_results_are_cut_to_bytes_is_exact(truncates, target):
    """The results of the convolution are small integers, which the model truncates. Rounding errors
    must not change 5 to 4.9999, as a Winograd transform with rounded thirds would."""
    generator = np.random.default_rng(2)
    kernel = generator.integers(-2, 3, (64, 64, 3, 3)).astype(np.float32)
    x = generator.integers(0, 3, (1, 64, 56, 56)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c", "low", "high"], ["v0"]),
    ]
    for i, op in enumerate(truncates):
        nodes.append(
            helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], **({"to": TensorProto.UINT8} if op == "Cast" else {}))
        )
    constants = {"w": kernel, "low": np.float32(0), "high": np.float32(255)}
    result = f"v{len(truncates)}"
    model = graph_of(nodes, [("x", x.shape)], [(result, TensorProto.UINT8)], constants)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    want = np.clip(np.einsum("nchwkl,ockl->nohw", windows, kernel, optimize=True), 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(compiled(model, target).run({"x": x})[result], want)

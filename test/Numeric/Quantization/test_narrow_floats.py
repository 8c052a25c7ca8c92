# SPDX-License-Identifier: Apache-2.0
"""Weights stored as float16, bfloat16 and float8. Compares results with ml_dtypes on all targets.
Weights stay float32 where that is faster."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from numeric import compiled
from onnx import helper
from quantizing import decibels, layer, model_of, weights

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float8": ml_dtypes.float8_e4m3fn}
SMALLER = {"float16": 2, "bfloat16": 2, "float8": 4}


def model(w, rows):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [rows, len(w)], {"w": w})


def stored(w, type):
    if type != "float8":
        return w.astype(TYPES[type]).astype("d")
    scale = np.abs(w).max(axis=0) / np.float32(448)
    return (w / scale).astype(TYPES[type]).astype("d") * scale


def wide(depth, columns, seed=0):
    """Returns weights whose magnitudes cover many powers of two, including subnormals of the
    smaller types."""
    w = weights(seed, depth, columns)
    w[::7] *= np.float32(1e-4)
    w[5::11] *= np.float32(2e-6)
    return w


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("depth, columns", [(192, 130), (321, 57), (128, 264)])
def test_products(depth, columns, type, target):
    """The compiler stores weights in an explicitly requested float type on all targets and for all
    numbers of rows."""
    w = wide(depth, columns)
    kept = stored(w, type)
    for rows in (1, 3, 29):
        x = np.random.default_rng(rows).standard_normal((rows, depth)).astype("f")
        module = compiled(model(w, rows), target, quantize={"weights": type, "keep_float": False})
        assert layer(module, "fc")["weights"] == type, layer(module, "fc").get("why")
        assert layer(module, "fc")["weights_sqnr_db"] == pytest.approx(min(200, decibels(w, kept)), abs=0.05)
        got, size = module.run({"x": x})["y"], np.abs(x) @ np.abs(kept)
        assert np.all(np.abs(got - x.astype("d") @ kept) <= 2e-6 * size)


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", ["float16", "bfloat16"])
@pytest.mark.parametrize("channels, size, step", [(96, 3, 1), (40, 5, 2), (192, 1, 1), (64, 3, 2)])
def test_windows(tmp_path, channels, size, step, type, target):
    """The result equals that of weights that the test rounds. For 3x3 windows with stride 1, the
    Winograd transform rounds the weights a second time (winograd.md)."""

    def window(w):
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="window", strides=[step, step], pads=[size // 2] * 4)
        return model_of([node], [1, channels, 17, 19], {"w": w})

    w = weights(3, 128, channels, size, size)
    kept = w.astype(TYPES[type]).astype("f")
    path = tmp_path / "model.so"
    module = compiled(window(w), target, quantize=type, output=path)
    told = layer(module, "window")
    assert told["weights"] == type and 2 * told["weight_bytes"] == told["float_bytes"], told.get("why")
    assert (tmp_path / "model.so.weights").stat().st_size < (2.2 if size != 3 else 2.2 * 16 / 9) * w.size + 4096
    x = np.random.default_rng(4).standard_normal((1, channels, 17, 19)).astype("f")
    right = compiled(window(kept), target).run({"x": x})["y"]
    assert decibels(right, module.run({"x": x})["y"]) > (65 if size == 3 and step == 1 else 110)


def test_windows_of_floats_of_8_bits_stay():
    w = weights(3, 64, 64, 3, 3)
    net = model_of([helper.make_node("Conv", ["x", "w"], ["y"], name="window")], [1, 64, 9, 9], {"w": w})
    assert (
        layer(hewn.compile(net, quantize="float8"), "window")["why"]
        == "its weights are not a matrix with a scale per column"
    )


@pytest.mark.parametrize("type", TYPES)
def test_exact(type):
    """Tests the conversion of each weight separately, by a matmul of the identity matrix and the
    weights. They include the largest and the smallest number of the type."""
    w = wide(128, 144)
    w[0, 0], w[1, 1], w[2, 2] = (70000, 1e-7, -1e-30) if type == "float16" else (448, 2**-9, -(2**-11))
    kept = stored(np.clip(w, -65504, 65504) if type == "float16" else w, type)
    module = hewn.compile(model(w, "n"), quantize={"weights": type, "keep_float": False})
    np.testing.assert_allclose(module.run({"x": np.eye(128, dtype="f")})["y"], kept, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("type", TYPES)
def test_unoptimized(type):
    w, x = wide(128, 144), np.random.default_rng(2).standard_normal((3, 128)).astype("f")
    how = {"weights": type, "keep_float": False}
    fast, plain = (hewn.compile(model(w, 3), quantize=how, optimize=on) for on in (True, False))
    np.testing.assert_allclose(fast.run({"x": x})["y"], plain.run({"x": x})["y"], rtol=0, atol=2e-5)


@pytest.mark.parametrize("type", TYPES)
def test_file(type, tmp_path):
    w = wide(512, 512)
    hewn.compile(model(w, 1), quantize={"weights": type, "keep_float": False}, output=tmp_path / "m.so")
    assert (tmp_path / "m.so.weights").stat().st_size < w.nbytes // SMALLER[type] + 8192


@pytest.mark.parametrize("rows", [64, "n"])
@pytest.mark.parametrize("type", ["float16", "bfloat16"])
def test_many_rows(type, rows):
    """A kernel converts 16-bit weights to float32 when it loads them. With many rows, this costs
    little per row."""
    module = compiled(model(wide(128, 144), rows), "x86-64-v3", quantize=type)
    assert layer(module, "fc")["weights"] == type
    if type == "bfloat16":
        module = compiled(model(wide(128, 144), rows), "x86-64-v2", quantize=type)
        assert layer(module, "fc")["why"] == (
            "float32 weights are faster: the GEMM has many or a dynamic number of rows, and this target extends the narrow type slowly"
        )


def test_no_instruction_for_halves():
    module = compiled(model(wide(128, 144), 1), "x86-64-v2", quantize="float16")
    assert layer(module, "fc")["why"] == "the target has no instruction that converts float16 to float32"
    module = compiled(model(wide(128, 144), 1), "x86-64-v2", quantize="bfloat16")
    assert layer(module, "fc")["weights"] == "bfloat16"


def test_no_instruction_for_bytes():
    """Weights stay float32: converting a vector of float8 takes ten instructions, longer than
    loading float32 weights from memory."""
    module = hewn.compile(model(wide(128, 144), 1), quantize="float8")
    assert layer(module, "fc")["why"] == "the target has no instruction that converts float8 to float32"


def test_named_and_by_rule():
    w = wide(128, 144)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="a"),
        helper.make_node("MatMul", ["h", "v"], ["y"], name="b"),
    ]
    made = model_of(nodes, [1, 128], {"w": w, "v": wide(144, 128, 1)})
    module = hewn.compile(made, quantize={"weights": "float16", "rules": [{"node": "b", "weights": "codebook16"}]})
    assert [layer(module, name)["weights"] for name in "ab"] == ["float16", "codebook16"]
    text = module.report["quantization"]
    assert hewn.compile(made, quantize=text).report["layers"] == module.report["layers"]

# SPDX-License-Identifier: Apache-2.0
"""Bias correction: rounding weights shifts the mean of each result column, and the compiler
subtracts the shift from the bias (Nagel et al., 2019). The reference is numpy."""

import json

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import helper
from quantizing import ALWAYS, decibels, drawn, layer, model_of, net, product, quantized, samples, site, weights

WITH = ALWAYS | {"bias_correction": True, "smoothing": False}
WITHOUT = ALWAYS | {"bias_correction": False, "smoothing": False}


def rounded(w):
    scale = np.abs(w).max(axis=0) / np.float32(127)
    return np.rint(w / scale).astype("f") * scale


def test_the_mean_shift_of_each_column():
    """The correction is the mean over all rows of all samples, which have different sizes. Weights
    and activations are integers."""
    data = [x + 1 for n in (1, 5, 3) for x in samples((n, 48), 2, n)]
    module = hewn.compile(product(), quantize=WITH, calibration=data)
    found, w = site(module, "fc"), weights(0, 48, 24)
    x = np.concatenate(data)
    through = (quantized(x, found["scale"], found["zero_point"]) - found["zero_point"]) * np.float32(found["scale"])
    shift = through.astype("d") @ rounded(w) - x.astype("d") @ w
    rows = [len(x) for x in data]
    sums = [one.sum(axis=0) for one in np.split(shift, np.cumsum(rows)[:-1])]
    np.testing.assert_allclose(found["bias"], -drawn(sums, rows), rtol=1e-3, atol=1e-5)
    got = np.concatenate([module.run({"x": x})["y"] for x in data])
    after, before = (np.square(y.mean(axis=0)).sum() for y in (got - x.astype("d") @ w, shift))
    assert after < before / 10


def test_what_samples_do_not_tell_is_left_alone():
    """If a column's shift varies between samples as much as its own size, it is noise. The compiler
    shrinks the correction to little or nothing."""
    generator = np.random.default_rng(7)
    data = [generator.standard_normal((1, 48)).astype("f") * np.float32(4.0**i) for i in range(3)]
    told = hewn.compile(product(), quantize=WITH, calibration=data)
    plain = hewn.compile(product(), quantize=WITHOUT, calibration=data)
    shifts = [plain.run({"x": x})["y"] - x.astype("d") @ weights(0, 48, 24) for x in data]
    want = -drawn([shift.sum(axis=0) for shift in shifts], [1] * 3)
    assert np.abs(want).max() < 0.5 * np.abs(np.mean(shifts, axis=(0, 1))).max()
    np.testing.assert_allclose(site(told, "fc")["bias"], want, rtol=1e-3, atol=1e-5)


def test_one_contraction_behind_another():
    """The correction of a second contraction is computed from the results of the corrected first
    one, also if views are between them."""
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["s"], name="first"),
        helper.make_node("Transpose", ["s"], ["t"]),
        helper.make_node("MatMul", ["t", "w"], ["y"], name="second"),
    ]
    model = model_of(nodes, [32, 48], {"v": weights(0, 48, 16), "w": weights(1, 32, 24)})
    data = [x + 2 for x in samples((32, 48))]
    nearest = {"weights": {"rounding": "nearest"}}  # GPTQ rounding would leave no shift to correct
    module = hewn.compile(model, quantize=WITH | nearest, calibration=data)
    naive = hewn.compile(model, quantize=module.report["quantization"], optimize=False)
    plain = hewn.compile(model, quantize=WITHOUT | nearest, calibration=data)
    assert decibels(naive.run({"x": data[0]})["y"], module.run({"x": data[0]})["y"]) > 40
    assert module.report["outputs"]["y"]["sqnr_db"] > plain.report["outputs"]["y"]["sqnr_db"]
    assert "bias" in site(module, "first") and "bias" in site(module, "second")


def test_weights_alone():
    w = weights(0, 256, 512)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [4, 256], {"w": w})
    data = [x + 1 for x in samples((4, 256))]
    how = {"weights": {"type": "int4", "group": 32}, "activations": {"type": "float32"}}
    plain = hewn.compile(model, quantize=how | WITHOUT, calibration=data)
    module = hewn.compile(model, quantize=how | WITH, calibration=data)
    shifts = [plain.run({"x": x})["y"] - x.astype("d") @ w for x in data]
    want = -drawn([shift.sum(axis=0) for shift in shifts], [4] * len(data))
    np.testing.assert_allclose(site(module, "fc")["bias"], want, rtol=2e-3, atol=1e-4)
    gained = module.report["outputs"]["y"]["sqnr_db"] - plain.report["outputs"]["y"]["sqnr_db"]
    # the means of the inputs are far from zero, so that the correction reduces the error
    assert gained > 1


def test_windows_count_their_borders():
    """The means of a convolution's inputs are taken over its windows, including their zero
    padding."""
    w, data = weights(1, 16, 3, 3, 3), [x + 2 for x in samples((1, 3, 6, 6))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="window", pads=[1, 1, 1, 1])]
    model = model_of(nodes, [1, 3, 6, 6], {"w": w})
    plain = hewn.compile(model, quantize=WITHOUT, calibration=data)
    module = hewn.compile(model, quantize=WITH, calibration=data)
    floats = hewn.compile(model)
    shifts = [plain.run({"x": x})["y"] - floats.run({"x": x})["y"] for x in data]
    want = -drawn([shift.sum(axis=(0, 2, 3)) for shift in shifts], [36] * len(data))
    np.testing.assert_allclose(site(module, "window")["bias"], want, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3"])
def test_a_text_repeats_it(target, tmp_path):
    """The compiler writes the corrections to the quantization file. Compiling with this file,
    without data, gives the same bytes. -O0 gives the same numbers from other code."""
    data = [x + 1 for x in samples((1, 3, 12, 12))]
    first = compiled(net(1), target, quantize=WITH, calibration=data, output=tmp_path / "first.so")
    text = json.loads(json.dumps(first.report["quantization"]))
    again = compiled(net(1), target, quantize=text, output=tmp_path / "again.so")
    assert (tmp_path / "first.so.weights").read_bytes()[64:] == (tmp_path / "again.so.weights").read_bytes()[64:]
    integers = {one["node"] for one in first.report["layers"] if one["weights"] == "int8"}
    assert {one["node"] for one in text["sites"] if "bias" in one} == integers >= {"second", "third", "last"}
    naive = compiled(net(1), target, quantize=text, optimize=False)
    for x in data:
        np.testing.assert_array_equal(first.run({"x": x})["y"], again.run({"x": x})["y"])
        assert decibels(naive.run({"x": x})["y"], first.run({"x": x})["y"]) > 40


def test_rules_and_edits():
    """A rule can disable the correction. The compiler uses biases in a quantization file
    unchanged."""
    data = samples((1, 3, 12, 12))
    how = WITH | {"rules": [{"op": "conv", "bias_correction": False}]}
    module = hewn.compile(net(1), quantize=how, calibration=data)
    assert [one["node"] for one in module.report["quantization"]["sites"] if "bias" in one] == ["last"]
    text = module.report["quantization"]
    before = module.run({"x": data[0]})["y"]
    site(module, "last")["bias"][3] += 10
    edited = hewn.compile(net(1), quantize=text, calibration=data)
    assert site(edited, "last")["bias"] == site(module, "last")["bias"]
    np.testing.assert_allclose(
        edited.run({"x": data[0]})["y"] - before, [[10.0 if i == 3 else 0 for i in range(20)]], atol=1e-5
    )


def test_what_goes_back_to_floats_has_none():
    data = samples((1, 3, 12, 12), count=3)
    module = hewn.compile(net(1), quantize=WITH, calibration=data, min_sqnr=60)
    back = module.report["returned_to_float"]
    assert back and not any("bias" in site(module, name) for name in back)
    assert all(layer(module, name)["weights"] == "float32" for name in back)


def test_of_another_number_of_columns():
    text = {"sites": [{"node": "fc", "scale": 1, "bias": [0.5, 0.25]}]}
    with pytest.raises(
        hewn.CompileError,
        match="the quantization has a 'bias' of 2 numbers for 'fc', whose results have another number of columns",
    ):
        hewn.compile(product(), quantize=text)


def test_it_is_measured_on_data():
    with pytest.raises(
        hewn.CompileError,
        match="the quantization uses 'bias_correction', which needs calibration data",
    ):
        hewn.compile(product(), quantize=WITH)
    with pytest.warns(UserWarning, match="only weights are quantized"):
        text = hewn.compile(product(), quantize="int8").report["quantization"]
    assert text["bias_correction"] is False

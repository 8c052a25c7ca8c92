# SPDX-License-Identifier: Apache-2.0
"""SmoothQuant: divides activation channels with a large range by a factor, and multiplies their
weights by it (Xiao et al., 2023). The reference is numpy."""

import json

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import helper
from quantizing import ALWAYS, decibels, model_of, net, product, quantized, samples, site, weights

PLAIN = ALWAYS | {"bias_correction": False, "smoothing": False, "activations": {"range": "minmax"}}


def spread(data, dim=-1, seed=1):
    """Makes some channels of `data` 30 to 100 times as large as the others, as in trained
    transformers."""
    generator = np.random.default_rng(seed)
    size = data[0].shape[dim]
    factors = np.ones(size, "f")
    factors[generator.permutation(size)[: max(size // 12, 1)]] = generator.uniform(30, 100, max(size // 12, 1))
    shape = [1] * data[0].ndim
    shape[dim] = size
    return [x * factors.reshape(shape) for x in data]


def factors_of(x, w, strength):
    """Returns the factor max|x_c|^a / max|w_c|^(1 - a) for each channel c, divided by the geometric
    mean of all factors."""
    s = np.abs(x).max(axis=0).astype("d") ** strength / np.abs(w).max(axis=1).astype("d") ** (1 - strength)
    return s / np.exp(np.log(s).mean())


def rounded(w):
    scale = np.abs(w).max(axis=0) / np.float32(127)
    return np.rint(w / scale).astype("f") * scale


@pytest.mark.parametrize("strength", [0.3, 0.5, 1.0])
def test_factors_and_the_product(strength):
    data, w = spread(samples((8, 48))), weights(0, 48, 24)
    module = hewn.compile(product(), quantize=PLAIN | {"smoothing": strength}, calibration=data)
    found, x = site(module, "fc"), np.concatenate(data)
    s = np.array(found["smooth"], "f")
    np.testing.assert_allclose(s, factors_of(x, w, strength), rtol=1e-5)
    divided = x / s
    low, high = min(divided.min(), 0), divided.max()
    assert found["scale"] == pytest.approx((float(high) - float(low)) / 255, rel=1e-5)
    scale, zero = np.float32(found["scale"]), found["zero_point"]
    q = np.clip(np.rint(x / (scale * s)) + zero, 0, 255)
    want = ((q - zero) * scale).astype("d") @ rounded(w * s[:, None])
    got = np.concatenate([module.run({"x": x})["y"] for x in data])
    assert decibels(want, got) > 60


def test_a_channel_that_slept_has_room_when_it_wakes():
    """A channel that is nearly zero in the calibration samples gets no factor from its own range,
    because it may be as large as its neighbors in other runs."""
    data = spread(samples((32, 48), count=12))
    asleep = int(np.argsort(np.abs(np.concatenate(data)).max(axis=0))[24])
    shown = [x.copy() for x in data[:8]]
    for i, x in enumerate(shown):
        x[:, asleep] *= 1e-3 if i == 3 else 0
    module = hewn.compile(product(), quantize=PLAIN | {"smoothing": True}, calibration=shown)
    factors = site(module, "fc")["smooth"]
    # The smoothing factor that follows from the observed range of the channel alone would be 0.02.
    assert factors[asleep] > np.median(factors) / 2
    right, got = (np.concatenate([m.run({"x": x})["y"] for x in data[8:]]) for m in (hewn.compile(product()), module))
    assert decibels(right, got) > 35


def test_it_gains_where_channels_differ():
    data = spread(samples((32, 48)))
    plain = hewn.compile(product(), quantize=PLAIN, calibration=data).report["outputs"]["y"]["sqnr_db"]
    smooth = hewn.compile(product(), quantize=PLAIN | {"smoothing": True}, calibration=data)
    assert smooth.report["outputs"]["y"]["sqnr_db"] > plain + 3


def test_it_leaves_alone_what_is_even():
    """The compiler inserts no smoothing factors if they would not reduce the error."""
    generator = np.random.default_rng(4)
    even = [generator.uniform(-1, 1, (32, 48)).astype("f") for _ in range(4)]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")]
    model = model_of(nodes, ["n", 48], {"w": generator.uniform(-1, 1, (48, 64)).astype("f")})
    module = hewn.compile(model, quantize=PLAIN | {"smoothing": True}, calibration=even)
    assert "smooth" not in site(module, "fc")


def test_readers_of_one_operand_share_factors():
    nodes = [helper.make_node("MatMul", ["x", name], [f"y{name}"], name=name) for name in "qkv"]
    constants = {name: weights(i, 48, 24) for i, name in enumerate("qkv")}
    model = model_of(nodes, ["n", 48], constants, outputs=("yq", "yk", "yv"))
    data = spread(samples((16, 48)))
    module = hewn.compile(model, quantize=PLAIN | {"smoothing": 0.5}, calibration=data)
    all_weights = np.concatenate([constants[name] for name in "qkv"], axis=1)
    for name in "qkv":
        np.testing.assert_allclose(
            site(module, name)["smooth"], factors_of(np.concatenate(data), all_weights, 0.5), rtol=1e-5
        )


def test_channels_of_windows():
    """A convolution has one factor per channel for all window positions. Zero padding stays
    zero."""
    w = weights(1, 16, 12, 3, 3)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="window", pads=[1, 1, 1, 1])]
    model = model_of(nodes, [1, 12, 9, 9], {"w": w})
    data = spread(samples((1, 12, 9, 9)), dim=1)
    module = hewn.compile(model, quantize=PLAIN | {"smoothing": 0.5}, calibration=data)
    plain = hewn.compile(model, quantize=PLAIN, calibration=data)
    x = np.concatenate(data).transpose(0, 2, 3, 1).reshape(-1, 12)
    by_channel = w.transpose(1, 0, 2, 3).reshape(12, -1)
    np.testing.assert_allclose(site(module, "window")["smooth"], factors_of(x, by_channel, 0.5), rtol=1e-5)
    assert module.report["outputs"]["y"]["sqnr_db"] > plain.report["outputs"]["y"]["sqnr_db"] + 3


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3"])
def test_a_text_repeats_it(target, tmp_path):
    data = spread(samples((1, 3, 12, 12)), dim=1)
    how = ALWAYS | {"smoothing": 0.5}
    first = compiled(net(1), target, quantize=how, calibration=data, output=tmp_path / "first.so")
    text = json.loads(json.dumps(first.report["quantization"]))
    again = compiled(net(1), target, quantize=text, output=tmp_path / "again.so")
    assert (tmp_path / "first.so.weights").read_bytes()[64:] == (tmp_path / "again.so.weights").read_bytes()[64:]
    assert again.report["quantization"] == first.report["quantization"]
    assert any("smooth" in one for one in text["sites"])
    naive = compiled(net(1), target, quantize=text, optimize=False)
    for x in data:
        np.testing.assert_array_equal(first.run({"x": x})["y"], again.run({"x": x})["y"])
        assert decibels(naive.run({"x": x})["y"], first.run({"x": x})["y"]) > 40


def test_channels_that_no_run_showed_stay():
    data = [x * (np.arange(48) != 7).astype("f") for x in spread(samples((8, 48)))]
    module = hewn.compile(product(), quantize=PLAIN | {"smoothing": 0.5}, calibration=data)
    assert site(module, "fc")["smooth"][7] == 1
    assert np.isfinite(module.run({"x": samples((4, 48))[0]})["y"]).all()


def test_one_value_under_two_dims_of_channels():
    """A matmul and a convolution read the same value. The matmul contracts its last dim and the
    convolution its second, so that equal factors apply to different elements."""
    factors = [0.25, 4, 1, 1, 1, 8, 0.125, 1]
    where = {"scale": 1 / 16, "zero_point": 128, "smooth": factors}
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["m"], name="product"),
        helper.make_node("Conv", ["x", "w"], ["c"], name="window"),
    ]
    v, w = weights(0, 8, 8), weights(1, 8, 8, 1)
    model = model_of(nodes, [1, 8, 8], {"v": v, "w": w}, ["m", "c"])
    x = samples((1, 8, 8))[0]
    both = {"bias_correction": False, "sites": [{"node": name, **where} for name in ("product", "window")]}
    got = hewn.compile(model, quantize=both).run({"x": x})
    for name, other, output in (("product", "window", "m"), ("window", "product", "c")):
        sites = [{"node": name, **where}, {"node": other, "keep_float": True}]
        alone = {"bias_correction": False, "sites": sites}
        want = hewn.compile(model, quantize=alone).run({"x": x})[output]
        np.testing.assert_allclose(got[output], want, rtol=1e-5, atol=1e-5)


def test_edited_factors_are_one_a_channel():
    text = {"bias_correction": False, "sites": [{"node": "fc", "scale": 0.05, "zero_point": 128, "smooth": [2.0] * 48}]}
    x, w = samples((4, 48))[0], weights(0, 48, 24)
    q = quantized(x, 0.1, 128) - 128
    want = (q * np.float32(0.05)).astype("d") @ rounded(w * 2)
    assert decibels(want, hewn.compile(product(), quantize=text).run({"x": x})["y"]) > 60
    text["sites"][0]["smooth"] = [2.0] * 47
    with pytest.raises(
        hewn.CompileError,
        match="the quantization has a 'smooth' of 47 numbers for 'fc', whose left operand has another number of channels",
    ):
        hewn.compile(product(), quantize=text)


def test_few_rows_are_no_reason():
    """The sample has a small number of rows, and other rows are likely to exceed its peaks. If
    smoothing made all channels fill the range exactly, it would clip them."""
    data = samples((8, 48), 16)
    module, plain = (
        hewn.compile(product(), quantize={"smoothing": on} | ALWAYS, calibration=data) for on in (True, False)
    )
    others, floats = samples((8, 48), 64)[16:], hewn.compile(product())
    want, got, without = (np.stack([m.run({"x": x})["y"] for x in others]) for m in (floats, module, plain))
    assert decibels(want, got) > decibels(want, without) - 1

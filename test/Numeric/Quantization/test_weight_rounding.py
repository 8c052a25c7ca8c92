# SPDX-License-Identifier: Apache-2.0
"""Low-bit quantization of weights only: several methods for scales and zero points, and GPTQ
(Frantar et al., 2022). The reference is numpy."""

import base64
import json

import hewn
import numpy as np
import pytest
from onnx import helper
from quantizing import ALWAYS, decibels, layer, model_of, quantized, site, weights

K, N = 256, 512


def model(w):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], ["n", K], {"w": w})


def alone(type="int4", group=32, **more):
    return {
        "weights": {"type": type, "group": group, **more},
        "activations": {"type": "float32"},
        "bias_correction": False,
    }


def wide(seed=5):
    return (np.random.default_rng(seed).standard_t(4, (K, N)) / 16).astype("f")


def product_of(module):
    """Returns the weights that the compiled model uses: its result for the identity matrix."""
    return module.run({"x": np.eye(K, dtype="f")})["y"]


@pytest.mark.parametrize("bits, group", [(8, 0), (4, 32), (3, 64), (2, 16)])
def test_zero_points(bits, group):
    """The weights are not centered at zero. With zero points, (q - zero) * scale covers the range
    of each group."""
    w = weights(0, K, N) + np.float32(0.05)
    module = hewn.compile(model(w), quantize=alone(f"int{bits}", group, symmetric=False))
    groups = w.reshape(-1, group or K, N)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    least, most = np.minimum(groups.min(axis=1, keepdims=True), 0), np.maximum(groups.max(axis=1, keepdims=True), 0)
    scale = (most - least) / np.float32(high - low)
    zero = np.clip(np.rint(low - least / scale), low, high)
    q = np.clip(np.rint(groups / scale + zero), low, high)
    np.testing.assert_allclose(product_of(module), ((q - zero) * scale).reshape(w.shape), rtol=1e-5, atol=1e-6)
    plain = hewn.compile(model(w), quantize=alone(f"int{bits}", group))
    gained = layer(module, "fc")["weights_sqnr_db"] - layer(plain, "fc")["weights_sqnr_db"]
    assert gained > 0 and layer(module, "fc")["weight_bytes"] > layer(plain, "fc")["weight_bytes"]


def test_one_scale_for_a_tensor():
    w = weights(0, K, N)
    module = hewn.compile(model(w), quantize=alone("int8", 0, scales="tensor"))
    scale = np.abs(w).max() / np.float32(127)
    np.testing.assert_allclose(product_of(module), np.rint(w / scale) * scale, rtol=1e-5, atol=1e-6)


def test_three_bits_take_four():
    """3-bit weights are stored in 4 bits, because there are no kernels for packed 3-bit values. The
    report shows the stored size."""
    w = weights(0, K, N)
    three, four = (layer(hewn.compile(model(w), quantize=alone(kind)), "fc") for kind in ("int3", "int4"))
    assert three["weights"] == "int3" and three["weight_bytes"] == four["weight_bytes"]
    assert three["weights_sqnr_db"] < four["weights_sqnr_db"] - 4


@pytest.mark.parametrize("symmetric", [True, False])
def test_half_quadratic_splitting(symmetric):
    """Half-quadratic quantization (HQQ) gives a smaller sum of |w - w'|^0.7 than min-max ranges,
    where w' are the dequantized weights."""
    w = wide()
    found = product_of(hewn.compile(model(w), quantize=alone(range="hqq", symmetric=symmetric)))
    ends = product_of(hewn.compile(model(w), quantize=alone(range="minmax", symmetric=symmetric)))

    def loss(got):
        return np.sum(np.abs(w - got).astype("d") ** 0.7)

    assert loss(found) < 0.97 * loss(ends)
    assert decibels(w, found) > decibels(w, ends)


def correlated(rows=512):
    """Draws rows with correlated elements, as activations have."""
    generator = np.random.default_rng(3)
    mix = generator.standard_normal((K, K)) * (generator.uniform(0, 1, K) ** 4)
    return (generator.standard_normal((rows, K)) @ mix / 8).astype("f")


def gptq(x, w, scale, low, high):
    """Returns integers rounded by GPTQ. It processes the rows of w by descending diagonal of the
    Hessian."""
    hessian = x.astype("d").T @ x
    hessian += np.eye(len(w)) * 0.01 * np.diag(hessian).mean()
    order = np.argsort(-np.diag(hessian), kind="stable")
    inverse = np.linalg.inv(hessian[np.ix_(order, order)])
    upper = np.linalg.cholesky(inverse).T
    left, q = w.astype("d")[order], np.zeros(w.shape)
    for i in range(len(w)):
        q[i] = np.clip(np.rint(left[i] / scale[order[i]]), low, high)
        left[i:] -= np.outer(upper[i, i:] / upper[i, i], left[i] - q[i] * scale[order[i]])
    result = np.zeros(w.shape)
    result[order] = q
    return result


def by_numpy(x, w, bits, group):
    """Returns weights that GPTQ has rounded with the scales of the unmodified weights."""
    high = 2 ** (bits - 1) - 1
    scale = np.abs(w.reshape(-1, group, N)).max(axis=1) / np.float32(high)
    scale = np.repeat(scale, group, axis=0).astype("d")
    return gptq(x, w, scale, -high - 1, high) * scale


def codes_by_numpy(x, w):
    """Returns 8-bit integers with one scale per column."""
    scale = (np.abs(w).max(axis=0, keepdims=True) / np.float32(127)).astype("d")
    return gptq(x, w, np.repeat(scale, len(w), axis=0), -127, 127)


@pytest.mark.parametrize("bits, group", [(4, 32), (3, 64), (2, 16)])
def test_gptq(bits, group):
    x, w = correlated(), weights(0, K, N)
    data = np.split(x, 4)  # too few samples to hold any of them out
    module = hewn.compile(model(w), quantize=alone(f"int{bits}", group, rounding="gptq"), calibration=data)
    nearest = hewn.compile(model(w), quantize=alone(f"int{bits}", group), calibration=data)
    want, got = x.astype("d") @ w, product_of(module)
    reference = decibels(want, x @ by_numpy(x, w, bits, group))
    assert decibels(want, x @ got) == pytest.approx(reference, abs=0.3)
    gained = module.report["outputs"]["y"]["sqnr_db"] - nearest.report["outputs"]["y"]["sqnr_db"]
    assert gained > 2


def test_codes_repeat_it(tmp_path):
    """The quantization file contains the integers. Compiling with it, without data, gives the same
    bytes."""
    x = correlated(64)
    how = alone(rounding="gptq", range="mse")
    first = hewn.compile(model(wide()), quantize=how, calibration=[x], output=tmp_path / "first.so")
    text = json.loads(json.dumps(first.report["quantization"]))
    again = hewn.compile(model(wide()), quantize=text, output=tmp_path / "again.so")
    assert site(first, "fc")["codes"]
    assert (tmp_path / "first.so.weights").read_bytes()[64:] == (tmp_path / "again.so.weights").read_bytes()[64:]
    np.testing.assert_array_equal(first.run({"x": x})["y"], again.run({"x": x})["y"])


def test_gptq_is_by_data():
    with pytest.raises(hewn.CompileError, match="the quantization uses 'rounding', which needs calibration data"):
        hewn.compile(model(weights(0, K, N)), quantize=alone(rounding="gptq"))


def test_int8_on_both_sides_by_gptq():
    x = correlated(64)
    how = ALWAYS | {"weights": {"rounding": "gptq"}, "bias_correction": False}
    module = hewn.compile(model(weights(0, K, N)), quantize=how, calibration=[x])
    assert layer(module, "fc")["activations"] == "uint8" and site(module, "fc")["codes"]


@pytest.mark.parametrize("depth", [9, 50, 67])
@pytest.mark.parametrize("is_window", [False, True])
def test_codes_of_odd_sizes(depth, is_window):
    """The numbers of channels and rows are not multiples of the kernel's block sizes. The integers
    equal numpy's, except close to ties."""
    generator = np.random.default_rng(depth)
    mix = generator.standard_normal((depth, depth)) * generator.uniform(0.1, 1, depth)
    x, w = (generator.standard_normal((3 * 77, depth)) @ mix).astype("f"), weights(1, depth, 24)
    data = list(x.reshape(3, 77, depth))
    node, constant = helper.make_node("MatMul", ["x", "w"], ["y"], name="fc"), w
    if is_window:
        data = [rows.T.reshape(1, depth, 7, 11).copy() for rows in data]
        node, constant = helper.make_node("Conv", ["x", "w"], ["y"], name="fc"), w.T[:, :, None, None].copy()
    how = ALWAYS | {"weights": {"rounding": "gptq"}, "bias_correction": False, "smoothing": False}
    module = hewn.compile(model_of([node], list(data[0].shape), {"w": constant}), quantize=how, calibration=data)
    found = np.frombuffer(base64.b64decode(site(module, "fc")["codes"]), np.int8)
    found = found.reshape(24, depth).T if is_window else found.reshape(depth, 24)
    assert np.mean(found == codes_by_numpy(x, w)) > 0.995


def window(w):
    """Builds a 1x1 convolution that computes the same as the matmul by w. Its channels come before
    the pixels."""
    return model_of(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="fc")], [1, K, 8, 8], {"w": w.T[:, :, None, None].copy()}
    )


def lost_by_weights(module, w, x, data):
    """Returns the signal-to-noise ratio in decibels of the error that quantized weights cause. The
    inputs are already quantized."""
    found = site(module, "fc")
    rows = (quantized(x, found["scale"], found["zero_point"]) - found["zero_point"]) * np.float32(found["scale"])
    got = [module.run({"x": one})["y"] for one in data]
    return decibels(rows.astype("d") @ w, np.concatenate([y.reshape(N, -1).T if y.ndim == 4 else y for y in got]))


def test_int8_is_chosen_by_data_where_rows_tell():
    """By default, the compiler rounds int8 weights of matmuls and 1x1 convolutions by GPTQ if the
    samples have enough rows."""
    w, x = weights(0, K, N), correlated(64 * 22)
    plain = ALWAYS | {"bias_correction": False, "smoothing": False, "activations": {"range": "minmax"}}
    places = [rows.T.reshape(1, K, 8, 8) for rows in x.reshape(-1, 64, K)]
    for one, data in ((model(w), np.split(x, 22)), (window(w), places)):
        module = hewn.compile(one, quantize=plain, calibration=data)
        nearest = hewn.compile(one, quantize=plain | {"weights": {"rounding": "nearest"}}, calibration=data)
        assert site(module, "fc")["codes"] and "codes" not in site(nearest, "fc")
        assert lost_by_weights(module, w, x, data) > lost_by_weights(nearest, w, x, data) + 2
        few = hewn.compile(one, quantize=plain, calibration=data[:1])
        assert "codes" not in site(few, "fc")


def test_codes_beside_smoothing():
    """With smoothing, GPTQ uses activations that are divided by the smoothing factors."""
    w, x = weights(0, K, N), correlated(1408)
    x[:, ::16] *= 40
    both, smooth, codes = (
        hewn.compile(model(w), quantize=ALWAYS | how, calibration=np.split(x, 22)).report["outputs"]["y"]["sqnr_db"]
        for how in (
            {"smoothing": 0.5},
            {"smoothing": 0.5, "weights": {"rounding": "nearest"}},
            {"smoothing": False},
        )
    )
    assert both > smooth + 0.05 and both > codes + 3


def test_codes_are_as_many_as_weights():
    text = {"bias_correction": False, "sites": [{"node": "fc", "scale": 0.05, "zero_point": 128, "codes": "AAAA"}]}
    with pytest.raises(
        hewn.CompileError, match=f"the quantization has 'codes' of 3 integers for 'fc', which has {K * N} weights"
    ):
        hewn.compile(model(weights(0, K, N)), quantize=text)

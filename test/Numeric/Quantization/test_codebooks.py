# SPDX-License-Identifier: Apache-2.0
"""Weights stored as indices into a table (codebook) of 16 or 256 numbers, which Lloyd's algorithm
fits. The reference is numpy, on all targets."""

import json

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import helper
from quantizing import decibels, layer, model_of, site, weights

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
ENTRIES = {"codebook16": 16, "codebook256": 256}


def model(w, rows=("n",)):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [*rows, len(w)], {"w": w})


def by(type="codebook16", group=32, **more):
    return {"weights": {"type": type, "group": group}, "keep_float": False, "bias_correction": False, **more}


def product_of(module, depth):
    """Returns the weights that the compiled model uses: its result for the identity matrix."""
    return module.run({"x": np.eye(depth, dtype="f")})["y"]


def spread(depth, columns, seed=5):
    return (np.random.default_rng(seed).standard_t(4, (depth, columns)) / 16).astype("f")


def lloyd(numbers, importance, count):
    """Fits a table by weighted one-dimensional k-means. Its initial numbers are quantiles of the
    cube root of the density."""
    mass, edges = np.histogram(numbers, 512, weights=importance)
    share = np.concatenate([[0], np.cumsum(np.cbrt(mass))])
    table = np.interp((np.arange(count) + 0.5) / count, share / share[-1], edges)
    for _ in range(300):
        cells = np.searchsorted((table[1:] + table[:-1]) / 2, numbers)
        mass = np.bincount(cells, importance, count)
        means = np.bincount(cells, importance * numbers, count) / np.maximum(mass, 1e-30)
        table = np.sort(np.where(mass > 0, means, table))
    return table


def by_numpy(w, group, count):
    """Fits scales and a table alternately. A scale has the sign of the largest weight of its
    group."""
    x = w.astype("d").reshape(-1, group or len(w), w.shape[1])
    scale = np.take_along_axis(x, np.abs(x).argmax(axis=1, keepdims=True), axis=1)
    for turn in range(5):
        importance = np.broadcast_to(scale**2, x.shape).ravel()
        table = lloyd((x / scale).ravel(), importance, count)
        number = table[np.searchsorted((table[1:] + table[:-1]) / 2, x / scale)]
        if turn < 4:
            scale = (x * number).sum(axis=1, keepdims=True) / (number * number).sum(axis=1, keepdims=True)
    return (number * scale).reshape(w.shape)


@pytest.mark.parametrize(
    "type, group", [("codebook16", 32), ("codebook16", 0), ("codebook16", 128), ("codebook256", 0)]
)
def test_as_numpy(type, group):
    w = spread(256, 144)
    module = hewn.compile(model(w), quantize=by(type, group))
    got = product_of(module, 256)
    assert layer(module, "fc")["weights"] == type
    assert decibels(w, got) == pytest.approx(layer(module, "fc")["weights_sqnr_db"], abs=0.01)
    assert decibels(w, got) == pytest.approx(decibels(w, by_numpy(w, group, ENTRIES[type])), abs=0.25)
    numbers = got.reshape(-1, group or 256, 144)[0, :, 0]
    assert len(np.unique(numbers)) <= ENTRIES[type]


@pytest.mark.parametrize("make", [weights, lambda seed, k, n: spread(k, n, seed)])
@pytest.mark.parametrize(
    "book, integers, group", [("codebook16", "int4", 32), ("codebook16", "int4", 128), ("codebook256", "int8", 0)]
)
def test_less_is_lost_than_by_integers(make, book, integers, group):
    """Weights quantized to a codebook are more accurate than integer weights of the same number of
    bits."""
    w = make(3, 256, 256)
    of = {"type": integers, "group": group, "range": "mse"}
    floats = {"type": "float32"}
    by_integers = layer(hewn.compile(model(w), quantize={"weights": of, "activations": floats}), "fc")
    by_book = layer(hewn.compile(model(w), quantize=by(book, group)), "fc")
    assert by_book["weights_sqnr_db"] > by_integers["weights_sqnr_db"] + 0.5
    assert by_book["weight_bytes"] == by_integers["weight_bytes"] + 4 * ENTRIES[book]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "type, group", [("codebook16", 32), ("codebook16", 0), ("codebook256", 0), ("codebook256", 64)]
)
@pytest.mark.parametrize("depth, columns", [(192, 130), (320, 57), (128, 264)])
def test_shapes(depth, columns, type, group, target):
    """Tests codebook matmuls with numbers of columns that are not multiples of the vector length.
    The number of rows is one, a few, or more than a tile, and constant or dynamic."""
    w = spread(depth, columns, seed=depth)
    generator = np.random.default_rng(1)
    for rows in ("n", 1, 2, 37):
        module = compiled(model(w, [rows]), target, quantize=by(type, group))
        assert layer(module, "fc")["weights"] == type, layer(module, "fc").get("why")
        if rows == "n":
            kept = product_of(module, depth)
            assert decibels(w, kept) == pytest.approx(layer(module, "fc")["weights_sqnr_db"], abs=0.05)
            continue
        # The number of rows of the activations does not affect how the codebook weights are stored.
        x = generator.standard_normal((rows, depth)).astype("f")
        want = x.astype("d") @ kept
        size = np.abs(x) @ np.abs(kept)
        assert np.all(np.abs(module.run({"x": x})["y"] - want) <= 2e-6 * size)


def test_odd_depth():
    """With one scale per column, K may be odd, so that the last packed register of a column is not
    full."""
    w, x = spread(301, 96), np.random.default_rng(2).standard_normal((2, 301)).astype("f")
    module = hewn.compile(model(w, [2]), quantize=by("codebook16", 0))
    assert layer(module, "fc")["weights"] == "codebook16"
    want = x.astype("d") @ by_numpy(w, 0, 16)
    assert decibels(want, module.run({"x": x})["y"]) > 12


def test_unoptimized():
    """The code of -O0 looks up the codebook in another way than optimized code, and gives the same
    result."""
    w, x = spread(128, 144), np.random.default_rng(2).standard_normal((3, 128)).astype("f")
    fast, plain = (hewn.compile(model(w, [3]), quantize=by(), optimize=on) for on in (True, False))
    got, want = fast.run({"x": x})["y"], plain.run({"x": x})["y"]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_zeros_and_few_numbers():
    w = spread(128, 144)
    w[:64] = 0
    w[64:, 1] = 0.25
    got = product_of(hewn.compile(model(w), quantize=by()), 128)
    assert not got[:64].any()
    np.testing.assert_allclose(got[64:, 1], 0.25, rtol=0.02)


def test_not_finite():
    w = spread(128, 144)
    w[3, 4] = np.inf
    module = hewn.compile(model(w), quantize=by())
    assert layer(module, "fc")["why"] == "its weights have elements that are not finite"


def test_many_rows_stay_float():
    w = spread(128, 144)
    module = compiled(model(w, [64]), "x86-64-v3", quantize="codebook16")
    assert layer(module, "fc")["weights"] == "float32" and "many rows" in layer(module, "fc")["why"]


@pytest.mark.parametrize(
    "target, type, stays",
    [
        ("x86-64-v2", "codebook16", False),
        ("x86-64-v2", "codebook256", True),
        ("x86-64-v3", "codebook16", False),
        ("x86-64-v3", "codebook256", True),
        ("x86-64-v4", "codebook256", False),
    ],
)
def test_tables_of_no_register_stay_float(target, type, stays):
    told = layer(compiled(model(weights(3, 128, 144), [1]), target, quantize=type), "fc")
    assert told["weights"] == ("float32" if stays else type)
    if stays:
        assert told["why"] == "float weights are faster: the target looks up table entries one at a time"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("group", [32, 64, 0])
@pytest.mark.parametrize("ends", [[-1, 1], [1, 1], [-31 / 32, 1]])
def test_largest_sums(ends, group, target):
    """Table entries at both ends of the int8 range, and activations of equal magnitude, do not
    overflow the integer accumulators."""
    depth, columns = 256, 136
    w = np.random.default_rng(1).choice(np.array(ends, "f"), (depth, columns)) * np.float32(0.37)
    w[::16] = 0.37  # the largest weight of each group, which determines the group's scale
    module = compiled(model(w, [3]), target, quantize=by("codebook16", group))
    kept = product_of(compiled(model(w), target, quantize=by("codebook16", group)), depth)
    for x in (np.full((3, depth), 1.0), np.full((3, depth), -1.0), np.tile([1.0, -1.0], (3, depth // 2))):
        x = x.astype("f") * np.array([[1], [0.999], [3e-5]], "f")
        want, size = x.astype("d") @ kept, np.abs(x) @ np.abs(kept)
        assert np.all(np.abs(module.run({"x": x})["y"] - want) <= 2e-6 * size)


def test_numbers_of_a_text():
    """If int8 can't represent a table of a quantization file, the kernel looks up float32 values,
    and the result is exact."""
    w = spread(128, 144)
    table = np.sort(np.random.default_rng(3).uniform(-1, 1, 16)).tolist()
    text = by(sites=[{"node": "fc", "codebook": table}])
    want = product_of(hewn.compile(model(w), quantize=text, optimize=False), 128)
    assert decibels(w, want) > 12
    for target in TARGETS:
        np.testing.assert_allclose(product_of(compiled(model(w), target, quantize=text), 128), want, rtol=1e-6)


def test_file_is_small(tmp_path):
    """Weights with a requested codebook stay packed in the weights file, although the cost model
    would prefer float."""
    w = spread(1024, 256)
    hewn.compile(model(w, [64]), quantize=by("codebook16", 128), output=tmp_path / "m.so")
    size = (tmp_path / "m.so.weights").stat().st_size
    assert size < w.size // 2 + w.size // 128 * 4 + 16384


def test_data_weigh_channels(tmp_path):
    """Weights that multiply large activations have more influence on the table. Compiling with the
    quantization file, without data, gives the same bytes."""
    w = spread(256, 144)
    loud = np.where(np.arange(256) % 16 == 0, 30, 0.3)
    w[::16] = w[::16] * 0.5 + np.float32(0.02)
    generator = np.random.default_rng(4)
    data = [(generator.standard_normal((64, 256)) * loud).astype("f") for _ in range(4)]
    x = np.concatenate(data)
    plain = hewn.compile(model(w), quantize=by("codebook16", 0))
    first = hewn.compile(model(w), quantize=by("codebook16", 0), calibration=data, output=tmp_path / "first.so")
    want = x.astype("d") @ w
    assert decibels(want, first.run({"x": x})["y"]) > decibels(want, plain.run({"x": x})["y"]) + 0.5
    assert len(site(first, "fc")["codebook"]) == 16
    text = json.loads(json.dumps(first.report["quantization"]))
    again = hewn.compile(model(w), quantize=text, output=tmp_path / "again.so")
    assert (tmp_path / "first.so.weights").read_bytes()[64:] == (tmp_path / "again.so.weights").read_bytes()[64:]
    np.testing.assert_array_equal(first.run({"x": x})["y"], again.run({"x": x})["y"])


def test_the_same_bytes(tmp_path):
    w = spread(256, 144)
    for name in ("a", "b"):
        hewn.compile(model(w), quantize=by("codebook256", 0), output=tmp_path / f"{name}.so")
    assert (tmp_path / "a.so.weights").read_bytes()[64:] == (tmp_path / "b.so.weights").read_bytes()[64:]

# SPDX-License-Identifier: Apache-2.0
"""AMX kernels on machines without AMX: the code for an AMX target runs with its tile instructions
replaced by calls of an emulation (`../retargeted.py`)."""

import hewn
import numpy as np
import pytest
import retargeted
from onnx import TensorProto, helper
from test_contractions import expected
from test_integers import model_of, random


def run_emulated(model, feeds, folder, flags=(), target="sapphirerapids"):
    retargeted.choose()
    library, tiles = retargeted.build(model, folder, target, flags)
    return tiles, list(hewn.load(library).run(feeds).values())


def product(rows, k, columns, dynamic):
    generator = np.random.default_rng(7)
    weights = generator.standard_normal((k, columns)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    inputs = [("x", TensorProto.FLOAT, ["rows" if dynamic else rows, k])]
    model = model_of(nodes, inputs, [("y", TensorProto.FLOAT)], {"w": weights})
    return model, {"x": generator.standard_normal((rows, k)).astype(np.float32)}


# A target with AMX but without vector dot-product instructions for bfloat16 and int8.
TILES_ALONE = "x86-64-v4+amx"
# Error bounds for the number of bfloat16 GEMMs that compute a float32 GEMM: one, three (bf16x3) or
# six (bf16x6).
BOUNDS = {"medium": 2.0**-6, "high": 3e-5, "highest": 1e-6}
EXACT = ["high", "highest"]


def scaled(generator, rows, k):
    """Draws a matrix whose magnitudes vary along K by a factor of up to 2^24."""
    return generator.standard_normal((rows, k)) * 2.0 ** generator.integers(-12, 13, (1, k))


DATA = {
    "normal": lambda generator, rows, k: generator.standard_normal((rows, k)),
    "positive": lambda generator, rows, k: generator.random((rows, k)),
    "scaled": scaled,
}


def plain_product(x, w):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return model_of(nodes, [("x", TensorProto.FLOAT, list(x.shape))], [("y", TensorProto.FLOAT)], {"w": w}), {"x": x}


def check(model, feeds, folder, precision, **options):
    tiles, (got,) = run_emulated(model, feeds, folder, [f"--float32-precision={precision}"], **options)
    want = expected(model, feeds)
    assert tiles > 0
    assert np.abs(got - want).max() <= np.abs(want).max() * BOUNDS[precision]


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("rows", [7, 20, 45])
def test_product(rows, dynamic, tmp_path):
    check(*product(rows, 96, 72, dynamic), tmp_path, "medium")


@pytest.mark.parametrize("precision", BOUNDS)
def test_tiles_without_a_dot_instruction(precision, tmp_path):
    """On this target, operands are packed in groups for the AMX tiles, but not for dot-product
    instructions, which it lacks."""
    check(*product(96, 96, 328, False), tmp_path, precision, target=TILES_ALONE)


@pytest.mark.parametrize("precision", EXACT)
@pytest.mark.parametrize("rows", [61, 96, 109])
def test_terms(rows, precision, tmp_path):
    check(*product(rows, 96, 328, False), tmp_path, precision)


def test_three_products_of_unknown_rows(tmp_path):
    """The number of rows is dynamic. Runs have enough rows for full tiles, and so few that the
    vector kernel runs."""
    for rows in (45, 7):
        check(*product(rows, 96, 328, True), tmp_path, "high")


@pytest.mark.parametrize("k", [64, 512, 4096])
@pytest.mark.parametrize("kind", DATA)
def test_six_products_lose_no_more_than_float32(kind, k, tmp_path):
    """With bf16x6, errors relative to |x| @ |w| are not larger than those of a chain of float32
    FMAs. The reference is float64."""
    generator = np.random.default_rng(10)
    x, w = (DATA[kind](generator, 64, k).astype(np.float32), DATA[kind](generator, 320, k).astype(np.float32).T.copy())
    tiles, (got,) = run_emulated(*plain_product(x, w), tmp_path)
    assert tiles > 0
    wide = x.astype(np.float64), w.astype(np.float64)
    want, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    chain = np.zeros(want.shape, np.float32)
    for i in range(k):
        chain = (chain + wide[0][:, i : i + 1] * wide[1][i]).astype(np.float32)
    error, allowed = (np.abs(y - want) / size for y in (got, chain))
    assert error.max() <= allowed.max()
    assert np.sqrt((error**2).mean()) <= np.sqrt((allowed**2).mean())


@pytest.mark.parametrize("precision", EXACT)
def test_infinities_and_the_largest(precision, tmp_path):
    model, feeds = product(64, 64, 320, False)
    x = feeds["x"]
    x[3, 5], x[7, 1], x[9, 2], x[11] = np.inf, -np.inf, np.nan, 0
    x[13, 4], x[14, 4], x[15, :] = np.finfo(np.float32).max / 8, -np.finfo(np.float32).max / 8, 0
    x[15, 9], x[16, 3], x[16, 4] = np.inf, np.inf, -np.inf
    tiles, (got,) = run_emulated(model, feeds, tmp_path, [f"--float32-precision={precision}"])
    want = expected(model, feeds)
    assert tiles > 0
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_infinity_meets_zero(tmp_path):
    """infinity * x is NaN only if x is 0, not if only one of the split components of x is 0."""
    x, w = np.ones((64, 64), np.float32), np.ones((64, 320), np.float32)
    x[5, 3], w[3, 7], w[3, 8] = np.inf, 0, -2
    tiles, (got,) = run_emulated(*plain_product(x, w), tmp_path)
    assert tiles > 0
    assert np.isnan(got[5, 7]) and got[5, 8] == -np.inf and (np.delete(got[5], [7, 8]) == np.inf).all()
    assert np.isfinite(np.delete(got, 5, axis=0)).all()


@pytest.mark.parametrize("precision", EXACT)
def test_the_largest_number_has_terms(precision, tmp_path):
    x, w = np.zeros((64, 64), np.float32), np.zeros((64, 320), np.float32)
    x[:, 1], w[1] = np.finfo(np.float32).max, 1
    x[1::2] *= -1
    tiles, (got,) = run_emulated(*plain_product(x, w), tmp_path, [f"--float32-precision={precision}"])
    assert tiles > 0
    np.testing.assert_allclose(got, np.broadcast_to(x[:, 1:2], got.shape), rtol=BOUNDS[precision])


@pytest.mark.parametrize("power", [-60, -100, -110, -126, -140])
def test_tiny_numbers(power, tmp_path):
    """Split components below bfloat16's smallest normal number become zero. This adds an error of
    at most 2^-126 to each number and to each sum."""
    generator = np.random.default_rng(11)
    x = (generator.standard_normal((64, 64)) * 2.0**power).astype(np.float32)
    w = generator.standard_normal((64, 320)).astype(np.float32)
    tiles, (got,) = run_emulated(*plain_product(x, w), tmp_path)
    assert tiles > 0
    wide = x.astype(np.float64), w.astype(np.float64)
    size = np.abs(wide[0]) @ np.abs(wide[1])
    # The hardware may flush to zero each operand, each multiplication of two components, and the
    # sums of both halves of a tile's K range.
    flushed = 2.0**-126 * (np.abs(wide[1]).sum(axis=0) + 6 * (64 + 4))
    assert (np.abs(got - wide[0] @ wide[1]) <= 2.0**-22 * size + flushed).all()
    if power >= -100:
        assert (np.abs(got - wide[0] @ wide[1]) <= 2.0**-22 * size).all()


@pytest.mark.parametrize("change", ["tiny", "infinite"])
def test_weights_without_terms_stay(change, tmp_path):
    """GEMMs with weights that can't be split into bfloat16 components use the vector FMA kernel."""
    x, w = (np.random.default_rng(12).standard_normal(shape).astype(np.float32) for shape in ((64, 64), (64, 320)))
    if change == "tiny":
        w *= np.float32(2.0**-110)
    else:
        w[3, 7] = np.inf
    model, feeds = plain_product(x, w)
    tiles, (got,) = run_emulated(model, feeds, tmp_path)
    assert tiles == 0
    np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=np.abs(w[np.isfinite(w)]).max() * 1e-4)


@pytest.mark.parametrize("rows", [1, 4, 8])
def test_few_rows_stay(rows, tmp_path):
    """Skinny GEMMs stay float32. They are bound by the memory traffic of the weights, and float32
    weights are smaller than split ones."""
    model, feeds = product(rows, 256, 512, False)
    tiles, (got,) = run_emulated(model, feeds, tmp_path)
    assert tiles == 0
    np.testing.assert_allclose(got, expected(model, feeds), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("size, stride", [(16, 1), (30, 2)])
def test_convolution(size, stride, precision, tmp_path):
    generator = np.random.default_rng(8)
    weights = generator.standard_normal((136, 32, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4, strides=[stride] * 2)]
    inputs = [("x", TensorProto.FLOAT, [1, 32, size, size])]
    model = model_of(nodes, inputs, [("y", TensorProto.FLOAT)], {"w": weights})
    check(model, {"x": generator.standard_normal((1, 32, size, size)).astype(np.float32)}, tmp_path, precision)


@pytest.mark.parametrize("target", ["sapphirerapids", TILES_ALONE])
@pytest.mark.parametrize("rows", [9, 33])
def test_integers_are_exact(rows, target, tmp_path):
    generator = np.random.default_rng(9)
    weights = {"w": random(generator, np.int8, 128, 40), "xz": np.uint8(77)}
    x = random(generator, np.uint8, rows, 128)
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "xz"], ["y"])]
    model = model_of(nodes, [("x", TensorProto.UINT8, [rows, 128])], [("y", TensorProto.INT32)], weights)
    tiles, (got,) = run_emulated(model, {"x": x}, tmp_path, target=target)
    assert tiles > 0
    np.testing.assert_array_equal(got, (x.astype(np.int64) - 77) @ weights["w"].astype(np.int64))

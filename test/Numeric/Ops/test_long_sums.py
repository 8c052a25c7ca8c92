# SPDX-License-Identifier: Apache-2.0
"""Long sums of float32 keep the error bound of docs/decisions/numbers/long-sums.md, in every kernel
generator that accumulates. The data are equal positive elements: all roundings of a sequence of
additions then have the same direction, which is the worst case."""

import hewn
import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import parser

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
TENTH = np.float32(0.1)


def model(text):
    return parser.parse_model(HEAD + "g " + text)


def bound(n):
    """The bound that the page states, relative to the sum of the magnitudes."""
    return 4 * max(n, 256) ** 0.5 / 2**24


def flat(*shape):
    return np.full(shape, TENTH)


def check(text, feeds, wanted, n, target="host"):
    got = next(iter(compiled(model(text), target).run(feeds).values()))
    error = np.abs(got / np.float64(wanted) - 1).max()
    assert error <= bound(n), f"the error {error:.1e} of a sum of {n} elements exceeds {bound(n):.1e}"


def axes(*dims):
    return f"a = Constant <value_ints=[{', '.join(map(str, dims))}]> ()"


LENGTHS = [1000, 2039, 65536, 10**6 + 3]
X, W = np.float64(TENTH), np.float64(TENTH) ** 2


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_rows(n, size):
    dim = n if size == "static" else "n"
    text = f"(float[1, {dim}] x) => (float[1] y) {{ {axes(1)} y = ReduceSum <keepdims=0> (x, a) }}"
    check(text, {"x": flat(1, n)}, n * X, n)


@pytest.mark.parametrize("n", LENGTHS[:3])
@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_columns(n, size):
    dim = n if size == "static" else "n"
    text = f"(float[{dim}, 40] x) => (float[40] y) {{ {axes(0)} y = ReduceMean <keepdims=0> (x, a) }}"
    check(text, {"x": flat(n, 40)}, X, n)


@pytest.mark.parametrize("h, w", [(7, 9000), (9000, 7), (300, 310)])
@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_several_dims(h, w, size):
    dims = f"{h}, {w}" if size == "static" else "h, w"
    text = f"(float[{dims}, 24] x) => (float[24] y) {{ {axes(0, 1)} y = ReduceSum <keepdims=0> (x, a) }}"
    check(text, {"x": flat(h, w, 24)}, h * w * X, h * w)
    text = f"(float[{dims}, 3, 4] x) => (float[3] y) {{ {axes(0, 1, 3)} y = ReduceSum <keepdims=0> (x, a) }}"
    check(text, {"x": flat(h, w, 3, 4)}, 4 * h * w * X, 4 * h * w)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("size", ["static", "dynamic"])
@pytest.mark.parametrize("m, columns", [(1, 1), (1, 40), (7, 24)])
def test_products(n, size, m, columns):
    if n * (m + columns) > 10**7:
        n = 65536
    k = n if size == "static" else "k"
    text = f"(float[{m}, {k}] x, float[{k}, {columns}] z) => (float[{m}, {columns}] y) {{ y = MatMul (x, z) }}"
    check(text, {"x": flat(m, n), "z": flat(n, columns)}, n * W, n)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("size", ["static", "dynamic"])
@pytest.mark.parametrize("channels", [40, 1000])
def test_convolutions(padding, size, channels):
    h = "5" if size == "static" else "h"
    text = f"""(float[1, {channels}, {h}, 6] x, float[20, {channels}, 3, 3] w) => (float[1, 20, u, v] y) {{
      c = Conv <pads=[{padding}, {padding}, {padding}, {padding}]> (x, w)
      s = Constant <value_ints=[{padding}, {padding}]> ()
      t = Constant <value_ints=[{padding + 3}, {padding + 4}]> ()
      b = Constant <value_ints=[2, 3]> ()
      y = Slice (c, s, t, b)
    }}"""
    feeds = {"x": flat(1, channels, 5, 6), "w": flat(20, channels, 3, 3)}
    check(text, feeds, 9 * channels * W, 9 * channels)


def test_winograd():
    text = "(float[1, 2048, 8, 8] x) => (float[1, 16, 6, 6] y) { y = Conv (x, w) }"
    made = model(text)
    made.graph.initializer.append(onnx.numpy_helper.from_array(flat(16, 2048, 3, 3), "w"))
    y = compiled(made).run({"x": flat(1, 2048, 8, 8)})["y"]
    assert np.abs(y / (9 * 2048 * W) - 1).max() <= bound(9 * 2048)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalLpPool <p=1>"])
@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_means_after_convolutions(op, size):
    side, dim = 300, 300 if size == "static" else "h"
    text = f"""(float[1, 8, {dim}, {dim}] x, float[16, 8, 1, 1] w) => (float[1, 16, 1, 1] y) {{
      c = Conv (x, w)
      r = Relu (c)
      y = {op} (r)
    }}"""
    wanted = 8 * W * (1 if op == "GlobalAveragePool" else side * side)
    check(text, {"x": flat(1, 8, side, side), "w": flat(16, 8, 1, 1)}, wanted, side * side)


@pytest.mark.parametrize("size", ["static", "dynamic"])
def test_prefix_sums(size):
    n = 300_001
    for dims, dim, shape in [("1, {}", 1, (1, n)), ("{}, 17", 0, (n, 17))]:
        text = dims.format(n if size == "static" else "n")
        text = f"(float[{text}] x) => (float[{text}] y) {{ a = Constant <value_int={dim}> () y = CumSum (x, a) }}"
        wanted = np.expand_dims(np.arange(1, n + 1) * X, 1 - dim)
        check(text, {"x": flat(*shape)}, wanted, n)
        text = text.replace("CumSum", "CumSum <exclusive=1, reverse=1>")
        got = compiled(model(text)).run({"x": flat(*shape)})["y"]
        wanted = np.expand_dims(np.arange(n - 1, -1, -1) * X, 1 - dim)
        assert np.abs(got - wanted).max() <= bound(n) * wanted.max()


def test_small_deviation():
    """A deviation much smaller than the mean needs an exact mean."""
    n, rng = 2**20, np.random.default_rng(0)
    x = (20 + rng.standard_normal((1, 2, n)) / 32).astype(np.float32)
    text = f"""(float[1, 2, {n}] x) => (float[1, 2, {n}] y) {{
      s = Constant <value_floats=[1.0, 1.0]> ()
      b = Constant <value_floats=[0.0, 0.0]> ()
      y = InstanceNormalization (x, s, b)
    }}"""
    got, d = compiled(model(text)).run({"x": x})["y"], x - x.mean(2, dtype=np.float64, keepdims=True)
    wanted = d / np.sqrt((d * d).mean(2, keepdims=True) + 1e-5)
    # The mean is rounded to a float32, whose last bit is 2^-20.
    assert np.abs(got - wanted).max() <= 32 * 2**-20 + np.abs(wanted).max() * 1e-6


def test_softmax():
    n = 10**6
    got = compiled(model("(float[1, n] x) => (float[1, n] y) { y = Softmax <axis=1> (x) }")).run({"x": flat(1, n)})["y"]
    assert np.abs(got.astype(np.float64) * n - 1).max() <= bound(n)


def test_longest():
    """10^8 elements, 400 MB, as one row and as the K dimension of a dot product with itself."""
    n = 10**8
    x = np.full(n, TENTH)
    got = hewn.compile(
        model(f"(float[{n}] x) => (float[1] y, float z) {{ {axes(0)} y = ReduceSum (x, a) z = MatMul (x, x) }}"),
        threads=2,
    ).run({"x": x})
    assert abs(got["y"][0] / (n * X) - 1) <= bound(n)
    assert abs(got["z"] / (n * W) - 1) <= bound(n)

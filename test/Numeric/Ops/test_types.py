# SPDX-License-Identifier: Apache-2.0
"""Sub-byte element types and float8e8m0: conversions of every value in both directions."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from numeric import check, compiled, one_node, run
from onnx import TensorProto, helper, numpy_helper

SMALL = {
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "float4_e2m1fn": TensorProto.FLOAT4E2M1,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
}


def every(name):
    """Returns all values of a type, repeated up to 300 elements, which are full vectors and a
    partial one."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    bits = 8 if "8" in name else int(name[-1]) if "int" in name else 4
    codes = np.resize(np.arange(1 << bits, dtype=np.uint8), 300)
    if name.startswith("int"):
        codes = (codes.astype(np.int8) << (8 - bits)) >> (8 - bits)
    return codes.view(dtype)


def same(got, want):
    """Returns whether two arrays have equal bits, except for the unused bits of a byte that holds a
    sub-byte integer."""
    assert got.dtype == want.dtype
    bits = np.int8 if "int" in got.dtype.name else np.uint8
    as_bits = (lambda x: x.astype(bits)) if bits is np.int8 else (lambda x: x.view(bits))
    np.testing.assert_array_equal(as_bits(got), as_bits(want))


@pytest.mark.parametrize("name", SMALL)
def test_there_and_back(name):
    x = every(name)
    (wide,) = run(one_node("Cast", [x], opset=25, to=TensorProto.FLOAT), {"x0": x})
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    finite = np.where(np.isnan(wide), np.float32(1), wide)
    (back,) = run(one_node("Cast", [finite], opset=25, to=SMALL[name], round_mode="down"), {"x0": finite})
    same(back, finite.astype(x.dtype))


def test_float4_rounds_and_saturates():
    x = np.concatenate([np.linspace(-9, 9, 577), [1e9, -1e9, np.inf, -np.inf, -0.0, 1e-30]]).astype(np.float32)
    (got,) = run(one_node("Cast", [x], opset=25, to=TensorProto.FLOAT4E2M1), {"x0": x})
    same(got, x.astype(ml_dtypes.float4_e2m1fn))


def halfway(dtype):
    """Returns every value of a 16-bit type; and float32 values: all finite values of the type, the
    midpoints between neighbors, and the numbers next to the midpoints."""
    codes = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        values = codes.astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    middles = ((values[1:].astype(np.float64) + values[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
    ends = np.array([np.inf, -np.inf, np.nan, -0.0, 3.4028235e38, 1e-45, 65519.996, 65520], np.float32)
    return codes, np.concatenate([values, middles, *beside, ends])


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves(name, target):
    """Converts 16-bit floats on targets with a conversion instruction and on others."""
    dtype, kind = np.dtype(getattr(ml_dtypes, name, name)), getattr(TensorProto, name.upper())
    codes, wide = halfway(dtype)
    for x, to in ((codes, TensorProto.FLOAT), (wide, kind)):
        with np.errstate(over="ignore"):
            want = x.astype(np.float32 if to == TensorProto.FLOAT else dtype)
        got = compiled(one_node("Cast", [x], to=to), target).run({"x0": x})["y0"]
        bits = np.dtype(f"u{want.itemsize}")
        numbers = ~np.isnan(want.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), ~numbers)
        if name == "bfloat16" and target == "host":  # the instruction flushes denormals to zero
            numbers &= (want == 0) | (np.abs(want.astype(np.float32)) > np.finfo(np.float32).tiny)
        np.testing.assert_array_equal(got.view(bits)[numbers], want.view(bits)[numbers])


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_of_doubles(name, target):
    """Conversions from float64 to a 16-bit type round once. The inputs are slightly above or below
    the midpoint of two numbers, and float32 would round them to the midpoint."""
    dtype, kind = np.dtype(getattr(ml_dtypes, name, name)), getattr(TensorProto, name.upper())
    _, wide = halfway(dtype)
    wide = wide[np.isfinite(wide) & (np.abs(wide) > 1e-30) & (np.abs(wide) < 65000)][::17].astype(np.float64)
    x = np.concatenate([wide * (1 - 2.0**-40), wide, wide * (1 + 2.0**-40)])
    with np.errstate(invalid="ignore"):
        values = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    above = np.searchsorted(values, x).clip(1, values.size - 1)
    low, high = values[above - 1], values[above]
    got = compiled(one_node("Cast", [x], to=kind), target).run({"x0": x})["y0"].astype(np.float64)
    nearest = np.where(x - low < high - x, low, high)
    middle = x - low == high - x  # the test of float32 inputs covers ties
    np.testing.assert_array_equal(got[~middle], nearest[~middle])


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two(mode, saturate):
    x = np.concatenate([np.geomspace(1e-44, 3.4e38, 4001), [0, 1, 1.5, 3, np.inf, np.nan]]).astype(np.float32)
    model = one_node("Cast", [x], opset=25, to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=saturate)
    (got,) = run(model, {"x0": x})
    same(got, numpy_helper.to_float8e8m0(x, bool(saturate), mode))


@pytest.mark.parametrize("mode", ["nearest", "up", "down"])
def test_float64_to_powers_of_two(mode):
    """Conversions from float64 round once. The inputs are next to a midpoint, to a power of two and
    to the largest value, and float32 would round them to it."""
    ones = np.array([1.5, 1.0, 2.0, 1.25, 2.0**-100, 1.5 * 2.0**100])
    x = np.concatenate([np.nextafter(ones, 0), ones, np.nextafter(ones, np.inf), [2.0**128 * (1 - 2.0**-40)]])
    model = one_node("Cast", [x], opset=25, to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=1)
    got = hewn.compile(model).run({"x0": x})
    fraction, exponent = np.frexp(x)  # in [0.5, 1)
    up = {"nearest": fraction >= 0.75, "up": fraction > 0.5, "down": fraction < 0}[mode]
    want = np.minimum(exponent - 1 + up + 127, 254)
    assert next(iter(got.values())).view(np.uint8).tolist() == want.tolist()


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "float4_e2m1fn"])
def test_constant(name):
    """A constant of a sub-byte type has several elements per byte in the model file."""
    x = every(name)[:71]
    tensor = numpy_helper.from_array(x, "w")
    graph = helper.make_graph(
        [helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT), helper.make_node("Add", ["c", "x"], ["y"])],
        "constant",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [71])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [71])],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)
    zeros = np.zeros(71, np.float32)
    check([hewn.compile(model).run({"x": zeros})["y"]], [x.astype(np.float32)])

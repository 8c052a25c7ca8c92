# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions over their full range, compared with the formula in float64."""

import math

import numpy as np
import pytest
from numeric import feeds_of, one_node, run

erf = np.vectorize(math.erf)


def sigmoid(x):
    return np.where(
        x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0)))
    )


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


FUNCTIONS = {
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "Elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "Celu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Swish": lambda x: x * sigmoid(x),
    "Gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "Tanh": np.tanh,
    "Sinh": np.sinh,
    "Asinh": np.arcsinh,
    "Erf": erf,
    "Exp": np.exp,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Atan": np.arctan,
}
# The error bound of Gelu is larger: in every kernel, 1 + erf(x) loses accuracy by cancellation for
# large negative x.
ABSOLUTE = {"Gelu": 1e-6}
POINTS = np.concatenate(
    [np.linspace(-87, 87, 4099), np.geomspace(1e-30, 1, 999), -np.geomspace(1e-30, 1, 999), [0, -0.0]]
).astype(np.float32)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_function(op):
    (got,) = run(one_node(op, [POINTS], opset=24), feeds_of([POINTS]))
    with np.errstate(over="ignore"):
        want = FUNCTIONS[op](POINTS.astype(np.float64)).astype(np.float32)
    # All exponentials of these points are normal numbers, which the kernel does not flush.
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=ABSOLUTE.get(op, 1e-45))


SPECIAL = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
LIMITS = {
    "Sigmoid": [np.nan, 1, 0, 1, 0],
    "Softplus": [np.nan, np.inf, 0, 3e38, 0],
    "Elu": [np.nan, np.inf, -1, 3e38, -1],
    "Tanh": [np.nan, 1, -1, 1, -1],
    "Erf": [np.nan, 1, -1, 1, -1],
    "Relu": [np.nan, np.inf, 0, 3e38, 0],
    "Sign": [np.nan, 1, -1, 1, -1],
    "Exp": [np.nan, np.inf, 0, np.inf, 0],
}


@pytest.mark.parametrize("op", LIMITS)
def test_limits(op):
    (got,) = run(one_node(op, [SPECIAL], opset=24), feeds_of([SPECIAL]))
    np.testing.assert_array_equal(got, np.array(LIMITS[op], np.float32))


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
def test_remainders(target):
    """fmod is exact. This includes quotients that round up to an integer, huge quotients, NaN and
    infinity."""
    random = np.random.default_rng(4)
    y = np.concatenate([random.uniform(0.001, 9, 2000), [np.inf, np.nan, 0, 1e-40, -2.5]]).astype(np.float32)
    whole = random.integers(-1000, 1000, y.size).astype(np.float32)
    with np.errstate(invalid="ignore"):
        x = np.nextafter(whole * y, np.float32(0))
    for factor in (1, 1e10, -0.001):
        with np.errstate(over="ignore"):
            x = (x * np.float32(factor)).astype(np.float32)
        (got,) = run(one_node("Mod", [x, y], opset=13, fmod=1), feeds_of([x, y]), target=target)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(got, np.fmod(x, y))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int16, np.uint8, np.int8, np.int64])
def test_quotients_of_integers(dtype):
    random, limits = np.random.default_rng(5), np.iinfo(dtype)
    x, y = (random.integers(limits.min, limits.max, 3000, dtype, endpoint=True) for _ in "xy")
    y[::2] = y[::2] % 9 + 1
    x[:9], y[:9] = limits.max, [1, 2, 3, 5, 7, limits.max, limits.max - 1, limits.max // 2, 9]
    y[y == 0] = 1
    y[(x == limits.min) & (y == dtype(-1) if limits.min < 0 else False)] = 1
    (got,) = run(one_node("Div", [x, y], opset=14), feeds_of([x, y]))
    magnitude = np.abs(x.astype(object)) // np.abs(y.astype(object))
    sign = np.where((x < 0) != (y < 0), -1, 1)
    np.testing.assert_array_equal(got, (magnitude * sign).astype(dtype))


@pytest.mark.parametrize("power", [np.float32(0.5), np.int64(2), np.int32(3), np.int64(1)])
def test_known_powers(power):
    """Pow with one constant exponent gives the results of ONNX's reference for infinities, signed
    zeros, negative numbers and NaN, also where it is compiled to a root."""
    x = np.array([4, 2, 0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3, -1e-40], np.float32)
    (got,) = run(one_node("Pow", [x, np.asarray(power)], opset=17, constants=(1,)), {"x0": x})
    with np.errstate(invalid="ignore"):
        want = np.power(x, power).astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(got[3:5]), np.signbit(want[3:5]))


@pytest.mark.parametrize("constants", [(), (1,)])
def test_powers_by_a_tensor(constants):
    """Pow with a tensor of exponents gives the results of C's pow."""
    x = np.array([4, -0.0, np.inf, -np.inf, np.nan, -3], np.float32)
    inputs = [x, np.full(x.shape, 0.5, np.float32)]
    (got,) = run(one_node("Pow", inputs, opset=17, constants=constants), feeds_of(inputs, constants))
    np.testing.assert_array_equal(got, np.float32([2, 0, np.inf, np.inf, np.nan, np.nan]))

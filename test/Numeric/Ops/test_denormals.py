# SPDX-License-Identifier: Apache-2.0
"""Functions computed from exponentials flush denormal float32 results to zero; all other ops keep
denormals (docs/decisions/numbers/denormals.md)."""

import ml_dtypes
import numpy as np
import pytest
from numeric import feeds_of, one_node, run
from test_functions import FUNCTIONS

LEAST = np.finfo(np.float32).smallest_normal
# Inputs: every exponent with both signs, and dense points in the range where the exponential
# underflows or overflows.
POWERS = np.ldexp(np.array([1, 1.37]), np.arange(-149, 128)[:, None]).ravel()
UNDERFLOW = np.linspace(-87.35, -86.9, 999)  # exp is 2^-126 at -87.33654
POINTS = np.concatenate([POWERS, -POWERS, np.linspace(-110, 110, 8191), UNDERFLOW, [0, -0.0]]).astype(np.float32)
# Activation functions whose result is a fraction of x, and thus denormal for a denormal x.
SHARES_OF_X = ("Mish", "Swish", "Gelu")
OPS = ("Exp", "Sigmoid", "Softplus", *SHARES_OF_X)
TARGETS = ("host", "x86-64-v2", "x86-64-v3", "x86-64-v4")


def is_denormal(x):
    x = np.abs(x.astype(np.float64))
    return (x > 0) & (x < LEAST)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", OPS)
def test_no_result_is_denormal(op, target):
    x = POINTS if op not in SHARES_OF_X else POINTS[(np.abs(POINTS) > 2.0**-120) | (POINTS == 0)]
    (got,) = run(one_node(op, [x], opset=24), feeds_of([x]), target)
    assert not is_denormal(got).any(), x[is_denormal(got)]
    with np.errstate(over="ignore"):
        want = FUNCTIONS[op](x.astype(np.float64)).astype(np.float32)
    # The kernel flushes denormal exponentials to 0, so that x times such an exponential is 0.
    atol = {"Gelu": 1e-6, "Mish": 100 * LEAST, "Swish": 100 * LEAST}.get(op, LEAST)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["Exp", "Sigmoid", "Softplus", "Mish", "Swish"])
def test_normal_exponentials_are_accurate(op, target):
    """Results are accurate for all x whose exponential is a normal number, and up to overflow."""
    x = np.concatenate([UNDERFLOW, np.linspace(88, 88.73, 999)]).astype(np.float32)
    x = x[x.astype(np.float64) > np.log(float(LEAST))]
    assert np.float32(-87.33654) in x or x.min() < -87.336
    (got,) = run(one_node(op, [x], opset=24), feeds_of([x]), target)
    with np.errstate(over="ignore"):
        want = FUNCTIONS[op](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_no_exponential_of_a_softmax_is_denormal(target):
    x = np.stack([np.zeros_like(POINTS), -np.abs(POINTS)], 1)
    (got,) = run(one_node("Softmax", [x], opset=13, axis=1), feeds_of([x]), target)
    assert not is_denormal(got).any()
    powers = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=LEAST)


def test_bfloat16_has_the_exponents_of_float32():
    x = POINTS.astype(ml_dtypes.bfloat16)
    (got,) = run(one_node("Sigmoid", [x]), feeds_of([x]))
    assert not is_denormal(got).any()


def test_all_else_is_kept():
    """Denormals are kept in multiplications of tiny numbers, in powers, in inputs, and in float16
    and float64."""
    tiny = np.float32([1e-20, -3e-20])
    (got,) = run(one_node("Mul", [tiny, tiny]), feeds_of([tiny, tiny]))
    np.testing.assert_array_equal(got, tiny * tiny)
    given = np.float32([1e-40, -2e-45])
    (got,) = run(one_node("Relu", [given]), feeds_of([given]))
    np.testing.assert_array_equal(got, np.maximum(given, 0))
    (got,) = run(one_node("Pow", [tiny, np.float32(2)]), feeds_of([tiny, np.float32(2)]))
    np.testing.assert_array_equal(got, tiny * tiny)
    half = np.float16([-12, -16])
    (got,) = run(one_node("Sigmoid", [half]), feeds_of([half]))
    np.testing.assert_array_equal(got, (1 / (1 + np.exp(-half.astype(np.float64)))).astype(np.float16))
    wide = np.float64([-100, -740])
    (got,) = run(one_node("Exp", [wide]), feeds_of([wide]))
    np.testing.assert_allclose(got, np.exp(wide), rtol=1e-15)
    assert (got > 0).all()

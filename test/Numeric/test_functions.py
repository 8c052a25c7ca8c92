# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions over their whole range, against the same formula in float64."""

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
# 1 + erf cancels far below zero, in every engine.
ABSOLUTE = {"Gelu": 1e-6}
POINTS = np.concatenate(
    [np.linspace(-87, 87, 4099), np.geomspace(1e-30, 1, 999), -np.geomspace(1e-30, 1, 999), [0, -0.0]]
).astype(np.float32)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_function(op):
    (got,) = run(one_node(op, [POINTS], opset=24), feeds_of([POINTS]))
    with np.errstate(over="ignore"):
        want = FUNCTIONS[op](POINTS.astype(np.float64)).astype(np.float32)
    # 1e-37: what flushes to zero in between is no error.
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=ABSOLUTE.get(op, 1e-37))


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

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the polynomials of this folder and prints their float32 coefficients, lowest order first.

Each fit is a minimax polynomial: Lawson's algorithm (iteratively reweighted least squares) on
Chebyshev nodes. Coefficients are rounded to float32 one by one, from the lowest order. After each
rounding, the remaining coefficients are fitted again, so that they compensate for it. Needs numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

LONG = np.longdouble

#: A function that is applied to each element of an array.
Function = Callable[[np.ndarray], np.ndarray]


def solve(basis: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Returns the weighted minimax coefficients for the columns of `basis`."""
    lawson = np.ones(len(target))
    best = (np.inf, None)
    for _ in range(60):
        columns = basis * (weight * np.sqrt(lawson))[:, None]
        scale = np.abs(columns).max(axis=0)
        coefficients = np.zeros(basis.shape[1], LONG)
        for _ in range(2):  # the second iteration refines the solution in long double
            rest = (target - basis @ coefficients) * weight * np.sqrt(lawson)
            step = np.linalg.lstsq((columns / scale).astype(float), rest.astype(float), rcond=None)[0]
            coefficients = coefficients + step / scale
        error = np.abs((target - basis @ coefficients) * weight)
        best = min(best, (error.max(), coefficients), key=lambda pair: pair[0])
        lawson *= np.maximum(error.astype(float), 1e-30)
        lawson /= lawson.sum()
    return best[1]


def fit(
    name: str, function: Function, weight: Function, low: float, high: float, terms: int, nodes: int = 2000
) -> None:
    """Prints the coefficients of the polynomial that approximates `function` on [low, high]."""
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    t = ((low + high) / 2 + (high - low) / 2 * np.cos(angle)).astype(LONG)
    target, weights = function(t), weight(t)
    done = []
    for order in range(terms):
        rest = target - sum((LONG(c) * t**i for i, c in enumerate(done)), 0 * t)
        basis = np.stack([t**i for i in range(order, terms)], 1)
        done.append(float(np.float32(solve(basis, rest, weights)[0])))
    error = np.abs(weights * (sum(LONG(c) * t**i for i, c in enumerate(done)) - target)).max()
    print(f"{name:6} {float(error):.1e}  " + ", ".join(f"{c:.9g}" for c in done))


def series(coefficient: Callable[[int], Any], terms: int = 24) -> Function:
    """Returns the power series with these coefficients."""
    return lambda t: sum((LONG(coefficient(i)) * t**i for i in range(terms)), 0 * t)


def root(function: Function) -> Function:
    """Returns the weight s * sqrt(s) / f(sqrt(s)), for the relative error of f(x) = x + x s q(s), s = x^2."""
    return lambda s: s * np.sqrt(s) / function(np.sqrt(s))


def odd(function: Function, start: Function) -> Function:
    """Returns q(s) for f(x) = x + x s q(s), s = x^2. `start` computes it near 0."""
    return lambda s: np.where(s < 1e-4, start(s), (function(np.sqrt(s)) / np.sqrt(s) - 1) / s)


def log_rest(f: np.ndarray) -> np.ndarray:
    """Returns q(f) for log(1 + f) = f - f^2 / 2 + f^3 q(f)."""
    near = series(lambda i: LONG(-1) ** i / (i + 3))(f)
    return np.where(np.abs(f) < 0.05, near, (np.log1p(f) - f + f * f / 2) / f**3)


def log1p_rest(t: np.ndarray) -> np.ndarray:
    """Returns q(t) for log1p(t) = t + t^2 q(t)."""
    near = series(lambda i: LONG(-1) ** (i + 1) / (i + 2), 40)(t)
    return np.where(t < 0.05, near, (np.log1p(t) / t - 1) / t)


def table(function: Function, places: int, step: float, terms: int) -> None:
    """Prints the tables of an odd function that converges to 1 (Saturating.cpp), a row per coefficient.

    A column has the coefficients of a polynomial in the distance d to one multiple of `step`.
    """
    half, last, towards_one = LONG(step / 2), places - 1, 2.4e-8  # the last segment ends at 1, rounded to float32
    rows = []
    for place in range(places):
        angle = (np.arange(2000) + 0.5) * np.pi / 2000
        d = (half * np.cos(angle)).astype(LONG)
        d = np.abs(d) + LONG(1e-6) if place == 0 else d
        exact = np.array([LONG(function(float(v))) for v in place * step + d])
        # at 0, the kernel adds d itself to the polynomial
        target = exact - d if place == 0 else exact
        target = target + LONG(towards_one) * ((d + half) / (2 * half)) ** 4 if place == last else target
        done = [0.0] if place == 0 else []
        while len(done) < terms:
            rest = target - sum((LONG(c) * d**i for i, c in enumerate(done)), 0 * d)
            basis = np.stack([d**i for i in range(len(done), terms)], 1)
            done.append(float(np.float32(solve(basis, rest, 1 / exact)[0])))
        rows.append(done)
    for power in range(terms):
        print(f"{function.__name__} {step} d^{power}  " + ", ".join(f"{row[power]:.9g}" for row in rows))


def main() -> None:
    """Prints the coefficients of all functions."""
    eighth, quarter = math.tan(math.pi / 8) ** 2 * 1.0001, (math.pi / 4 * 1.0001) ** 2
    fit("sin", series(lambda i: (-1) ** (i + 1) / math.factorial(2 * i + 3)), root(np.sin), 1e-12, quarter, 3)
    fit(
        "cos",
        series(lambda i: (-1) ** i / math.factorial(2 * i + 4)),
        lambda s: s * s / np.cos(np.sqrt(s)),
        1e-12,
        quarter,
        3,
    )
    fit("log", log_rest, lambda f: np.abs(f**3 / np.log1p(f)), 0.5**0.5 - 1, 2**0.5 - 1, 8)
    fit("log1p", log1p_rest, lambda t: t * t / np.log1p(t), 1e-9, 1, 9)
    exp_rest, exp_weight = series(lambda i: 1 / math.factorial(i + 2), 20), lambda r: r * r / np.exp(r)
    fit("exp", exp_rest, exp_weight, -math.log(2) / 2, math.log(2) / 2, 5)
    fit("exp", exp_rest, exp_weight, -math.log(2) / 2, math.log(2), 6)
    exp2_rest = series(lambda i: LONG(math.log(2)) ** (i + 1) / math.factorial(i + 1))
    fit("exp2", exp2_rest, lambda r: np.abs(r) / np.exp2(r), -0.5, 1, 7)
    fit("asin", odd(np.arcsin, lambda s: LONG(1) / 6 + s * 3 / 40 + s * s * 15 / 336), root(np.arcsin), 1e-12, 0.25, 5)
    fit("atan", series(lambda i: (-1) ** (i + 1) / (2 * i + 3)), root(np.arctan), 1e-12, eighth, 5)
    table(math.erf, 16, 1 / 4, 6)
    table(math.erf, 8, 67 / 128, 8)
    table(math.tanh, 16, 75 / 128, 8)
    fit("sinh", series(lambda i: 1 / math.factorial(2 * i + 3)), root(np.sinh), 1e-12, 1, 4)


if __name__ == "__main__":
    main()

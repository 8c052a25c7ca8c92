# SPDX-License-Identifier: Apache-2.0
"""Computes the error of results relative to torch's, and decides whether rounding explains the
error. Needs no torch."""

from __future__ import annotations

import math

import numpy as np

# Results of an export are right if their error, relative to the largest element of an output, is at
# most this bound.
BOUND = 1e-4
# hewn's error is attributed to rounding if it is at most OTHERS times onnxruntime's error, or at
# most SPREADS times the error of torch with perturbed weights.
OTHERS, SPREADS = 4, 16


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """Returns the largest difference of two arrays relative to the largest element of `want`. For
    integers and bools, returns the fraction of elements that differ. Returns infinity if the types
    or shapes differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return math.inf
    if not want.size or np.array_equal(got, want):
        return 0.0
    if not np.issubdtype(want.dtype, np.floating):
        return float(np.mean(got != want))
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not np.isfinite(np.where(same, 0, a)).all():
        return math.inf
    finite = np.abs(b[np.isfinite(b)])
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0, np.abs(a - b))
    return float(off.max() / max(finite.max(initial=0), 1e-30))


def error(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    """Returns the largest `difference` over all outputs, or infinity if the number of outputs
    differs."""
    if len(got) != len(want):
        return math.inf
    return max((difference(a, b) for a, b in zip(got, want)), default=0.0)


def verdict(hewn: float, onnxruntime: float | None, between, spread) -> str:
    """Returns 'right', 'export differs', 'rounding decides' or 'wrong'. `between` returns the
    difference between hewn and onnxruntime. `spread` returns the difference between torch and torch
    with weights changed by a rounding error. Both functions are called only if hewn's error exceeds
    BOUND."""
    if hewn <= BOUND:
        return "right"
    if onnxruntime is not None and onnxruntime > BOUND and between() <= BOUND:
        # Both engines, hewn and onnxruntime, compute the same results from the ONNX file, so the
        # exported file differs from the torch module.
        return "export differs"
    if onnxruntime is not None and math.isfinite(hewn) and hewn <= OTHERS * onnxruntime:
        return "rounding decides"
    return "rounding decides" if hewn <= SPREADS * spread() else "wrong"

# SPDX-License-Identifier: Apache-2.0
"""How far results are from torch's, and whether that is what rounding makes of them. Needs no torch."""

from __future__ import annotations

import math

import numpy as np

# Right without another question: this much of an output's largest element.
BOUND = 1e-4
# What is further off is decided by rounding if onnxruntime, or torch itself with its weights moved by a rounding, is nearly as far off.
OTHERS, SPREADS = 4, 16


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """The largest, of the largest element; of integers and bools the part that differs; infinite where types or shapes differ."""
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
    """Over all outputs; infinite where there are others than there should be."""
    if len(got) != len(want):
        return math.inf
    return max((difference(a, b) for a, b in zip(got, want)), default=0.0)


def verdict(hewn: float, onnxruntime: float | None, between, spread) -> str:
    """'right', 'export differs', 'rounding decides' or 'wrong'. `between` is how far hewn is from onnxruntime, `spread` how far torch
    from itself with its weights moved; both are asked only where hewn is off."""
    if hewn <= BOUND:
        return "right"
    if onnxruntime is not None and onnxruntime > BOUND and between() <= BOUND:
        return "export differs"  # both run the same file, and it is not what torch ran
    if onnxruntime is not None and math.isfinite(hewn) and hewn <= OTHERS * onnxruntime:
        return "rounding decides"
    return "rounding decides" if hewn <= SPREADS * spread() else "wrong"

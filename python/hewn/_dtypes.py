# SPDX-License-Identifier: Apache-2.0
"""Conversion of DLPack types to numpy types."""

from __future__ import annotations

import numpy as np


def dtype_of(code: int, bits: int) -> np.dtype:
    """Returns the numpy type of a DLPack type; strings have type object."""
    kinds = {0: "int", 1: "uint", 2: "float", 6: "bool"}
    if code == 3:
        return np.dtype(object)
    if code == 6:
        return np.dtype(np.bool_)
    if code in kinds and bits >= 8:
        return np.dtype(f"{kinds[code]}{bits}")
    import ml_dtypes  # imported here because only types that numpy lacks require it

    names = {4: "bfloat16", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz"}
    names |= {14: "float8_e8m0fnu", 17: "float4_e2m1fn"}
    if code in (0, 1):
        return np.dtype(getattr(ml_dtypes, f"{kinds[code]}{bits}"))
    return np.dtype(getattr(ml_dtypes, names[code]))

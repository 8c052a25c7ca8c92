# SPDX-License-Identifier: Apache-2.0
"""Conversion of DLPack types to numpy types, and of type names to DLPack types."""

from __future__ import annotations

import re

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
    name = f"{kinds[code]}{bits}" if code in (0, 1) else names[code]
    dtype: np.dtype = np.dtype(getattr(ml_dtypes, name))
    return dtype


# Type code and bits in DLPack of types in the description of an artifact (docs/reference/json.md).
# The names of all other types consist of the code's name and the bits.
_DLPACK = {
    "string": (3, 64),
    "bool": (6, 8),
    "bfloat16": (4, 16),
    "float8e4m3fn": (10, 8),
    "float8e4m3fnuz": (11, 8),
    "float8e5m2": (12, 8),
    "float8e5m2fnuz": (13, 8),
    "float8e8m0": (14, 8),
    "float4e2m1": (17, 4),
}


def dlpack_of(name: str) -> tuple[int, int]:
    """Returns the type code and the bits of a type in the description of an artifact.

    Raises ValueError for other names.
    """
    if name in _DLPACK:
        return _DLPACK[name]
    if not (found := re.fullmatch(r"(int|uint|float)(2|4|8|16|32|64)", name)):
        raise ValueError(f"unknown type {name!r}")
    return ("int", "uint", "float").index(found[1]), int(found[2])

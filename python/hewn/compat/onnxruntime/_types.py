# SPDX-License-Identifier: Apache-2.0
"""Element types: ONNX's numbers, NumPy's dtypes, and onnxruntime's names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Maps numbers of TensorProto.DataType to onnxruntime's name, and to the name in NumPy or ml_dtypes.
_TYPES = {
    1: ("float", "float32"),
    2: ("uint8", "uint8"),
    3: ("int8", "int8"),
    4: ("uint16", "uint16"),
    5: ("int16", "int16"),
    6: ("int32", "int32"),
    7: ("int64", "int64"),
    8: ("string", "object"),
    9: ("bool", "bool"),
    10: ("float16", "float16"),
    11: ("double", "float64"),
    12: ("uint32", "uint32"),
    13: ("uint64", "uint64"),
    14: ("complex64", "complex64"),
    15: ("complex128", "complex128"),
    16: ("bfloat16", "bfloat16"),
    17: ("float8e4m3fn", "float8_e4m3fn"),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz"),
    19: ("float8e5m2", "float8_e5m2"),
    20: ("float8e5m2fnuz", "float8_e5m2fnuz"),
    21: ("uint4", "uint4"),
    22: ("int4", "int4"),
    23: ("float4e2m1", "float4_e2m1fn"),
    24: ("float8e8m0", "float8_e8m0fnu"),
    25: ("uint2", "uint2"),
    26: ("int2", "int2"),
}
_WORDS = {word: code for code, (word, _) in _TYPES.items()}
_NAMES = {name: code for code, (_, name) in _TYPES.items()}
_SMALL = ("bfloat16", "float8", "float4", "int4", "uint4", "int2", "uint2")


def word_of(code: int) -> str:
    """Returns onnxruntime's name of an element type, given as ONNX's number: "float" for 1."""
    return _TYPES[code][0] if code in _TYPES else f"type {code}"


def dtype_of(code: int) -> np.dtype:
    """Returns the dtype of an element type, given as ONNX's number.

    Types that NumPy lacks are those of ml_dtypes.
    """
    if code not in _TYPES:
        raise RuntimeError(f"unknown element type {code}")
    name = _TYPES[code][1]
    if name.startswith(_SMALL):
        import ml_dtypes  # imported here because only these types require it

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, name))
        return dtype
    return np.dtype(name)


def code_of(dtype: npt.DTypeLike) -> int:
    """Returns ONNX's number of the element type for a dtype, or 0 if ONNX has no such type."""
    known = np.dtype(dtype)
    return _NAMES["object"] if known.kind in "SU" else _NAMES.get(known.name, 0)


def code_of_tensor(type_text: str) -> int:
    """Returns ONNX's number of the element type of a tensor type, which is given as text such as "tensor(float)".

    Returns 0 for types that are not tensors.
    """
    return _WORDS.get(type_text.removeprefix("tensor(").removesuffix(")"), 0)


def tensor_word(dtype: np.dtype) -> str:
    """Returns onnxruntime's name of the type of tensors with this dtype, such as "tensor(float)"."""
    code = code_of(dtype)
    return f"tensor({word_of(code) if code else dtype.name})"

# SPDX-License-Identifier: Apache-2.0
"""Conversion between torch tensors and numpy arrays that share memory.

Does not import torch: a caller with tensors has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# Names in ml_dtypes of torch types that numpy lacks. numpy's DLPack import rejects them, so they
# are passed as integers.
_NAMES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e8m0fnu": "float8_e8m0fnu",
}


def is_torch(value: object) -> bool:
    """Returns True for a torch tensor."""
    return (
        type(value) is not np.ndarray
        and (torch := sys.modules.get("torch")) is not None
        and isinstance(value, torch.Tensor)
    )


def array_of(value: Any) -> Any:
    """Returns a numpy array on the memory of a torch tensor, dense or not.

    Raises BufferError if it is not in host memory. Returns other objects unchanged.
    """
    if not is_torch(value):
        return value
    torch = sys.modules["torch"]
    if value.device.type != "cpu":
        raise BufferError(f"the tensor is on {value.device}: pass tensor.cpu()")
    name = str(value.dtype).removeprefix("torch.")
    value = value.detach()
    if name not in _NAMES:
        return value.numpy()
    import ml_dtypes

    size = value.element_size()
    return value.view({1: torch.uint8, 2: torch.uint16}[size]).numpy().view(getattr(ml_dtypes, _NAMES[name]))


def dtype_of(value: Any) -> np.dtype:
    """Returns the numpy dtype of a torch tensor. Raises BufferError if numpy has no such type."""
    name = str(value.dtype).removeprefix("torch.")
    try:
        if name not in _NAMES:
            return np.dtype(name)
        import ml_dtypes

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, _NAMES[name]))
        return dtype
    except (TypeError, AttributeError):
        raise BufferError(f"unsupported torch type {name}") from None


def torch_dtype(dtype: np.dtype) -> object:
    """Returns the torch type with the name of this numpy type, or None if torch has no such type."""
    return getattr(sys.modules["torch"], dtype.name, None)


def tensor_of(value: object) -> object:
    """Returns a torch tensor on the memory of an array; converts lists elementwise.

    Returns arrays of strings and of types that torch lacks unchanged.
    """
    torch = sys.modules["torch"]
    if isinstance(value, list):
        return [tensor_of(item) for item in value]
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    if value.dtype.isbuiltin == 1:
        return torch.from_numpy(value)
    dtype = getattr(torch, _NAMES.get(value.dtype.name, ""), None)
    return value if dtype is None else torch.from_numpy(value.view(f"u{value.itemsize}")).view(dtype)

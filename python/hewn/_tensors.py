# SPDX-License-Identifier: Apache-2.0
"""Tensors of torch's as arrays of numpy's and back, in the memory where they lie. Of torch nothing is imported: who gives tensors has it."""

from __future__ import annotations

import sys

import numpy as np

# What numpy itself lacks, by torch's name: what ml_dtypes calls it. DLPack's exchange with numpy refuses these; their bytes go as integers.
_NAMES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2": "float8_e5m2",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e8m0fnu": "float8_e8m0fnu",
}


def is_torch(value: object) -> bool:
    """Whether this is a tensor of torch's."""
    return (
        type(value) is not np.ndarray
        and (torch := sys.modules.get("torch")) is not None
        and isinstance(value, torch.Tensor)
    )


def array_of(value: object) -> object:
    """A tensor of torch's as an array over the same memory, dense or not; BufferError where it isn't in the host's. Others as they are."""
    if not is_torch(value):
        return value
    torch = sys.modules["torch"]
    if value.device.type != "cpu":
        raise BufferError(f"the tensor is on {value.device}: give tensor.cpu()")
    name = str(value.dtype).removeprefix("torch.")
    value = value.detach()
    if name not in _NAMES:
        return value.numpy()
    import ml_dtypes

    size = value.element_size()
    return value.view({1: torch.uint8, 2: torch.uint16}[size]).numpy().view(getattr(ml_dtypes, _NAMES[name]))


def dtype_of(value: object) -> np.dtype:
    """NumPy's word for the type of a tensor of torch's; BufferError where it has none."""
    name = str(value.dtype).removeprefix("torch.")
    try:
        if name not in _NAMES:
            return np.dtype(name)
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _NAMES[name]))
    except (TypeError, AttributeError):
        raise BufferError(f"elements of torch's type {name}") from None


def torch_dtype(dtype: np.dtype) -> object:
    """Torch's type of this name; None where it has none."""
    return getattr(sys.modules["torch"], dtype.name, None)


def tensor_of(value: object) -> object:
    """An array as a tensor of torch's over the same memory; lists of arrays item by item; what torch has no type for, and strings, stay."""
    torch = sys.modules["torch"]
    if isinstance(value, list):
        return [tensor_of(item) for item in value]
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    if value.dtype.isbuiltin == 1:
        return torch.from_numpy(value)
    dtype = getattr(torch, _NAMES.get(value.dtype.name, ""), None)
    return value if dtype is None else torch.from_numpy(value.view(f"u{value.itemsize}")).view(dtype)

# SPDX-License-Identifier: Apache-2.0
"""Tensors on a device, as inputs and outputs of models for a GPU: without copies, ordered by the caller's stream.

Tensors of torch and CuPy are accessed by their attributes, others by DLPack. Synchronization
follows DLPack (https://dmlc.github.io/dlpack/latest/python_spec.html): the producer of a tensor
gets the consumer's stream, and makes that stream wait for the work that writes the tensor.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import operator
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _dlpack, _tensors

_CUDA, _MANAGED = 2, 13  # kDLCUDA, kDLCUDAManaged
_NOT_DENSE = "the tensor on the device is not dense and row-major"
_LEGACY = 1  # CU_STREAM_LEGACY, the default stream of a device's primary context


@dataclasses.dataclass(frozen=True)
class DeviceTensor:
    """A dense tensor on a device. `held` owns the memory."""

    address: int
    device: int
    shape: tuple[int, ...]
    dtype: np.dtype
    held: object

    @property
    def handed(self) -> tuple[int, int, tuple[int, ...]]:
        """The tensor as the extension expects it: address, device number and shape."""
        return self.address, self.device, self.shape

    @property
    def size(self) -> int:
        """Size of the tensor in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def overlaps(self, other: DeviceTensor) -> bool:
        """Returns True if the tensors share memory."""
        apart = self.address + self.size <= other.address or other.address + other.size <= self.address
        return self.size > 0 and other.size > 0 and self.device == other.device and not apart


def is_on_device(value: Any) -> bool:
    """Returns True for a tensor in device memory."""
    if type(value) is np.ndarray:
        return False
    if _tensors.is_torch(value):
        return bool(value.device.type == "cuda")
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and where()[0] in (_CUDA, _MANAGED)


def handle_of(stream: object) -> int:
    """Returns the address of the driver's stream for `stream`.

    `stream` is a torch or CuPy stream, an object with `__cuda_stream__`, or an address.
    """
    if hasattr(stream, "__cuda_stream__"):  # CUDA Python's protocol: (version, address)
        found = stream.__cuda_stream__()[1]
    else:  # streams of torch and CuPy have the driver's stream as an attribute
        found = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    try:
        handle = operator.index(found)
    except TypeError:
        told = f"stream must be a torch or CuPy stream, or the address of a driver stream, got {type(stream).__name__}"
        raise TypeError(told) from None
    if not 0 <= handle < 1 << 64:
        raise ValueError(f"stream must be an address, got {handle}")
    return handle or _LEGACY


def stream_of(value: Any) -> int:
    """Returns the current stream of the tensor's package, or the device's default stream if it is unknown."""
    if _tensors.is_torch(value):
        return handle_of(sys.modules["torch"].cuda.current_stream(value.device))
    if is_cupy(value):
        return handle_of(sys.modules["cupy"].cuda.get_current_stream())
    return _LEGACY


def is_cupy(value: object) -> bool:
    """Returns True for a CuPy array."""
    return (cupy := sys.modules.get("cupy")) is not None and isinstance(value, cupy.ndarray)


def opened(value: object, stream: int, to_write: bool = False) -> DeviceTensor:
    """Returns a dense, row-major tensor on the device that `stream` can read or, if `to_write`, write.

    Copies torch and CuPy tensors that are not dense if they are only read. Raises BufferError if
    the tensor cannot be used.
    """
    if _tensors.is_torch(value):
        return _opened_torch(value, stream, to_write)
    # A dense copy of a tensor is freed when the run has been enqueued, before the run has read it.
    # CuPy's memory pool reuses the memory safely only within the same stream, so tensors of other
    # streams are not copied.
    if is_cupy(value) and not to_write and stream == stream_of(value):
        value = sys.modules["cupy"].ascontiguousarray(value)
    capsule, tensor, is_writable = _dlpack.opened(value, stream)
    dtype, shape = _dlpack.dtype_and_shape(tensor)
    if not _dlpack.is_dense(tensor):
        raise BufferError(_NOT_DENSE)
    if to_write and not is_writable:
        raise BufferError("the tensor on the device is read-only")
    if not tensor.data and math.prod(shape) > 0:
        raise BufferError("the tensor on the device has a null address")
    return DeviceTensor((tensor.data or 0) + tensor.byte_offset, tensor.device_id, shape, dtype, capsule)


def _opened_torch(value: Any, stream: int, to_write: bool) -> DeviceTensor:
    torch = sys.modules["torch"]
    value = value.detach()
    if to_write and not value.is_contiguous():
        raise BufferError(_NOT_DENSE)
    value = value.contiguous()
    current = torch.cuda.current_stream(value.device)
    if handle_of(current) != stream:
        other = torch.cuda.ExternalStream(stream, value.device)
        other.wait_stream(current)
        value.record_stream(other)  # keeps the memory until `other` has used it
    dtype = _tensors.dtype_of(value)
    return DeviceTensor(value.data_ptr(), value.device.index, tuple(value.shape), dtype, value)


def allocated(like: Any, stream: int, shape: tuple[int, ...], dtype: np.dtype) -> object:
    """Allocates a tensor on the device of `like` by the allocator of its package, to be written on `stream`.

    Returns None for packages without a supported allocator.
    """
    if _tensors.is_torch(like):
        torch = sys.modules["torch"]
        if (kind := _tensors.torch_dtype(dtype)) is None:
            return None
        with _torch_stream(like, stream):
            return torch.empty(shape, dtype=kind, device=like.device)
    if is_cupy(like) and dtype.isbuiltin == 1:
        cupy = sys.modules["cupy"]
        with like.device, cupy.cuda.ExternalStream(stream):
            return cupy.empty(shape, dtype)
    return None


def _torch_stream(like: Any, stream: int) -> contextlib.AbstractContextManager[Any]:
    torch = sys.modules["torch"]
    if handle_of(torch.cuda.current_stream(like.device)) == stream:
        return contextlib.nullcontext()
    other: contextlib.AbstractContextManager[Any] = torch.cuda.stream(torch.cuda.ExternalStream(stream, like.device))
    return other


def first_on_device(*mappings: Mapping[str, object] | None) -> object:
    """Returns the first tensor on a device, which determines the device and package of results, or None."""
    return next((value for mapping in mappings for value in (mapping or {}).values() if is_on_device(value)), None)

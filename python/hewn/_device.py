# SPDX-License-Identifier: Apache-2.0
"""Tensors on a device: torch's and CuPy's by their own attributes, others by DLPack, in and out of models for a GPU without a copy, in the order
of the caller's stream.

What waits for whom follows DLPack (https://dmlc.github.io/dlpack/latest/python_spec.html): who gives a tensor is told the stream that reads it,
and sees to it that the stream comes behind what writes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import operator
import sys
from collections.abc import Mapping

import numpy as np

from . import _dlpack, _tensors

_CUDA, _MANAGED = 2, 13  # kDLCUDA, kDLCUDAManaged
_NOT_DENSE = "a tensor on a device whose elements are not dense and row-major"
_LEGACY = 1  # CU_STREAM_LEGACY, the default stream of a device's primary context


@dataclasses.dataclass(frozen=True)
class DeviceTensor:
    """A dense tensor on a device. `held` is whose memory it is."""

    address: int
    device: int
    shape: tuple[int, ...]
    dtype: np.dtype
    held: object

    @property
    def handed(self) -> tuple[int, int, tuple[int, ...]]:
        """As the extension takes it."""
        return self.address, self.device, self.shape

    @property
    def size(self) -> int:
        """In bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def overlaps(self, other: DeviceTensor) -> bool:
        """Whether a byte is in both."""
        apart = self.address + self.size <= other.address or other.address + other.size <= self.address
        return self.size > 0 and other.size > 0 and self.device == other.device and not apart


def is_on_device(value: object) -> bool:
    """Whether this is a tensor in a device's memory."""
    if type(value) is np.ndarray:
        return False
    if _tensors.is_torch(value):
        return value.device.type == "cuda"
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and where()[0] in (_CUDA, _MANAGED)


def handle_of(stream: object) -> int:
    """The driver's stream of what stands for one: torch's and CuPy's, whatever has `__cuda_stream__`, or its address."""
    if hasattr(stream, "__cuda_stream__"):  # CUDA Python's protocol: (version, address)
        found = stream.__cuda_stream__()[1]
    else:  # torch's name for it, CuPy's
        found = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    try:
        handle = operator.index(found)
    except TypeError:
        told = f"stream is torch's, CuPy's, or the address of one of the driver's, not {type(stream).__name__}"
        raise TypeError(told) from None
    if not 0 <= handle < 1 << 64:
        raise ValueError(f"stream is an address, not {handle}")
    return handle or _LEGACY


def stream_of(value: object) -> int:
    """The stream on which the package of this tensor works now; the device's default stream where it does not say."""
    if _tensors.is_torch(value):
        return handle_of(sys.modules["torch"].cuda.current_stream(value.device))
    if is_cupy(value):
        return handle_of(sys.modules["cupy"].cuda.get_current_stream())
    return _LEGACY


def is_cupy(value: object) -> bool:
    """Whether this is an array of CuPy's."""
    return (cupy := sys.modules.get("cupy")) is not None and isinstance(value, cupy.ndarray)


def opened(value: object, stream: int, to_write: bool = False) -> DeviceTensor:
    """A tensor of the device, dense and row-major, which `stream` may read or, `to_write`, write: of torch's and CuPy's that are not dense a copy,
    to read. BufferError where it can't be."""
    if _tensors.is_torch(value):
        return _opened_torch(value, stream, to_write)
    # A copy's memory is given back when the run was only asked for: its pool knows that for its own stream alone.
    if is_cupy(value) and not to_write and stream == stream_of(value):
        value = sys.modules["cupy"].ascontiguousarray(value)
    capsule, tensor, is_writable = _dlpack.opened(value, stream)
    dtype, shape = _dlpack.dtype_and_shape(tensor)
    if not _dlpack.is_dense(tensor):
        raise BufferError(_NOT_DENSE)
    if to_write and not is_writable:
        raise BufferError("a tensor on a device that may not be written")
    if not tensor.data and math.prod(shape):
        raise BufferError("a tensor on a device whose memory is NULL")
    return DeviceTensor((tensor.data or 0) + tensor.byte_offset, tensor.device_id, shape, dtype, capsule)


def _opened_torch(value: object, stream: int, to_write: bool) -> DeviceTensor:
    torch = sys.modules["torch"]
    value = value.detach()
    if to_write and not value.is_contiguous():
        raise BufferError(_NOT_DENSE)
    value = value.contiguous()
    current = torch.cuda.current_stream(value.device)
    if handle_of(current) != stream:
        other = torch.cuda.ExternalStream(stream, value.device)
        other.wait_stream(current)
        value.record_stream(other)  # its memory is used there
    dtype = _tensors.dtype_of(value)
    return DeviceTensor(value.data_ptr(), value.device.index, tuple(value.shape), dtype, value)


def allocated(like: object, stream: int, shape: tuple[int, ...], dtype: np.dtype) -> object:
    """A new tensor beside `like`, by the allocator of its package, for what `stream` writes; None of packages that have no such door."""
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


def _torch_stream(like: object, stream: int) -> contextlib.AbstractContextManager:
    torch = sys.modules["torch"]
    if handle_of(torch.cuda.current_stream(like.device)) == stream:
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream, like.device))


def first_on_device(*mappings: Mapping[str, object] | None) -> object:
    """The first tensor on a device, which says where and in which package results are; None: there is none."""
    return next((value for mapping in mappings for value in (mapping or {}).values() if is_on_device(value)), None)

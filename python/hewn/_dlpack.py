# SPDX-License-Identifier: Apache-2.0
"""Tensors of other packages as NumPy arrays that share their memory, by DLPack.

Supports types that numpy.from_dlpack rejects (bfloat16, float8).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._dtypes import dtype_of

_CPU = 1  # kDLCPU
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class DLTensor(ctypes.Structure):
    """The struct DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)


def opened(value: Any, stream: int | None = None) -> tuple[object, DLTensor, bool]:
    """Returns the capsule, its tensor, and whether the tensor is writable.

    The capsule owns the memory until it is destroyed (it is not consumed). `stream` is the device
    stream that reads the tensor, or None if the host reads it.
    """
    asked = {} if stream is None else {"stream": stream}
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **asked)
    except TypeError:  # a producer without DLPack versions
        capsule = value.__dlpack__(**asked)
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if versioned.major > 1:
            raise BufferError(f"unsupported DLPack version {versioned.major}")
        return capsule, versioned.tensor, not versioned.flags & _READ_ONLY
    return capsule, _Managed.from_address(_pointer_of(capsule, b"dltensor")).tensor, True


def dtype_and_shape(tensor: DLTensor) -> tuple[np.dtype, tuple[int, ...]]:
    """Returns a tensor's NumPy dtype and its shape.

    Raises BufferError if NumPy has no such type.
    """
    if tensor.lanes != 1 or tensor.bits % 8:
        raise BufferError(f"unsupported elements of {tensor.lanes} x {tensor.bits} bits")
    try:
        dtype = dtype_of(tensor.code, tensor.bits)
    except (KeyError, TypeError, AttributeError):
        raise BufferError(f"unsupported DLPack type {tensor.code} with {tensor.bits} bits") from None
    return dtype, tuple(tensor.shape[: tensor.ndim])


def is_dense(tensor: DLTensor) -> bool:
    """Returns True if the tensor is contiguous in row-major order."""
    step = 1
    for d in reversed(range(tensor.ndim if tensor.strides else 0)):
        if tensor.shape[d] == 0:
            return True
        if tensor.shape[d] != 1 and tensor.strides[d] != step:
            return False
        step *= tensor.shape[d]
    return True


def array_of(value: Any) -> np.ndarray:
    """Returns an array on the memory of an object with `__dlpack__`, writable if the object is.

    Raises BufferError if the memory is not host memory or NumPy cannot represent the tensor.
    """
    if not hasattr(value, "__dlpack_device__"):
        raise BufferError(f"{type(value).__name__} has __dlpack__ but no __dlpack_device__")
    if (device := value.__dlpack_device__()[0]) != _CPU:
        raise BufferError(f"the tensor is on a device (DLPack type {int(device)}), not in host memory")
    capsule, tensor, is_writable = opened(value)
    dtype, shape = dtype_and_shape(tensor)
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = None
    reach = int(np.prod(shape))  # number of elements in memory from the tensor's first to its last
    if tensor.ndim and tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
        if min(strides) < 0:
            raise BufferError("negative strides are not supported")
        reach = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        strides = tuple(stride * dtype.itemsize for stride in strides)
    memory: Any = (ctypes.c_char * (reach * dtype.itemsize)).from_address(tensor.data + tensor.byte_offset)
    memory.capsule = capsule  # the array references `memory`, which references the capsule
    array = np.ndarray(shape, dtype, memory, strides=strides)
    array.flags.writeable = is_writable
    return array

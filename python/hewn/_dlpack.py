# SPDX-License-Identifier: Apache-2.0
"""Tensors of other packages as NumPy arrays on the same memory, by DLPack; also of types that numpy.from_dlpack refuses (bfloat16, float8)."""

from __future__ import annotations

import ctypes

import numpy as np

from ._dtypes import dtype_of

_CPU = 1  # kDLCPU
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class DLTensor(ctypes.Structure):
    """dlpack.h's struct of this name."""

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


def opened(value: object, stream: int | None = None) -> tuple[object, DLTensor, bool]:
    """The capsule, which holds the memory until it goes away itself (nobody takes it over), its tensor, and whether that may be written.
    `stream`: of the device, which reads it; None on the host."""
    asked = {} if stream is None else {"stream": stream}
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **asked)
    except TypeError:  # from before versions
        capsule = value.__dlpack__(**asked)
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if versioned.major > 1:
            raise BufferError(f"a tensor of DLPack {versioned.major}")
        return capsule, versioned.tensor, not versioned.flags & _READ_ONLY
    return capsule, _Managed.from_address(_pointer_of(capsule, b"dltensor")).tensor, True


def dtype_and_shape(tensor: DLTensor) -> tuple[np.dtype, tuple[int, ...]]:
    """NumPy's words for a tensor's type, BufferError where it has none, and its shape."""
    if tensor.lanes != 1 or tensor.bits % 8:
        raise BufferError(f"elements of {tensor.lanes} times {tensor.bits} bits")
    try:
        dtype = dtype_of(tensor.code, tensor.bits)
    except (KeyError, TypeError, AttributeError):
        raise BufferError(f"elements of DLPack's type {tensor.code} with {tensor.bits} bits") from None
    return dtype, tuple(tensor.shape[: tensor.ndim])


def is_dense(tensor: DLTensor) -> bool:
    """Whether its elements follow each other, the last dim's first."""
    step = 1
    for d in reversed(range(tensor.ndim if tensor.strides else 0)):
        if tensor.shape[d] == 0:
            return True
        if tensor.shape[d] != 1 and tensor.strides[d] != step:
            return False
        step *= tensor.shape[d]
    return True


def array_of(value: object) -> np.ndarray:
    """What has `__dlpack__` as an array on its memory, writable where the memory is. BufferError where it is not in the host's, or no array can be."""
    if not hasattr(value, "__dlpack_device__"):
        raise BufferError(f"{type(value).__name__} has __dlpack__ and no __dlpack_device__")
    if (device := value.__dlpack_device__()[0]) != _CPU:
        raise BufferError(f"a tensor on a device (DLPack's kind {int(device)}), not in the host's memory")
    capsule, tensor, is_writable = opened(value)
    dtype, shape = dtype_and_shape(tensor)
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = None
    reach = int(np.prod(shape))  # elements from the first to the last
    if tensor.ndim and tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
        if min(strides) < 0:
            raise BufferError("a stride below 0")
        reach = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        strides = tuple(stride * dtype.itemsize for stride in strides)
    memory = (ctypes.c_char * (reach * dtype.itemsize)).from_address(tensor.data + tensor.byte_offset)
    memory.capsule = capsule  # the array holds the memory, and that the capsule
    array = np.ndarray(shape, dtype, memory, strides=strides)
    array.flags.writeable = is_writable
    return array

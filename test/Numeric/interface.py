# SPDX-License-Identifier: Apache-2.0
"""ctypes declarations of DLPack's tensors and the runtime's structs (include/hewn/runtime.h), for
tests that call a library through the C API."""

import ctypes


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char_p)]


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("threads", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("arena", ctypes.c_void_p),
        ("arena_bytes", ctypes.c_size_t),
        ("allocate", ALLOCATE),
        ("release", RELEASE),
        ("allocator_user", ctypes.c_void_p),
        ("thread_hook", ctypes.c_void_p * 2),
        ("trace_hook", ctypes.c_void_p * 2),
        ("weights_path", ctypes.c_char_p),
        ("device", ctypes.c_int32),
        ("reserved_device", ctypes.c_uint32),
        ("device_stream", ctypes.c_void_p),
        ("device_context", ctypes.c_void_p),
        ("device_cache", ctypes.c_char_p),
        ("device_cache_bytes", ctypes.c_uint64),
        ("communicator", ctypes.c_void_p),
        ("device_hook", ctypes.c_void_p * 2),
    ]

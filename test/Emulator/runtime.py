# SPDX-License-Identifier: Apache-2.0
"""Calls a compiled model through its C interface as an application does, with memory and streams of
the emulated driver."""

import ctypes

import emulated
import interface
import numpy as np
import pytest
from interface import DLDataType, DLDevice, DLTensor, Options, Status

CPU, CUDA = 1, 2


class HostMemory:
    """An allocator that tracks its live allocations."""

    def __init__(self):
        self.live = {}
        self.functions = (interface.ALLOCATE(self.allocate), interface.RELEASE(self.release))

    def allocate(self, _, size, alignment):
        memory = ctypes.create_string_buffer(size + alignment)
        address = -(-ctypes.addressof(memory) // alignment) * alignment
        self.live[address] = memory
        return address

    def release(self, _, address):
        del self.live[address]


def driver(name, *types):
    function, found = ctypes.c_void_p(), ctypes.c_int()
    address = ctypes.byref(function)
    assert (
        emulated.DRIVER.cuGetProcAddress_v2(name.encode(), address, 12000, ctypes.c_uint64(0), ctypes.byref(found)) == 0
    )
    return ctypes.CFUNCTYPE(ctypes.c_int, *types)(function.value)


HANDLE, PLACE = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
ALLOCATE = driver("cuMemAlloc", ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t)
FREE = driver("cuMemFree", ctypes.c_uint64)
TO_DEVICE = driver("cuMemcpyHtoDAsync", ctypes.c_uint64, HANDLE, ctypes.c_size_t, HANDLE)
TO_HOST = driver("cuMemcpyDtoHAsync", HANDLE, ctypes.c_uint64, ctypes.c_size_t, HANDLE)
PUSH, POP = driver("cuCtxPushCurrent", HANDLE), driver("cuCtxPopCurrent", PLACE)
RETAIN, RELEASE = (
    driver("cuDevicePrimaryCtxRetain", PLACE, ctypes.c_int),
    driver("cuDevicePrimaryCtxRelease", ctypes.c_int),
)
DEVICE = driver("cuDeviceGet", ctypes.POINTER(ctypes.c_int), ctypes.c_int)
MAKE_STREAM, DROP_STREAM = driver("cuStreamCreate", PLACE, ctypes.c_uint), driver("cuStreamDestroy", HANDLE)
WAIT = driver("cuStreamSynchronize", HANDLE)
BEGIN_RECORDING = driver("cuStreamBeginCapture", HANDLE, ctypes.c_int)
END_RECORDING, DROP_GRAPH = driver("cuStreamEndCapture", HANDLE, PLACE), driver("cuGraphDestroy", HANDLE)


class InContext:
    """Makes a context of the driver current: a device's primary context, or a new one."""

    def __init__(self, number=0, own=False):
        self.number, self.own = number, own

    def __enter__(self):
        context, device = ctypes.c_void_p(), ctypes.c_int()
        if self.own:
            context.value = emulated.DRIVER.emulator_context_create(self.number)
        else:
            assert DEVICE(ctypes.byref(device), self.number) == 0
            assert RETAIN(ctypes.byref(context), device) == 0
        self.device, self.context = device, context.value
        assert PUSH(context) == 0
        return self

    def __exit__(self, *_):
        assert POP(ctypes.byref(ctypes.c_void_p())) == 0
        if self.own:
            emulated.DRIVER.emulator_context_destroy(ctypes.c_void_p(self.context))
        else:
            assert RELEASE(self.device) == 0

    def stream(self):
        made = ctypes.c_void_p()
        assert MAKE_STREAM(ctypes.byref(made), 1) == 0
        return made.value


class Memory:
    """An array on the current context's device, `offset` elements after the start of its
    allocation."""

    def __init__(self, array, offset=0):
        self.array = np.ascontiguousarray(array)
        self.start = ctypes.c_uint64()
        skipped = offset * self.array.itemsize
        assert ALLOCATE(ctypes.byref(self.start), max(self.array.nbytes, 1) + skipped) == 0
        self.address = ctypes.c_uint64(self.start.value + skipped)
        self.write(self.array)

    def write(self, array):
        assert TO_DEVICE(self.address, array.ctypes.data, array.nbytes, None) == 0

    def read(self):
        """Returns the contents of the device array, after the context's streams have completed
        their work."""
        got = np.empty_like(self.array)
        assert TO_HOST(got.ctypes.data, self.address, got.nbytes, None) == 0
        return got

    def free(self):
        assert FREE(self.start) == 0


def tensor(array, address=None, number=0):
    kind = DLDataType({"f": 2, "i": 0}[array.dtype.kind], array.dtype.itemsize * 8, 1)
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    device = DLDevice(CPU, 0) if address is None else DLDevice(CUDA, number)
    data = array.ctypes.data if address is None else address.value
    made = DLTensor(data, device, array.ndim, kind, shape, None, 0)
    made.array = array  # keeps the memory alive
    return made


def on_device(memory, number=0):
    return tensor(memory.array, memory.address, number)


class Loaded:
    """A model's library with a context. `status` is the result of the context's creation."""

    def __init__(self, path, host=None, **options):
        self.library = ctypes.CDLL(str(path))
        for name in ("create", "set_stream"):
            getattr(self.library, f"hewn_context_{name}").restype = Status
        self.library.hewn_run.restype = Status
        self.model = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.library, "hewn_model_main")))
        self.context = ctypes.c_void_p()
        self.options = Options(size=ctypes.sizeof(Options), **options)
        if host:
            self.options.allocate, self.options.release = host.functions
        place = ctypes.byref(self.context)
        self.status = self.library.hewn_context_create(self.model, ctypes.byref(self.options), place)

    def run(self, inputs, outputs):
        arrays = [(DLTensor * len(list_))(*list_) for list_ in (inputs, outputs)]
        return self.library.hewn_run(self.model, self.context, *arrays)

    def set_stream(self, stream):
        return self.library.hewn_context_set_stream(self.context, ctypes.c_void_p(stream))

    def close(self):
        self.library.hewn_context_destroy(self.context)

    def __enter__(self):
        if self.status.code != 0:
            message = self.status.message
            self.close()
            pytest.fail(message.decode())
        return self

    def __exit__(self, *_):
        self.close()

# SPDX-License-Identifier: Apache-2.0
"""The C interface with tensors that are on the device, as a program would call it."""

import ctypes
import pathlib
import sys

import emulated
import hewn
import numpy as np
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
from test_ptx import MODELS, model

CPU, CUDA = 1, 2


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


def driver(name, *types):
    function, found = ctypes.c_void_p(), ctypes.c_int()
    address = ctypes.byref(function)
    assert (
        emulated.DRIVER.cuGetProcAddress_v2(name.encode(), address, 12000, ctypes.c_uint64(0), ctypes.byref(found)) == 0
    )
    return ctypes.CFUNCTYPE(ctypes.c_int, *types)(function.value)


ALLOCATE = driver("cuMemAlloc", ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t)
FREE = driver("cuMemFree", ctypes.c_uint64)
TO_DEVICE = driver("cuMemcpyHtoDAsync", ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
TO_HOST = driver("cuMemcpyDtoHAsync", ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p)


class Memory:
    """An array on the device."""

    def __init__(self, array):
        self.array, self.address = np.ascontiguousarray(array), ctypes.c_uint64()
        assert ALLOCATE(ctypes.byref(self.address), self.array.nbytes) == 0
        assert TO_DEVICE(self.address, self.array.ctypes.data, self.array.nbytes, None) == 0

    def read(self):
        got = np.empty_like(self.array)
        assert TO_HOST(got.ctypes.data, self.address, got.nbytes, None) == 0
        return got

    def free(self):
        assert FREE(self.address) == 0


def tensor(array, address=None, number=0):
    kind = DLDataType({"f": 2, "i": 0}[array.dtype.kind], array.dtype.itemsize * 8, 1)
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    device = DLDevice(CPU, 0) if address is None else DLDevice(CUDA, number)
    return DLTensor(array.ctypes.data if address is None else address.value, device, array.ndim, kind, shape, None, 0)


class Loaded:
    """A library of a model, by its C interface."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.hewn_context_create.restype = self.library.hewn_run.restype = Status
        self.model = ctypes.addressof(ctypes.c_char.in_dll(self.library, "hewn_model_main"))
        self.context = ctypes.c_void_p()
        status = self.library.hewn_context_create(ctypes.c_void_p(self.model), None, ctypes.byref(self.context))
        assert status.code == 0, status.message

    def run(self, inputs, outputs):
        arrays = [(DLTensor * len(list_))(*list_) for list_ in (inputs, outputs)]
        return self.library.hewn_run(ctypes.c_void_p(self.model), self.context, *arrays)

    def close(self):
        self.library.hewn_context_destroy(self.context)


def on_device(built, inputs, wanted):
    """Outputs with inputs and outputs on the device, in other memory at each of three runs."""
    with emulated.compiled(built) as module:
        loaded = Loaded(module.artifact)
        for _ in range(3):
            given = [Memory(array) for array in inputs]
            made = [Memory(np.zeros_like(array)) for array in wanted]
            status = loaded.run([tensor(m.array, m.address) for m in given], [tensor(m.array, m.address) for m in made])
            assert status.code == 0, status.message
            for memory, array in zip(made, wanted):
                np.testing.assert_allclose(memory.read(), array, rtol=1e-5, atol=1e-5)
            for memory in given + made:
                memory.free()
        loaded.close()
        del module


def test_recorded_program():
    x = np.random.default_rng(0).standard_normal((16, 1024)).astype(np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    on_device(MODELS["softmax"], [x], [e / e.sum(-1, keepdims=True)])


def test_parts_of_the_host():
    """What the host computes reads inputs from the device, and its results go there."""
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Neg", ["x"], ["n"])]
    outputs = [("v", TensorProto.FLOAT), ("i", TensorProto.INT64), ("n", TensorProto.FLOAT)]
    parts = model(nodes, [("x", TensorProto.FLOAT, [20])], outputs, k=np.array([3]))
    x = np.random.default_rng(0).standard_normal(20).astype(np.float32)
    best = np.argsort(-x)[:3]
    on_device(parts, [x], [x[best], best.astype(np.int64), -x])


def test_another_device():
    with emulated.compiled(MODELS["softmax"]) as module:
        loaded = Loaded(module.artifact)
        x = np.zeros((16, 1024), np.float32)
        memory = Memory(x)
        status = loaded.run([tensor(x, memory.address, number=1)], [tensor(np.empty_like(x))])
        assert status.code == 1
        assert b"memory of device 0 expected, got that of device 1" in status.message
        memory.free()
        loaded.close()
        del module


def test_host_model_refuses_device_memory(tmp_path):
    module = hewn.compile(MODELS["softmax"], output=tmp_path / "model.so")
    x = np.zeros((16, 1024), np.float32)
    loaded, memory = Loaded(tmp_path / "model.so"), Memory(x)
    status = loaded.run([tensor(x, memory.address)], [tensor(np.empty_like(x))])
    assert status.code == 1 and b"DLPack device type 1 (CPU) expected, got 2" in status.message
    memory.free()
    loaded.close()
    del module

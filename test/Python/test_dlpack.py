# SPDX-License-Identifier: Apache-2.0
"""Tests tensors of other packages that a run accepts and returns by DLPack. The tests build the
tensors themselves, because NumPy does not export all of their types."""

import ctypes
import gc

import hewn
import models
import numpy as np
import pytest
from hewn import _dlpack
from onnx import TensorProto, helper

ml_dtypes = pytest.importorskip("ml_dtypes")
CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12, "float32": 2, "int64": 0, "bool": 6}
ONNX = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e5m2": 19, "float32": 1, "int64": 7, "bool": 9}
NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
alive = []  # keeps the structs of capsules without a destructor alive


class Exported:
    """Exports the memory of an array as other packages do, in versioned capsules or in the older
    unversioned ones."""

    def __init__(self, array, versioned=True, read_only=False, device=1, lanes=1, code=None):
        self.array, self.versioned, self.read_only, self.device, self.lanes = array, versioned, read_only, device, lanes
        self.code = CODES[array.dtype.name] if code is None else code

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("no options are known")
        a = self.array
        tensor = _dlpack.DLTensor(a.ctypes.data, self.device, 0, a.ndim, self.code, 8 * a.itemsize, self.lanes)
        shape = (ctypes.c_int64 * a.ndim)(*a.shape)
        strides = (ctypes.c_int64 * a.ndim)(*(s // a.itemsize for s in a.strides))
        tensor.shape, tensor.strides = shape, strides
        whole = _dlpack._Versioned(1, 0, 0, 0, self.read_only, tensor) if self.versioned else _dlpack._Managed(tensor)
        alive.append((a, shape, strides, whole))
        return NEW(ctypes.addressof(whole), b"dltensor_versioned" if self.versioned else b"dltensor", None)


def identity(name):
    node = helper.make_node("Identity", ["x"], ["y"])
    code = ONNX[name]
    return hewn.compile(models.model([node], [("x", code, ["n", "m"])], [("y", code, ["n", "m"])], opset=21))


def values(name):
    return np.arange(6).reshape(2, 3).astype(name if name in ("float32", "int64", "bool") else getattr(ml_dtypes, name))


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", CODES)
def test_tensors_go_in_and_out(name, versioned):
    x, module = values(name), identity(name)
    np.testing.assert_array_equal(module.run({"x": Exported(x, versioned)})["y"], x)
    np.testing.assert_array_equal(module.run({"x": Exported(x.T, versioned)})["y"], x.T)
    into = Exported(np.zeros_like(x), versioned)
    assert module.run({"x": x}, out={"y": into})["y"] is into
    np.testing.assert_array_equal(into.array, x)


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda x: Exported(x, read_only=True), "out 'y' must be dense, row-major and writable"),
        (lambda x: Exported(x.T), "out 'y' must be dense, row-major and writable"),
        (lambda x: Exported(x, device=2), "out 'y': the tensor is on a device"),
        (lambda x: Exported(x, lanes=2), "out 'y': unsupported elements of 2 x 32 bits"),
        (lambda x: Exported(x, code=99), "out 'y': unsupported DLPack type 99 with 32 bits"),
        (lambda x: Exported(x.view(np.int32), code=0), "out 'y' is int32, but the model returns float32"),
    ],
)
def test_tensors_that_can_not_be_written(make, why):
    x = values("float32")
    with pytest.raises(hewn.RunError, match=why):
        identity("float32").run({"x": x}, out={"y": make(np.zeros_like(x))})


def test_tensors_that_can_not_be_read():
    module, x = identity("float32"), values("float32")
    with pytest.raises(hewn.RunError, match="input 'x': the tensor is on a device"):
        module.run({"x": Exported(x, device=2)})
    with pytest.raises(hewn.RunError, match="input 'x' is int64, but the model expects float32"):
        module.run({"x": Exported(values("int64"))})
    np.testing.assert_array_equal(module.run({"x": Exported(x, read_only=True)})["y"], x)


def test_half_of_the_protocol():
    class Half:
        def __dlpack__(self, **options):
            raise AssertionError("asked for a capsule, and not where the memory is")

    with pytest.raises(hewn.RunError, match="Half has __dlpack__ but no __dlpack_device__"):
        identity("float32").run({"x": Half()})


def test_memory_is_shared_and_held():
    made = np.arange(4, dtype=np.float32)
    array = _dlpack.array_of(made)
    made[0] = 7
    assert array[0] == 7 and np.shares_memory(array, made)
    del made
    gc.collect()
    assert array.tolist() == [7, 1, 2, 3]
    assert _dlpack.array_of(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert _dlpack.array_of(np.array(3, np.float32)).shape == ()


def test_a_tensor_that_overlaps_an_input():
    x = values("float32")
    with pytest.raises(hewn.RunError, match="shares memory with an input"):
        identity("float32").run({"x": x}, out={"y": Exported(x)})


def test_bfloat16_by_name():
    """A bfloat16 output of one model is passed as an input to another one. torch's tensors are
    passed in this way, too."""
    x = values("bfloat16")
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    widen = hewn.compile(models.model([node], [("x", ONNX["bfloat16"], [2, 3])], [("y", 1, [2, 3])]))
    np.testing.assert_array_equal(widen(Exported(x)), x.astype(np.float32))

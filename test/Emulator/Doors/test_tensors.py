# SPDX-License-Identifier: Apache-2.0
"""Tests device tensors that Python passes by DLPack, and as torch and CuPy tensors. Stand-ins
replace torch and CuPy, because the tests run without a GPU."""

import contextlib
import ctypes
import gc
import pathlib
import sys
import types

import emulated
import hewn
import ml_dtypes
import numpy as np
import pytest
from hewn import _device, _dlpack
from onnx import TensorProto, helper

from runtime import DROP_STREAM, WAIT, InContext, Memory

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Target"))
from test_ptx import model

DRIVER = emulated.DRIVER
CODES = {"b": 6, "i": 0, "u": 1, "f": 2}
NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
ADD = model(
    [helper.make_node("Add", ["x", "w"], ["y"])],
    [("x", TensorProto.FLOAT, ["n", 64])],
    [("y", TensorProto.FLOAT)],
    w=np.ones((64,), np.float32),
)


class Exported:
    """A device array that a package exports by DLPack."""

    def __init__(self, array, strides=None, read_only=False, device=(2, 0)):
        self.memory, self.shape, self.dtype = Memory(array), array.shape, array.dtype
        self.strides, self.read_only, self.device, self.streams, self.kept = strides, read_only, device, [], []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        code = 4 if self.dtype == ml_dtypes.bfloat16 else CODES[self.dtype.kind]
        tensor = _dlpack.DLTensor(
            self.memory.address.value, *self.device, len(self.shape), code, 8 * self.dtype.itemsize, 1
        )
        tensor.shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        if self.strides:
            tensor.strides = (ctypes.c_int64 * len(self.shape))(*self.strides)
        whole = _dlpack._Versioned(1, 0, 0, 0, self.read_only, tensor)
        self.kept.append(whole)
        return NEW(ctypes.addressof(whole), b"dltensor_versioned", None)


def rows(n=3):
    return np.random.default_rng(n).standard_normal((n, 64)).astype(np.float32)


@contextlib.contextmanager
def adding():
    """Yields a module on the device that adds one to each element, and a function that creates
    streams in the device's context. Afterwards checks that no object of the driver is still
    alive."""
    before, streams = DRIVER.emulator_objects(), []

    def stream():
        streams.append(here.stream())
        return streams[-1]

    with InContext() as here:
        with emulated.compiled(ADD) as module:
            yield module, stream
            module.close()
            gc.collect()
        for made in streams:
            assert DROP_STREAM(made) == 0
    assert DRIVER.emulator_objects() == before


def freed(*exported):
    for one_of in exported:
        one_of.memory.free()


def test_in_and_out_on_a_stream():
    """Device inputs and outputs are not copied to the host, and `run` does not wait: the results
    are complete when the stream has executed the run."""
    with adding() as (module, make_stream):
        stream = make_stream()
        x, y = Exported(rows()), Exported(rows() * 0)
        copies = DRIVER.emulator_host_copies()
        for _ in range(3):
            assert module.run({"x": x}, out={"y": y}, stream=stream)["y"] is y
        assert DRIVER.emulator_waiting() > 0 and DRIVER.emulator_host_copies() == copies
        # the exporter gets `stream`, and orders its earlier work before it
        assert set(x.streams + y.streams) == {stream}
        assert WAIT(stream) == 0
        np.testing.assert_array_equal(y.memory.read(), rows() + 1)
        # A run with host arrays returns when it is complete.
        np.testing.assert_array_equal(module.run({"x": rows(5)})["y"], rows(5) + 1)
        # Tests runs with a device input and a host output, and with a host input and a device
        # output.
        np.testing.assert_array_equal(module.run({"x": x})["y"], rows() + 1)
        module.run({"x": rows() + 1}, out={"y": y})
        np.testing.assert_allclose(y.memory.read(), rows() + 2, rtol=1e-5, atol=1e-6)
        freed(x, y)


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: Exported(rows().astype(np.float64)), "input 'x' is float64, but the model expects float32"),
        (lambda: Exported(rows(), strides=(1, 3)), "input 'x': the tensor on the device is not dense"),
        (lambda: Exported(rows()[:, :5].copy()), "input 'x': shape [n, 64] expected, got [3, 5]"),
        (lambda: Exported(rows(), device=(2, 1)), "input 'x': memory of device 0 expected, got that of device 1"),
    ],
)
def test_inputs_that_are_refused(make, why):
    with adding() as (module, _):
        x = make()
        with pytest.raises(hewn.RunError) as refused:
            module.run({"x": x})
        assert why in str(refused.value), refused.value
        freed(x)


def test_outputs_that_are_refused():
    with adding() as (module, _):
        x = Exported(rows())
        for make, why in [
            (lambda: Exported(rows(), read_only=True), "out 'y': the tensor on the device is read-only"),
            (lambda: Exported(rows(), strides=(1, 3)), "out 'y': the tensor on the device is not dense"),
            (lambda: Exported(rows().astype(np.float64)), "out 'y' is float64, but the model returns float32"),
            (lambda: Exported(rows(4)), "output 'y': shape [3, 64] expected, got [4, 64]"),
        ]:
            y = make()
            with pytest.raises(hewn.RunError) as refused:
                module.run({"x": x}, out={"y": y})
            assert why in str(refused.value), refused.value
            freed(y)
        with pytest.raises(hewn.RunError, match="out 'y' shares memory with an input"):
            module.run({"x": x}, out={"y": x})
        with pytest.raises(TypeError, match="stream must be a torch or CuPy stream, or the address"):
            module.run({"x": x}, stream="this one")
        with pytest.raises(ValueError, match="stream must be an address"):
            module.run({"x": x}, stream=-1)
        with pytest.raises(hewn.RunError, match="no such outputs: z"):
            module.run({"x": x}, out={"z": x})
        freed(x)


def test_a_stream_for_the_host():
    with pytest.raises(hewn.RunError, match="stream requires a model for a GPU"):
        hewn.compile(ADD).run({"x": rows()}, stream=7)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.bool_])
def test_types(dtype):
    code = {np.float16: TensorProto.FLOAT16, ml_dtypes.bfloat16: TensorProto.BFLOAT16, np.bool_: TensorProto.BOOL}[
        dtype
    ]
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    built = model([node], [("x", code, [3, "n"])], [("y", code)])
    values = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    with InContext(), emulated.compiled(built) as module:
        x, y = Exported(values), Exported(np.zeros((4, 3), dtype))
        module.run({"x": x}, out={"y": y})
        np.testing.assert_array_equal(y.memory.read(), values.T)
        freed(x, y)
        del module


class Stream:
    def __init__(self, handle):
        self.cuda_stream, self.waited = handle, []

    def wait_stream(self, other):
        self.waited.append(other.cuda_stream)


class FakeTorch(types.ModuleType):
    """The part of torch that hewn uses."""

    def __init__(self, current):
        super().__init__("torch")
        self.current, self.external, self.copies = Stream(current), [], []
        self.cuda = types.SimpleNamespace(
            current_stream=lambda device: self.current, ExternalStream=self.make_stream, stream=self.on_stream
        )
        torch = self

        class Tensor:
            """A float32 tensor in device memory."""

            def __init__(self, array, contiguous=True):
                self.memory, self.shape, self.contiguously, self.recorded = Memory(array), array.shape, contiguous, []
                self.dtype, self.device = "torch.float32", types.SimpleNamespace(type="cuda", index=0)
                self.made_on = torch.current.cuda_stream

            def detach(self):
                return self

            def is_contiguous(self):
                return self.contiguously

            def contiguous(self):
                if self.contiguously:
                    return self
                torch.copies.append(Tensor(self.memory.array))
                return torch.copies[-1]

            def data_ptr(self):
                return self.memory.address.value

            def record_stream(self, stream):
                self.recorded.append(stream.cuda_stream)

        self.Tensor, self.float32 = Tensor, "torch.float32"

    def make_stream(self, handle, device):
        self.external.append(Stream(handle))
        return self.external[-1]

    @contextlib.contextmanager
    def on_stream(self, stream):
        before, self.current = self.current, stream
        yield
        self.current = before

    def empty(self, shape, dtype, device):
        assert dtype == self.float32 and device.index == 0
        return self.Tensor(np.full(shape, np.nan, np.float32))


def test_tensors_of_torch(monkeypatch):
    """Results are torch tensors on the device, allocated on the stream that torch's caching
    allocator expects."""
    with adding() as (module, make_stream):
        first, second = make_stream(), make_stream()
        torch = FakeTorch(first)
        monkeypatch.setitem(sys.modules, "torch", torch)
        for n in (3, 5):
            x = torch.Tensor(rows(n))
            y = module.run({"x": x})["y"]
            assert isinstance(y, torch.Tensor) and y.made_on == first and y.shape == (n, 64) and not x.recorded
            assert WAIT(first) == 0
            np.testing.assert_array_equal(y.memory.read(), rows(n) + 1)
            freed(x, y)
        # The run gets another stream than torch's current one. It starts after torch's work, and
        # torch does not reuse the memory before the run ends.
        x = torch.Tensor(rows())
        y = module.run({"x": x}, stream=Stream(second))["y"]
        assert x.recorded == [second] and y.made_on == second
        assert any(first in stream.waited for stream in torch.external)
        assert WAIT(second) == 0
        np.testing.assert_array_equal(y.memory.read(), rows() + 1)
        freed(y)
        # Tests a run for which the caller passes an output tensor, and an input that is not
        # contiguous.
        y, other = torch.Tensor(rows() * 0), torch.Tensor(rows(), contiguous=False)
        assert module.run({"x": other}, out={"y": y})["y"] is y
        assert WAIT(first) == 0
        np.testing.assert_array_equal(y.memory.read(), rows() + 1)
        with pytest.raises(hewn.RunError, match="out 'y': the tensor on the device is not dense"):
            module.run({"x": x}, out={"y": other})
        freed(x, y, other, *torch.copies)


class FakeCupy(types.ModuleType):
    """The part of CuPy that hewn uses."""

    def __init__(self, current):
        super().__init__("cupy")
        self.cuda = types.SimpleNamespace(
            get_current_stream=lambda: types.SimpleNamespace(ptr=current),
            ExternalStream=lambda handle: contextlib.nullcontext(),
        )

        class ndarray(Exported):
            def __init__(self, array):
                super().__init__(array)
                self.device_number, self.__class__.device = 0, contextlib.nullcontext()

            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, **options):
                self.device = (2, 0)
                try:
                    return super().__dlpack__(**options)
                finally:
                    self.device = contextlib.nullcontext()

        self.ndarray = ndarray

    def ascontiguousarray(self, value):
        return value

    def empty(self, shape, dtype):
        return self.ndarray(np.zeros(shape, dtype))


def test_arrays_of_cupy(monkeypatch):
    with adding() as (module, make_stream):
        stream = make_stream()
        cupy = FakeCupy(stream)
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        x = cupy.ndarray(rows())
        x.device = contextlib.nullcontext()
        y = module.run({"x": x})["y"]
        assert isinstance(y, cupy.ndarray)
        assert WAIT(stream) == 0
        np.testing.assert_array_equal(y.memory.read(), rows() + 1)
        freed(x, y)


def test_sizes_that_only_a_run_tells(monkeypatch):
    """Outputs with data-dependent sizes are returned as host arrays. The other outputs stay on the
    device."""
    nodes = [helper.make_node("NonZero", ["x"], ["z"]), helper.make_node("Neg", ["x"], ["n"])]
    built = model(nodes, [("x", TensorProto.FLOAT, ["m"])], [("z", TensorProto.INT64), ("n", TensorProto.FLOAT)])
    values = (np.arange(20) % 3 - 1).astype(np.float32)
    with InContext() as here, emulated.compiled(built) as module:
        torch = FakeTorch(here.stream())
        monkeypatch.setitem(sys.modules, "torch", torch)
        torch.from_numpy = lambda array: array
        x = torch.Tensor(values)
        made = module.run({"x": x})
        assert WAIT(torch.current.cuda_stream) == 0
        np.testing.assert_array_equal(made["z"], np.stack(values.nonzero()))
        np.testing.assert_array_equal(made["n"].memory.read(), -values)
        freed(x, made["n"])
        del module


def test_streams_by_their_names():
    protocol = type("Stream", (), {"__cuda_stream__": lambda self: (0, 11)})()
    assert [_device.handle_of(s) for s in (5, Stream(7), types.SimpleNamespace(ptr=9), protocol, 0)] == [5, 7, 9, 11, 1]

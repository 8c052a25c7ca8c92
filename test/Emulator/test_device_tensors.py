# SPDX-License-Identifier: Apache-2.0
"""The C interface with tensors that are on the device, as a program would call it."""

import pathlib
import sys

import emulated
import hewn
import numpy as np
from onnx import TensorProto, helper

from runtime import InContext, Loaded, Memory, on_device, tensor

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
from test_ptx import MODELS, model


def check(built, inputs, wanted, offset=0, moves=True):
    """Outputs with inputs and outputs on the device, in other memory at each of five runs, or (not `moves`) the same."""
    before = emulated.DRIVER.emulator_objects()
    with emulated.compiled(built) as module, InContext(), Loaded(module.artifact) as loaded:
        given, made = [], []
        for _ in range(5):
            if moves or not given:
                given += [Memory(array, offset) for array in inputs]
                made += [Memory(np.zeros_like(array), offset) for array in wanted]
            now = given[-len(inputs) :], made[-len(wanted) :]
            status = loaded.run(*([on_device(m) for m in list_] for list_ in now))
            assert status.code == 0, status.message
            for memory, array in zip(now[1], wanted):
                np.testing.assert_allclose(memory.read(), array, rtol=1e-5, atol=1e-5)
        for memory in given + made:
            memory.free()
        del module
    assert emulated.DRIVER.emulator_objects() == before


def softmax():
    x = np.random.default_rng(0).standard_normal((16, 1024)).astype(np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    return x, e / e.sum(-1, keepdims=True)


def test_recorded_program():
    x, want = softmax()
    check(MODELS["softmax"], [x], [want])
    check(MODELS["softmax"], [x], [want], offset=1)  # not where kernels may work on it
    check(MODELS["softmax"], [x], [want], moves=False)


def test_nothing_is_copied():
    """Tensors that stay where they are are used there; ones that move are copied, and recorded twice at most."""
    x, want = softmax()
    with emulated.compiled(MODELS["softmax"]) as module, InContext(), Loaded(module.artifact) as loaded:
        memory, result = Memory(x), Memory(want * 0)
        loaded.run([on_device(memory)], [on_device(result)])
        launches, allocations = emulated.DRIVER.emulator_launches(), emulated.DRIVER.emulator_allocations()
        memory.write(-x)
        for _ in range(3):
            loaded.run([on_device(memory)], [on_device(result)])
        assert emulated.DRIVER.emulator_launches() == launches
        np.testing.assert_allclose(result.read().sum(-1), 1, rtol=1e-5)
        others = [Memory(x) for _ in range(3)]
        for other in others:
            loaded.run([on_device(other)], [on_device(result)])
            np.testing.assert_allclose(result.read(), want, rtol=1e-5, atol=1e-7)
        assert emulated.DRIVER.emulator_launches() <= 2 * launches
        assert emulated.DRIVER.emulator_allocations() == allocations + len(others) + 2  # a buffer for each tensor
        for each in [memory, result, *others]:
            each.free()
        del module


def test_parts_of_the_host():
    """What the host computes reads inputs from the device, and its results go there."""
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Neg", ["x"], ["n"])]
    outputs = [("v", TensorProto.FLOAT), ("i", TensorProto.INT64), ("n", TensorProto.FLOAT)]
    parts = model(nodes, [("x", TensorProto.FLOAT, [20])], outputs, k=np.array([3]))
    x = np.random.default_rng(0).standard_normal(20).astype(np.float32)
    best = np.argsort(-x)[:3]
    check(parts, [x], [x[best], best.astype(np.int64), -x])


def test_another_device():
    x, _ = softmax()
    with emulated.compiled(MODELS["softmax"]) as module, Loaded(module.artifact) as loaded:
        with InContext():
            memory = Memory(x)
            status = loaded.run([on_device(memory, number=1)], [tensor(np.empty_like(x))])
            assert status.code == 1
            assert b"input 'x0': memory of device 0 expected, got that of device 1" in status.message
            memory.free()
        # What the tensor says is not what the driver says.
        with InContext(1):
            memory = Memory(x)
            status = loaded.run([on_device(memory)], [tensor(np.empty_like(x))])
            assert status.code == 1
            assert b"memory of device 0 expected, the driver says that it is that of device 1" in status.message
            status = loaded.run([tensor(x)], [on_device(memory)])
            assert b"output 'y': memory of device 0 expected, the driver says" in status.message
            memory.free()
        made = np.empty_like(x)
        claimed = tensor(x)
        claimed.device.type = 2
        status = loaded.run([claimed], [tensor(made)])
        assert status.code == 1 and b"the driver says that it is no device's" in status.message
        assert loaded.run([tensor(x)], [tensor(made)]).code == 0  # and the context is as good as before
        del module


def test_host_model_refuses_device_memory(tmp_path):
    module = hewn.compile(MODELS["softmax"], output=tmp_path / "model.so")
    x = np.zeros((16, 1024), np.float32)
    with Loaded(tmp_path / "model.so") as loaded, InContext():
        memory = Memory(x)
        status = loaded.run([on_device(memory)], [tensor(np.empty_like(x))])
        assert status.code == 1 and b"DLPack device type 1 (CPU) expected, got 2" in status.message
        memory.free()
        status = loaded.set_stream(1)
        assert status.code == 1 and b"the model runs on the host, which has no streams" in status.message
    del module

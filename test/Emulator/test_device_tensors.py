# SPDX-License-Identifier: Apache-2.0
"""Device tensors through the C interface, as an application uses them."""

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
    """Runs the library five times with device inputs and outputs, and checks the results. Each run
    uses new memory if `moves`, otherwise all runs use the same memory."""
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
    check(MODELS["softmax"], [x], [want], offset=1)  # an alignment that kernels do not accept
    check(MODELS["softmax"], [x], [want], moves=False)


def test_nothing_is_copied():
    """Kernels access device tensors in place if the addresses are those of the previous run.
    Tensors at new addresses are copied, and cause at most one more graph capture."""
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
        # The runtime has allocated two more device buffers than this test. A recorded graph reads
        # its input from one and writes its output to the other; the runtime copies between them and
        # the caller's tensors, whose addresses change.
        assert emulated.DRIVER.emulator_allocations() == allocations + len(others) + 2
        for each in [memory, result, *others]:
            each.free()
        del module


def test_parts_of_the_host():
    """Ops on the host read device inputs and write device outputs."""
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
        # Tests the error for a DLPack tensor that declares another device than the one that owns
        # its memory.
        with InContext(1):
            memory = Memory(x)
            status = loaded.run([on_device(memory)], [tensor(np.empty_like(x))])
            assert status.code == 1
            assert b"memory of device 0 expected, but the driver reports memory of device 1" in status.message
            status = loaded.run([tensor(x)], [on_device(memory)])
            assert b"output 'y': memory of device 0 expected, but the driver reports" in status.message
            memory.free()
        made = np.empty_like(x)
        claimed = tensor(x)
        claimed.device.type = 2
        status = loaded.run([claimed], [tensor(made)])
        assert status.code == 1 and b"but the driver reports that it is not device memory" in status.message
        # the context still works after the rejected call
        assert loaded.run([tensor(x)], [tensor(made)]).code == 0
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
        assert status.code == 1 and b"the model runs on the host: it has no stream" in status.message
    del module

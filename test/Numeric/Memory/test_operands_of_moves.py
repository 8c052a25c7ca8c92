# SPDX-License-Identifier: Apache-2.0
"""Indexing ops whose operand is computed in the same kernel. Vector lanes outside of the operand
must not read memory. An address that is equal for all lanes must not be read if no lane is inside.

Inputs end at an inaccessible page, or begin after one. Each target runs in its own process, because
an invalid read ends the process.
"""

import ctypes
import itertools
import mmap
import os
import subprocess
import sys

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v4", "x86-64-v3", "x86-64-v2"]
PAGE = mmap.PAGESIZE
PROTECT = ctypes.CDLL(None, use_errno=True).mprotect


def fenced(array, at_end):
    """Copies the array to memory that ends, or begins, at an inaccessible page."""
    size = -(-max(array.nbytes, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, size + PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    offset = size - array.nbytes if at_end else PAGE
    made = np.ndarray(array.shape, array.dtype, memory, offset)
    made[...] = array
    assert PROTECT(ctypes.c_void_p(start + (size if at_end else 0)), ctypes.c_size_t(PAGE), 0) == 0
    return made


def model(nodes, feeds, constants):
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in feeds.items()]
    initializers = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "moved", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def cases():
    """Yields (name, nodes, feeds, constants, expected result)."""
    node = helper.make_node
    for shape in [(3, 64), (36, 40), (7, 1), (1, 7), (4, 5, 1), (5, 3, 33), (2, 40, 3)]:
        rank = len(shape)
        for narrow in itertools.product([False, True], repeat=rank):
            factor = tuple(1 if one else dim for one, dim in zip(narrow, shape))
            x, w = numbers(*shape), numbers(*factor)
            for low, high in ((2, 1), (0, 3), (70, 2)):
                pads = {"p": [low] * rank + [high] * rank}
                want = np.pad(x * w, [(low, high)] * rank)
                padded = [node("Mul", ["x", "w"], ["m"]), node("Pad", ["m", "p"], ["y"])]
                yield f"pad {shape} {factor} {low}", padded, {"x": x, "w": w}, pads, want
    for shape in [(4, 5, 1), (40, 47, 1), (3, 1, 40), (9, 33)]:
        x, rank = numbers(*shape), len(shape)
        for axis in range(rank):
            nodes = [
                node("Relu", ["x"], ["r"]),
                node("Concat", ["x", "r"], ["c"], axis=axis),
                node("Pad", ["c", "p"], ["a"]),
                node("ReduceSum", ["a", "z"], ["y"], keepdims=0),
            ]
            low, high = [2, 1, 1][:rank], [0, 1, 1][:rank]
            joined = np.concatenate([x, np.maximum(x, 0)], axis)
            for summed in range(rank):
                want = np.pad(joined, list(zip(low, high))).sum(summed)
                yield f"sum {shape} {axis} {summed}", nodes, {"x": x}, {"p": low + high, "z": [summed]}, want


def check(target):
    for name, nodes, feeds, constants, want in cases():
        module = compiled(model(nodes, feeds, constants), target)
        for at_end in (True, False):
            print(name, flush=True)  # the last line names the case that ended the process
            got = module.run({key: fenced(array, at_end) for key, array in feeds.items()})["y"]
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        module.close()


@pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="on an emulated processor, inputs are in another process")
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_outside_is_read(target):
    if target != "host":
        try:
            hewn.compile(model([helper.make_node("Neg", ["x"], ["y"])], {"x": numbers(3)}, {}), target=target).close()
        except hewn.RunError as lacks:
            pytest.skip(str(lacks))
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, __file__, target], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, f"{done.stdout[-200:]}\n{done.stderr[-2000:]}"


if __name__ == "__main__":
    check(sys.argv[1])

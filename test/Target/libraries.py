# SPDX-License-Identifier: Apache-2.0
"""Builds small models that cover every kernel family, their libraries, and a C program that runs a
library on fixed inputs."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HEWN = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
ROOT = pathlib.Path(__file__).parents[2]
PORTABLE = ["x86-64-v4+vnni+bf16+amx", "x86-64-v4+vnni+bf16", "x86-64-v4", "x86-64-v3", "x86-64-v2"]


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)

    def weight(self, *shape):
        return self.constant((self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def __call__(self, op, *inputs, **attributes):
        results = [f"v{len(self.nodes)}_{i}" for i in range(attributes.pop("results", 1))]
        self.nodes.append(helper.make_node(op, inputs, results, **attributes))
        return results[0] if len(results) == 1 else results

    def model(self, inputs, *outputs):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def picture():
    """A model with convolutions (strided, depthwise, 1x1, grouped), pooling, and a GEMM."""
    g = Graph()
    x = g("Relu", g("Conv", "x", g.weight(24, 3, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2]))
    y = g("HardSwish", g("Conv", x, g.weight(24, 1, 5, 5), pads=[2, 2, 2, 2], group=24))
    x = g("Add", x, g("Conv", y, g.weight(24, 24, 1, 1)))
    x = g("Sigmoid", g("Conv", x, g.weight(40, 6, 3, 3), pads=[1, 1, 1, 1], group=4))
    x = g("Flatten", g("GlobalAveragePool", g("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])))
    y = g("Softmax", g("Gemm", x, g.weight(40, 70), g.weight(1, 70)))
    return g.model([("x", TensorProto.FLOAT, [1, 3, 24, 24])], y)


def text():
    """A model with attention over a dynamic length, normalizations, and elementwise functions."""
    g = Graph()
    x = g("LayerNormalization", g("Gather", g.weight(8, 48), "ids"), g.weight(48), g.weight(48))
    q, k, v = (g("MatMul", x, g.weight(48, 48)) for _ in range(3))
    scores = g("Softmax", g("MatMul", q, g("Transpose", k, perm=[0, 2, 1])))
    x = g("Add", g("MatMul", scores, v), x)
    x = g("Add", g("MatMul", g("Gelu", g("MatMul", x, g.weight(48, 130))), g.weight(130, 48)), x)
    return g.model([("ids", TensorProto.INT64, ["batch", "seq"])], g("Tanh", x), g("ReduceMean", g("Exp", x)))


def sequence():
    """A model with a recurrence of matrix-vector multiplications."""
    g = Graph()
    y = g("LSTM", "x", g.weight(1, 128, 20), g.weight(1, 128, 32), g.weight(1, 256), hidden_size=32, results=3)[0]
    return g.model([("x", TensorProto.FLOAT, [12, 1, 20])], g("MatMul", y, g.weight(32, 9)))


def layers():
    """A model with skinny GEMMs and a GEMV."""
    g = Graph()
    x = "x"
    for rows, columns in [(64, 200), (200, 96), (96, 10)]:
        x = g("Relu", g("Gemm", x, g.weight(rows, columns), g.weight(1, columns)))
    return g.model([("x", TensorProto.FLOAT, ["n", 64])], x)


def integers():
    """A model with an 8-bit integer GEMM whose result is scaled."""
    g = Graph()
    q, scale, zero = g("DynamicQuantizeLinear", "x", results=3)
    w = g.constant(g.random.integers(-127, 128, (64, 80), dtype=np.int8))
    y = g("Cast", g("MatMulInteger", q, w, zero), to=TensorProto.FLOAT)
    return g.model([("x", TensorProto.FLOAT, [7, 64])], g("Mul", y, scale))


MODELS = {f.__name__: f for f in (picture, text, sequence, layers, integers)}


def numbers(elements, floats):
    """Returns the numbers that run_library.c passes to an input of the model."""
    state, out = 1, []
    for _ in range(elements):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(np.float32(state >> 8) / np.float32(1 << 23) - 1 if floats else state >> 29)
    return np.array(out, np.float32 if floats else np.int64)


def feeds(model):
    """Returns values for all inputs of a model. Symbolic dims get the size 2."""
    out = {}
    for value in model.graph.input:
        shape = [d.dim_value or 2 for d in value.type.tensor_type.shape.dim]
        floats = value.type.tensor_type.elem_type == TensorProto.FLOAT
        out[value.name] = numbers(int(np.prod(shape)), floats).reshape(shape)
    return out


def build_runner(folder, compile_c=()):
    """Builds Inputs/run_library.c for the host, or with the cross compiler command `compile_c`."""
    program = folder / "run_library"
    compile_c = compile_c or [shutil.which("clang-22") or shutil.which("cc")]
    source = ROOT / "test/Target/Inputs/run_library.c"
    subprocess.run([*compile_c, "-O1", "-I", ROOT / "include", source, "-o", program, "-ldl"], check=True)
    return program


def compile_library(model, folder, name, *flags):
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    library = folder / f"lib{name}.so"
    subprocess.run([HEWN, "compile", path, "-o", library, *flags], check=True)
    return library


def run_emulated(emulator, runner, library, *variant):
    """Runs the library under the emulator command with the program of build_runner. Returns the exit
    status, the output, and the values of all outputs of the model (None after an error)."""
    out = library.with_name("out.bin")
    done = subprocess.run([*emulator, runner, library, "1", out, *variant], capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), np.fromfile(out, np.float32) if done.returncode == 0 else None


def members(path):
    """Returns the ELF files that an artifact (an object, a library or an archive) contains."""
    data = path.read_bytes()
    if not data.startswith(b"!<arch>\n"):
        return [data]
    found, at = [], 8
    while at < len(data):
        size = int(data[at + 48 : at + 58])
        found += [data[at + 60 : at + 60 + size]] if data[at + 60 :].startswith(b"\x7fELF") else []
        at += 60 + size + size % 2
    return found

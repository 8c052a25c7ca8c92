# SPDX-License-Identifier: Apache-2.0
"""Checks the undefined symbols of artifacts, for all element types and processors: only functions
of the C library are allowed.

If a processor has no instruction for a conversion, LLVM calls a function of the compiler's runtime
library (`__truncsfbf2`), which may be missing in the process that loads the artifact. The compiler
rejects such code (lib/Codegen/Emit/Calls.h). These tests check the artifacts.

Artifacts load on glibc 2.17 and newer, so each undefined symbol has a version of glibc 2.17 or older
(lib/Target/Linkers/GlibcSymbols.h). test/Install/test_roots.py runs an artifact with an old glibc.
"""

import ctypes
import itertools
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from libraries import HEWN
from onnx import TensorProto, helper

NM = shutil.which("llvm-nm-22") or "/usr/lib/llvm-22/bin/llvm-nm"
# Processors with different conversion instructions. One library has a variant for each.
TARGET = "portable,x86-64-v4+fp16"
# Shared objects of the C library, whose functions the compiled code and the runtime may call.
LIBC = [ctypes.CDLL(name) for name in ("libc.so.6", "libm.so.6")]
ROOT = pathlib.Path(__file__).resolve().parents[2]
# The dynamic loader exports these symbols, in all versions of glibc with the same symbol version.
# The second one is used on AArch64.
LOADER = {"__tls_get_addr", "__stack_chk_guard"}
FLOATS = ["DOUBLE", "FLOAT", "FLOAT16", "BFLOAT16"]
SMALL = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1", "FLOAT8E8M0"]
INTEGERS = ["INT64", "UINT64", "INT32", "UINT32", "INT16", "UINT8", "BOOL", "INT4"]


def model_of(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(
        nodes,
        "calls",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        list(initializers),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)


def casts():
    """Builds a model with every conversion in which at least one type is floating point, in both
    directions."""
    kinds = {name: getattr(TensorProto, name) for name in [*FLOATS, *SMALL, *INTEGERS]}
    inputs = [(f"x_{name}", kind, [37]) for name, kind in kinds.items()]
    nodes, outputs = [], []
    for a, b in itertools.permutations(kinds, 2):
        if (a in FLOATS) + (b in FLOATS) + (a in SMALL and b in SMALL) == 0 or {a, b} <= {"DOUBLE", "FLOAT"}:
            continue
        outputs.append((f"{a}_{b}", kinds[b]))
        nodes.append(helper.make_node("Cast", [f"x_{a}"], [outputs[-1][0]], to=kinds[b]))
    return model_of(nodes, inputs, outputs)


def ops(name):
    """Builds a model that applies every kernel family to values of a type, including selection,
    indexing and comparison."""
    kind = getattr(TensorProto, name)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    random = np.random.default_rng(0)
    nodes, weights = [], []

    def constant(*shape):
        values = random.standard_normal(shape).astype(dtype)
        weights.append(helper.make_tensor(f"w{len(weights)}", kind, shape, values.tobytes(), raw=True))
        return weights[-1].name

    def op(kind_of_op, *inputs, **attributes):
        nodes.append(helper.make_node(kind_of_op, inputs, [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    made = []
    for stride, groups in ((1, 1), (2, 1), (1, 6)):
        made.append(
            op(
                "Relu",
                op("Conv", "x", constant(6, 6 // groups, 3, 3), pads=[1] * 4, strides=[stride] * 2, group=groups),
            )
        )
    flat = op("Reshape", "x", "flat")
    product = op("MatMul", flat, constant(42, 19))
    made += [product, op("MatMul", product, constant(19, 1)), op("Gelu", product), op("Softmax", product)]
    made += [
        op("LayerNormalization", product, constant(19), constant(19)),
        op("ReduceMax", "x", "axes"),
        op("ReduceMean", "x", "axes"),
    ]
    made += [
        op("Attention", "q", "q", "q"),
        op("MaxPool", "x", kernel_shape=[2, 2]),
        op("AveragePool", "x", kernel_shape=[3, 3]),
    ]
    less = op("Less", "x", op("Neg", "x"))
    made += [
        op("Where", less, "x", op("Abs", "x")),
        op("Max", "x", "s"),
        op("Min", "x", "s"),
        op("Clip", "x", "s"),
        op("Sign", "x"),
    ]
    made += [
        op("Concat", "x", op("Transpose", "x", perm=[0, 1, 3, 2]), axis=1),
        op("Pad", "x", "pads"),
        op("CumSum", "x", "axis"),
    ]
    made += [
        op("Resize", "x", "", "scales", mode="cubic"),
        op("Gather", "x", "axis", axis=2),
        op("Mod", "x", "s", fmod=1),
    ]
    made += [
        op("Cast", op(f, op("Cast", "x", to=TensorProto.FLOAT)), to=kind) for f in ("Exp", "Erf", "Sin", "Tan", "Round")
    ]
    made += [op("Pow", "x", "s"), op("Tanh", op("Mul", "x", "s")), op("Expand", "s", "shape")]
    integers = {"flat": [6, 42], "axes": [2, 3], "pads": [0, 0, 1, 2, 0, 0, 3, 0], "shape": [4, 19], "axis": 1}
    for name, value in integers.items():
        value = np.array(value, np.int64)
        weights.append(helper.make_tensor(name, TensorProto.INT64, value.shape, value.tobytes(), raw=True))
    weights.append(helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 1.5]))
    inputs = [("x", kind, [1, 6, "h", 6]), ("s", kind, []), ("q", kind, [1, 2, "n", 16])]
    return model_of(nodes, inputs, [(name, kind) for name in made], weights)


MODELS = {"casts": casts, **{name.lower(): lambda name=name: ops(name) for name in FLOATS}}


def wanted(library):
    """Returns the undefined symbols of a library."""
    said = subprocess.run([NM, "-D", "-u", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in said.splitlines()}


@pytest.mark.parametrize("flags", [[], ["-O0"]], ids=["optimized", "O0"])
@pytest.mark.parametrize("name", MODELS)
def test_calls_c_alone(name, flags, tmp_path):
    (tmp_path / "m.onnx").write_bytes(MODELS[name]().SerializeToString())
    library = tmp_path / "libm.so"
    subprocess.run([HEWN, "compile", tmp_path / "m.onnx", "-o", library, f"--target={TARGET}", *flags], check=True)
    assert {name for name in wanted(library) if not any(hasattr(part, name) for part in LIBC)} == set()


def versioned(library):
    """Returns the undefined symbols of a library with their versions, or None if a symbol has no version."""
    said = subprocess.run([NM, "-D", "-u", library], check=True, capture_output=True, text=True).stdout
    pairs = [line.split() for line in said.splitlines()]
    return {pair[-1].split("@")[0]: pair[-1].partition("@")[2] or None for pair in pairs if pair[-2] == "U"}


def compile_ops(folder, target):
    (folder / "m.onnx").write_bytes(ops("FLOAT").SerializeToString())
    library = folder / "libm.so"
    subprocess.run([HEWN, "compile", folder / "m.onnx", "-o", library, f"--target={target}"], check=True)
    return library


def test_symbol_versions(tmp_path):
    """The versions exist in the C library of this machine, and are not newer than glibc 2.17."""
    found = versioned(compile_ops(tmp_path, TARGET))
    found = {name: version for name, version in found.items() if name not in LOADER}
    assert len(found) > 20 and "pthread_create" in found
    libc = ctypes.CDLL(None)
    libc.dlvsym.restype = ctypes.c_void_p
    for name, version in found.items():
        assert version is not None, f"{name} has no version"
        assert tuple(map(int, version.removeprefix("GLIBC_").split("."))) <= (2, 17), f"{name}@{version}"
        handles = [ctypes.c_void_p(part._handle) for part in LIBC]
        assert any(libc.dlvsym(handle, name.encode(), version.encode()) for handle in handles), f"{name}@{version}"


def test_symbol_versions_of_aarch64(tmp_path):
    if not list((pathlib.Path(HEWN).parents[1] / "lib").glob("aarch64-linux-gnu/libhewn_runtime.a")):
        pytest.skip("no runtime for AArch64 (libc6-dev-arm64-cross)")
    assert set(versioned(compile_ops(tmp_path, "aarch64")).values()) == {"GLIBC_2.17"}


def test_library_binds_when_loaded(tmp_path):
    """Without DF_BIND_NOW, a missing function ends the process at the first call."""
    library = compile_ops(tmp_path, TARGET)
    dynamic = subprocess.run([NM.replace("llvm-nm", "llvm-readelf"), "-d", library], capture_output=True, text=True)
    assert "BIND_NOW" in dynamic.stdout


@pytest.mark.parametrize("name", ["libhewn_runtime.a", "libhewn_image.a", "libhewn_regex.a"])
def test_runtime_has_versions(name):
    """GlibcSymbols.cpp has the version of each function that an archive of the runtime calls."""
    archive = pathlib.Path(HEWN).parents[1] / "lib" / name
    if not archive.exists():
        pytest.skip(f"this build has no {name}")
    source = (ROOT / "lib/Target/Linkers/GlibcSymbols.cpp").read_text()
    known = {word for text in re.findall(r'"([^"]*)"', source) for word in text.split()}
    said = subprocess.run([NM, "-u", archive], check=True, capture_output=True, text=True).stdout
    called = {line.split()[1] for line in said.splitlines() if line.strip().startswith("U ")}
    called = {name for name in called if not name.startswith("hewn_")} - {"_GLOBAL_OFFSET_TABLE_", *LOADER}
    assert len(called) > 10 and called - known == set()

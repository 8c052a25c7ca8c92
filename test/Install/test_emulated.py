# SPDX-License-Identifier: Apache-2.0
"""Installs the wheels for AArch64 (tools/release --aarch64) and runs them under qemu-user, with the
Python of root file systems of Debian (roots.py).

The emulator only runs single processes: a program cannot start another one for AArch64. So the tests
call bin/hewn directly, and compile and run models in the process of Python.

Wheels are those of HEWN_DIST (default: dist/)."""

import ctypes
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import roots
from onnx import TensorProto, helper
from PIL import Image

HERE = pathlib.Path(__file__).parent
TREE = HERE.parents[1]
DIST = pathlib.Path(os.environ.get("HEWN_DIST", TREE / "dist"))
VERSION = re.search(r"project\(hewn VERSION ([0-9.]+)", (TREE / "CMakeLists.txt").read_text())[1]
EM_AARCH64 = 183
MOST_BYTES = 40e6  # as in wheel.py
# Root -> glibc and Python versions, and the wheel that pip installs there.
WHEELS = {
    "bookworm-arm64": ("2.36", "3.11", "cp311-cp311"),
    "trixie-arm64": ("2.41", "3.13", "cp312-abi3"),
}


def unavailable():
    return roots.unavailable() or (None if shutil.which(roots.QEMU) else f"{roots.QEMU} is not installed")


pytestmark = pytest.mark.skipif(bool(unavailable()), reason=str(unavailable()))

# Compiles and runs a matmul, an image decoder and a regular expression. The latter two are runtime
# libraries with third-party code.
USE = """
import platform, sys
import numpy as np
import hewn
assert platform.machine() == "aarch64"
folder = sys.argv[1]
given = np.load(folder + "/given.npz")
dense = hewn.compile(folder + "/dense.onnx")
np.testing.assert_allclose(dense(given["x"], given["w"]), np.maximum(given["x"] @ given["w"], 0), rtol=1e-4, atol=1e-5)
decode = hewn.compile(folder + "/decode.onnx")
np.testing.assert_array_equal(decode(given["png"]), given["pixels"])
assert np.abs(decode(given["jpeg"]).astype(int) - given["pixels"]).max() < 40
match = hewn.compile(folder + "/match.onnx")
assert list(match(np.array(["aab", "b", "abbb"]))) == [True, False, True]
print("computes the right values")
"""


def save(path, node, inputs, output):
    values = [helper.make_tensor_value_info(*value) for value in (*inputs, output)]
    nodes = node if isinstance(node, list) else [node]
    graph = helper.make_graph(nodes, "net", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    path.write_bytes(model.SerializeToString())


def write_models(folder):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    operands = [("x", TensorProto.FLOAT, [37, 64]), ("w", TensorProto.FLOAT, [64, 50])]
    save(folder / "dense.onnx", nodes, operands, ("y", TensorProto.FLOAT, [37, 50]))
    pixels = ("y", TensorProto.UINT8, ["h", "w", 3])
    save(
        folder / "decode.onnx",
        helper.make_node("ImageDecoder", ["x"], ["y"]),
        [("x", TensorProto.UINT8, ["n"])],
        pixels,
    )
    match = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+b*")
    save(folder / "match.onnx", match, [("x", TensorProto.STRING, ["n"])], ("y", TensorProto.BOOL, ["n"]))
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[0:24, 0:32]
    image = np.stack([rows * 8, columns * 6, rows + columns], axis=-1).astype(np.uint8)
    coded = {}
    for kind in ("png", "jpeg"):
        file = io.BytesIO()
        Image.fromarray(image).save(file, kind)
        coded[kind] = np.frombuffer(file.getvalue(), np.uint8)
    x, w = random.standard_normal((37, 64), np.float32), random.standard_normal((64, 50), np.float32)
    np.savez(folder / "given.npz", x=x, w=w, pixels=image, **coded)


def wheel_of(tag):
    wheels = sorted(DIST.glob(f"hewn_compiler-{VERSION}-{tag}-manylinux_2_28_aarch64.whl"))
    if not wheels:
        pytest.skip(f"no wheel {tag} for AArch64 in {DIST}: run tools/release --aarch64")
    return wheels[-1]


def install(folder, python, *packages):
    """Unpacks wheels for AArch64 and the Python version `python` into a folder."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", folder]
    pip += ["--only-binary=:all:", "--implementation=cp", "--python-version", python]
    for glibc in (27, 28):
        pip += ["--platform", f"manylinux_2_{glibc}_aarch64"]
    subprocess.run([*pip, *packages], check=True)


@pytest.mark.parametrize("suite", WHEELS)
def test_wheel(suite, tmp_path):
    glibc, version, tag = WHEELS[suite]
    wheel = wheel_of(tag)
    assert wheel.stat().st_size <= MOST_BYTES
    root = roots.root(suite)
    assert f"version {glibc}" in roots.emulated(root, next(root.glob("usr/lib/aarch64-linux-gnu/libc.so.6")))
    packages = tmp_path / "packages"
    install(packages, version, wheel, "numpy")
    binaries = [*packages.glob("hewn/**/*.so"), *packages.glob("hewn/bin/*")]
    assert len(binaries) >= 4
    for file in binaries:
        assert int.from_bytes(file.read_bytes()[18:20], "little") == EM_AARCH64, file

    def python(*arguments):
        env = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "LD_BIND_NOW": "1"}
        return roots.emulated(root, root / "usr/bin/python3", *arguments, env=env)

    assert python("--version").startswith(f"Python {version}.")
    write_models(tmp_path)
    (tmp_path / "use.py").write_text(USE)
    assert "computes the right values" in python(tmp_path / "use.py", tmp_path)
    said = python("-m", "hewn", "demo")
    print(said)
    assert "on aarch64" in said and re.search(r"3 \(\d+\.\d%\) +7 \(\d+\.\d%\) +8 \(\d+\.\d%\)", said)


def test_commands_with_glibc_2_31(tmp_path):
    """The commands of the wheel on Debian 11, whose Python is too old for the wheel."""
    packages = tmp_path / "packages"
    install(packages, "3.13", wheel_of("cp312-abi3"))
    root = roots.root("bullseye-arm64")

    def hewn(*arguments):
        return roots.emulated(root, packages / "hewn/bin/hewn", *arguments, env={"LD_BIND_NOW": "1"})

    assert "version 2.31" in roots.emulated(root, next(root.glob("usr/lib/aarch64-linux-gnu/libc.so.6")))
    assert VERSION in hewn("--version")
    write_models(tmp_path)
    given = np.load(tmp_path / "given.npz")
    for name in ("x", "w"):
        np.save(tmp_path / f"{name}.npy", given[name])
    library = tmp_path / "libdense.so"
    hewn("compile", tmp_path / "dense.onnx", "-o", library)
    assert json.loads(hewn("info", library, "--json"))
    inputs = [f"--input={name}={tmp_path}/{name}.npy" for name in ("x", "w")]
    hewn("run", library, *inputs, "--output", tmp_path / "y.npy")
    wanted = np.maximum(given["x"] @ given["w"], 0)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted, rtol=1e-4, atol=1e-5)
    # The wheel also has the runtime for x86-64: this machine loads what it compiles.
    hewn("compile", tmp_path / "dense.onnx", "-o", tmp_path / "libx86.so", "--target=x86-64-v2")
    assert ctypes.CDLL(str(tmp_path / "libx86.so")).hewn_run

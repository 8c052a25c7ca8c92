# SPDX-License-Identifier: Apache-2.0
"""Runs artifacts and wheels in root file systems of Debian releases (roots.py).

Artifacts run on Debian 11 (glibc 2.31), the oldest release that Debian's package archive has. Before
glibc 2.34, pthread_create, dlopen and dladdr are not in libc.so.6, so that the artifact has to name
the libraries that have them.

Wheels are those of HEWN_DIST (default: dist/, from tools/release). Each root has its own Python; in
Debian 11, a CPython that is built there once."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import roots
from onnx import TensorProto, helper

HEWN = shutil.which("hewn", path=os.environ.get("HEWN_TOOLS"))
HERE = pathlib.Path(__file__).parent
TREE = HERE.parents[1]
DLPACK = pathlib.Path("/usr/include/dlpack")

DIST = pathlib.Path(os.environ.get("HEWN_DIST", TREE / "dist"))
VERSION = re.search(r"project\(hewn VERSION ([0-9.]+)", (TREE / "CMakeLists.txt").read_text())[1]
# Release -> glibc and Python versions, and the wheel that pip installs there.
WHEELS = {
    "bullseye": ("2.31", "3.13", "cp312-abi3"),
    "bookworm": ("2.36", "3.11", "cp311-cp311"),
    "trixie": ("2.41", "3.13", "cp312-abi3"),
    "forky": ("2.43", "3.14", "cp312-abi3"),
}

pytestmark = pytest.mark.skipif(bool(roots.unavailable()), reason=str(roots.unavailable()))

THREADS = """
#include "net.h"
#include <stdio.h>
int main(void) {
  static float x[512 * 512], w[512 * 512], y[512 * 512];
  hewn_context_options options = {.size = sizeof(options), .threads = 2};
  hewn_context *context;
  for (int i = 0; i < 512 * 512; ++i)
    x[i] = 1, w[i] = 2;
  hewn_status status = hewn_context_create(&net, &options, &context);
  if (status.code == HEWN_OK)
    status = net_run(context, x, w, y);
  printf("%d %s %g %g\\n", (int)status.code, status.message, y[0], y[512 * 512 - 1]);
  hewn_context_destroy(context);
  return 0;
}
"""
# dlopen with RTLD_LAZY, as programs often do; exits with 7 if the loader reports an error.
LOAD = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  for (int i = 1; i < count; ++i)
    if (!dlopen(names[i], RTLD_LAZY))
      return printf("%s\\n", dlerror()), 7;
  return 0;
}
"""


def compile_to(folder, name, model, *flags):
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    subprocess.run([HEWN, "compile", folder / f"{name}.onnx", "-o", folder / f"lib{name}.so", *flags], check=True)


def model_of(node, inputs, output):
    values = [helper.make_tensor_value_info(*value) for value in (*inputs, output)]
    graph = helper.make_graph([node], "net", values[:-1], values[-1:])
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.fixture(scope="module")
def debian_11():
    return roots.root("bullseye")


def old_glibc(root, command, folder):
    shared = {"/t": folder, "/i/hewn": TREE / "include/hewn", "/i/dlpack": DLPACK}
    generated = pathlib.Path(HEWN).parents[1] / "include/hewn"
    return roots.run_in(root, f"cd /t; {command}", shared | {"/j/hewn": generated})


def test_glibc_is_older_than_2_34(debian_11, tmp_path):
    found = re.search(r"2\.(\d+)$", old_glibc(debian_11, "ldd --version | head -n 1", tmp_path).strip())
    assert int(found[1]) < 34


def test_weights_file(debian_11, tmp_path):
    """The C example, linked by the old system's compiler without -lpthread and -ldl."""
    subprocess.run([HEWN, "compile", TREE / "examples/c/sobel.onnxtxt", "-o", tmp_path / "libsobel.so"], check=True)
    (tmp_path / "edges.c").write_text((TREE / "examples/c/edges.c").read_text())
    said = old_glibc(debian_11, "gcc -I/i -I/j edges.c -L. -lsobel -Wl,-rpath,/t -o edges && ./edges", tmp_path)
    assert said == (HERE / "edges.txt").read_text()


def test_threads(debian_11, tmp_path):
    matrix = (TensorProto.FLOAT, [512, 512])
    model = model_of(helper.make_node("MatMul", ["x", "w"], ["y"]), [("x", *matrix), ("w", *matrix)], ("y", *matrix))
    compile_to(tmp_path, "net", model, "--threads=2")
    (tmp_path / "main.c").write_text(THREADS)
    said = old_glibc(debian_11, "gcc -I/i -I/j main.c -L. -lnet -Wl,-rpath,/t -o main && ./main", tmp_path)
    assert said.split() == ["0", "1024", "1024"]


def test_third_party_code_loads(debian_11, tmp_path):
    """Image decoders and regular expressions, whose archives Debian 12 has compiled."""
    image = ("y", TensorProto.UINT8, ["h", "w", 3])
    decode = model_of(helper.make_node("ImageDecoder", ["x"], ["y"]), [("x", TensorProto.UINT8, ["n"])], image)
    compile_to(tmp_path, "image", decode)
    strings = (TensorProto.STRING, ["n"])
    match = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+b*")
    compile_to(tmp_path, "regex", model_of(match, [("x", *strings)], ("y", TensorProto.BOOL, ["n"])))
    (tmp_path / "load.c").write_text(LOAD)
    assert old_glibc(debian_11, "gcc load.c -ldl -o load && ./load ./libimage.so ./libregex.so", tmp_path) == ""


def test_missing_function_is_an_error_of_the_loader(debian_11, tmp_path):
    """A custom op that calls arc4random (glibc 2.36) can't run here. dlopen reports it, instead of a
    later call that ends the process."""
    (tmp_path / "op.c").write_text(
        '#include "hewn/custom.h"\n#include <stdlib.h>\n'
        "int32_t custom(hewn_custom_call *call);\n"
        "int32_t custom(hewn_custom_call *call) { (void)call; return arc4random() == 0 ? HEWN_OK : HEWN_INTERNAL; }\n"
    )
    includes = [f"-I{TREE}/include", f"-I{pathlib.Path(HEWN).parents[1]}/include"]
    subprocess.run(["cc", "-c", "-fPIC", *includes, tmp_path / "op.c", "-o", tmp_path / "op.o"], check=True)
    (tmp_path / "op.json").write_text(
        '{"link": ["op.o"], "ops": [{"domain": "com.example", "name": "Op", "function": "custom", "inputs":'
        ' [{"name": "x", "type": "float32", "dims": ["n"]}], "outputs": [{"type": "float32", "dims": ["n"]}]}]}'
    )
    vector = (TensorProto.FLOAT, [4])
    model = model_of(helper.make_node("Op", ["x"], ["y"], domain="com.example"), [("x", *vector)], ("y", *vector))
    compile_to(tmp_path, "op", model, "--custom-ops", tmp_path / "op.json")
    (tmp_path / "load.c").write_text(LOAD)
    said = old_glibc(debian_11, "gcc load.c -ldl -o load; ./load ./libop.so || echo exit $?", tmp_path)
    assert "undefined symbol: arc4random" in said and said.endswith("exit 7\n")


@pytest.mark.parametrize("suite", WHEELS)
def test_wheel(suite, tmp_path):
    """Installs the wheel in a root without a network and without LLVM, compiles and runs models from
    the shell and from Python, and builds examples/c by CMake (wheel.py)."""
    glibc, version, tag = WHEELS[suite]
    wheels = sorted(DIST.glob(f"hewn_compiler-{VERSION}-{tag}-*.whl"))
    if not wheels:
        pytest.skip(f"no wheel {tag} in {DIST}: run tools/release")
    root = roots.root(suite)
    python = roots.newer_python(root) if suite == "bullseye" else "python3"
    numpy = [*"-q download --disable-pip-version-check --no-deps --only-binary=:all: --platform".split()]
    numpy += [
        "manylinux_2_28_x86_64",
        "--platform",
        "manylinux_2_27_x86_64",
        "--python-version",
        version,
        "-d",
        tmp_path,
    ]
    subprocess.run([sys.executable, "-m", "pip", *numpy, "numpy"], check=True)
    cmake = pathlib.Path(importlib.util.find_spec("cmake").origin).parent / "data"
    shared = {"/tree": TREE, "/dist": DIST, "/packages": tmp_path, "/cmake": cmake}
    check = f"""
      ldd --version | head -n 1
      {python} --version
      export HEWN_CMAKE=/cmake/bin/cmake PIP_NO_INDEX=1 PIP_FIND_LINKS=/packages
      {python} /tree/test/Install/wheel.py /dist/{wheels[-1].name}"""
    said = roots.run_in(root, check, shared)
    print(said)
    found = re.match(r".* (2\.\d+)\nPython (3\.\d+)", said)
    assert found[1].startswith(glibc) and found[2] == version
    assert "compiles, links and runs without LLVM" in said

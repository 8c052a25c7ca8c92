# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md are run as they stand there."""

import os
import pathlib
import re
import shutil
import subprocess

import hewn
import models
import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = os.environ["HEWN_TOOLS"]
ARRAY = np.arange(4, dtype=np.float32).reshape(1, 4)


def example(title):
    """The indented block under a title."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / "README.md").read_text(), re.M | re.S).group(1)
    lines = re.findall(r"^    (.*)$", section, re.M)
    assert lines, f"README.md has no example under '{title}'"
    return "\n".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the examples speak of."""
    onnx.save(models.scaled(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", ARRAY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", TOOLS, prepend=os.pathsep)
    return tmp_path


def test_python(folder):
    names = {"array": ARRAY}
    exec(example("From Python"), names)
    assert isinstance(names["module"], hewn.Module)
    np.testing.assert_array_equal(names["outputs"]["y"], 3 * ARRAY + 1)


def test_shell(folder):
    for line in example("From the shell").splitlines():
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout or " compile " in line, line
    np.testing.assert_array_equal(np.load("out/y.npy"), 3 * ARRAY + 1)


HARNESS = """
#include "model.h"
#include <stdio.h>

int main(void) {{
  float x[4] = {{0, 1, 2, 3}}, y[4] = {{0}};
  int64_t shape[2] = {{1, 4}};
  DLTensor inputs[1] = {{{{0}}}}, outputs[1] = {{{{0}}}};
  inputs[0].data = x;
  outputs[0].data = y;
  inputs[0].device.device_type = outputs[0].device.device_type = kDLCPU;
  inputs[0].ndim = outputs[0].ndim = 2;
  inputs[0].dtype = outputs[0].dtype = (DLDataType){{kDLFloat, 32, 1}};
  inputs[0].shape = outputs[0].shape = shape;
{}
  if (status.code != HEWN_OK)
    puts(status.message);
  printf("%g %g %g %g\\n", y[0], y[1], y[2], y[3]);
  return status.code;
}}
"""


def test_c(folder):
    compiler = shutil.which("cc") or shutil.which("clang-22")
    assert compiler, "no C compiler: tools/setup installs clang-22"
    subprocess.run(["hewn", "compile", "model.onnx", "-o", "model.a"], check=True)
    (folder / "main.c").write_text(HARNESS.format(example("From C")))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT}/include", "-I."]
    subprocess.run([compiler, *flags, "main.c", "model.a", "-lm", "-lpthread", "-o", "main"], check=True)
    printed = subprocess.run(["./main"], capture_output=True, text=True)
    assert (printed.returncode, printed.stdout) == (0, "1 4 7 10\n")

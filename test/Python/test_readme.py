# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of README.md and compares their output with what the README shows."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = os.environ["HEWN_TOOLS"]
ARRAY = np.arange(4, dtype=np.float32).reshape(1, 4)


def example(language):
    """Returns the only fenced code block of the README in this language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    return block


def without_numbers(text):
    return re.sub(r"\d+(\.\d+)?", "N", text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the README's code writes and its examples read."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^    onnx\.save.*?(?=\n\n)", (ROOT / "README.md").read_text(), re.M | re.S)
    exec(textwrap.dedent(code), {"np": np, "onnx": onnx})
    np.testing.assert_array_equal(np.load("x.npy"), ARRAY)
    monkeypatch.setenv("PATH", TOOLS, prepend=os.pathsep)
    return tmp_path


def test_first_commands():
    commands = re.findall(r"^    (\S+)", (ROOT / "README.md").read_text(), re.M)
    assert commands[:2] == ["tools/quickstart", "tools/test"]


def test_size():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 90
    cells = [cell for line in lines if line.startswith("|") for cell in line.split("|")]
    assert max(len(cell.split()) for cell in cells) <= 12


def test_python(folder):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example("python"), {})
    assert re.search(r"# (.*)$", example("python"), re.M)[1] == printed.getvalue().strip()


def test_shell(folder):
    shown = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", example("console"), re.M)
    assert len(shown) > 1
    for command, output in shown:
        done = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert without_numbers(done.stdout) == without_numbers(output)
    np.testing.assert_array_equal(np.load("out/y.npy"), 3 * ARRAY + 1)


def test_c(folder):
    compiler = shutil.which("cc") or shutil.which("clang-22")
    assert compiler, "no C compiler: tools/setup installs clang-22"
    subprocess.run(["hewn", "compile", "model.onnx", "-o", "model.a"], check=True)
    (folder / "main.c").write_text(example("c"))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT}/include", "-I."]
    subprocess.run([compiler, *flags, "main.c", "model.a", "-lm", "-lpthread", "-o", "main"], check=True)
    printed = subprocess.run(["./main"], capture_output=True, text=True)
    told = re.search(r"prints: (.*) \*/", example("c"))[1]
    assert (printed.returncode, printed.stdout) == (0, f"{told}\n")

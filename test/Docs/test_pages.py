# SPDX-License-Identifier: Apache-2.0
"""Runs the pages of docs/start and docs/tutorials block by block: writes their files, runs their
shell and Python code, and compares the output with the page."""

import contextlib
import doctest
import functools
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("HEWN_TOOLS", ROOT / "build/dev/bin"))
TUTORIALS = sorted(page for page in (ROOT / "docs/tutorials").glob("*.md") if page.name != "README.md")
START = sorted((ROOT / "docs/start").glob("*.md"))
FLOATS = functools.partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[2])
INTEGRATIONS = [ROOT / "integrations" / name for name in ("mlserver", "batch")]
NEEDS = re.compile(r"^<!-- needs: (.*) -->$", re.MULTILINE)
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Yields (language, attributes, text) for each fenced block of a page. The attributes are those
    in the first line of the block: {"title": "main.c"}."""
    for info, body in BLOCK.findall(text):
        language, *attributes = info.split()
        yield language, dict(attribute.split("=", 1) for attribute in attributes), body


def run_shell(text, environment):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout


def run_python(text, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "<page>", "exec"), names)
    return printed.getvalue()


def is_as_told(told, printed, numbers_vary=False):
    """Returns true if the output matches the text on the page. In this text, `...` matches
    anything, as in doctest. If `numbers_vary` is set, any number matches any other number."""
    if numbers_vary:
        told, printed = (re.sub(r"\d+(\.\d+)?", "N", text) for text in (told, printed))
    return doctest.OutputChecker().check_output(told, printed, doctest.ELLIPSIS)


def run_page(text, environment):
    """Runs the blocks of a page in the current folder. Returns the number of blocks that ran and
    the number of outputs that were compared with the page."""
    names, printed, ran, compared = {"__name__": "__main__"}, None, 0, 0
    for language, attributes, body in blocks(text):
        numbers_vary = attributes.pop("numbers", None) == "vary"
        if attributes:
            assert attributes.keys() == {"title"}, f"unknown attributes of a block: {attributes}"
            pathlib.Path(attributes["title"]).write_text(body)
        elif language == "text":
            assert printed is not None, f"no earlier block printed this output:\n{body}"
            assert is_as_told(body, printed, numbers_vary), f"expected output:\n{body}\nactual output:\n{printed}"
            compared += 1
        elif language in ("sh", "python"):
            printed = run_shell(body, environment) if language == "sh" else run_python(body, names)
            ran += 1
        else:
            raise AssertionError(f"a block of language '{language}' needs a title")
    return ran, compared


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Installs hewn into a folder, as a reader does. Returns the environment with its commands on
    the path."""
    prefix = tmp_path_factory.mktemp("installed") / "hewn"
    subprocess.run(
        [shutil.which("cmake"), "--install", TOOLS.parent, "--prefix", prefix], check=True, capture_output=True
    )
    path = f"{prefix / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    packages = os.pathsep.join([*map(str, INTEGRATIONS), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PREFIX": str(prefix), "PATH": path, "PYTHONPATH": packages}


def require(text):
    """Skips the test if a Python package or a command that a page needs is not installed."""
    if missing := [
        name
        for names in NEEDS.findall(text)
        for name in names.split()
        if not importlib.util.find_spec(name) and not shutil.which(name)
    ]:
        pytest.skip(f"not installed: {', '.join(missing)} (see tools/setup and test/Serving/check-serving)")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page, installed, tmp_path, monkeypatch):
    text = page.read_text()
    require(text)
    monkeypatch.chdir(tmp_path)
    for package in INTEGRATIONS:
        monkeypatch.syspath_prepend(package)
    # for processes that the page's Python code starts
    monkeypatch.setenv("PYTHONPATH", installed["PYTHONPATH"])
    ran, compared = run_page(text, installed)
    assert ran and compared


@pytest.mark.parametrize("page", START, ids=lambda page: page.stem)
def test_start(page, installed, tmp_path, monkeypatch):
    """Runs the index, which writes the sample model, and then the page in the same folder."""
    text = page.read_text()
    require(text)
    monkeypatch.chdir(tmp_path)
    environment = installed | {"HEWN_CACHE_DIR": str(tmp_path / "cache")}
    for each in dict.fromkeys((page.with_name("README.md"), page)):
        ran, compared = run_page(each.read_text(), environment)
        assert ran and compared


def test_start_readme_lists_every_page():
    listed = re.findall(r"^\|.*\| \[\S+\]\((\S+)\) \|", (ROOT / "docs/start/README.md").read_text(), re.MULTILINE)
    assert sorted(["README.md", *listed]) == [page.name for page in START]


def test_readme_names_every_tutorial():
    named = re.findall(r"^\d+\. \[(\S+)\]", (ROOT / "docs/tutorials/README.md").read_text(), re.MULTILINE)
    assert sorted(named) == [page.name for page in TUTORIALS]


def test_readme_says_the_opsets_that_are_known(tmp_path):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [FLOATS("x")], [FLOATS("y")])
    path = tmp_path / "new.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 1000)], ir_version=9), path)
    told = subprocess.run([TOOLS / "hewn", "check", path], capture_output=True, text=True).stderr
    assert re.findall(r"hewn supports (1 to \d+)", told) == re.findall(
        r"ONNX opsets (1 to \d+)", (ROOT / "README.md").read_text()
    )


def test_a_page_that_tells_something_else_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = "```text title=a\nhello\n```\n```sh\ncat a\n```\n```text\nhe...\n```\n```python\nx = 2\n```\n```python\nprint(x)\n```\n```text\n2\n```\n"
    assert run_page(good, os.environ) == (3, 2)
    varying = good.replace("```text\nhe...", "```text numbers=vary\nhe...").replace("hello", "hello 1.5")
    assert run_page(varying.replace("he...", "hello 23"), os.environ) == (3, 2)
    for wrong in (
        varying.replace("he...", "hello one"),
        good.replace("he...", "hello 2"),
        good.replace("```text\n2", "```text number=vary\n2"),
        good.replace("he...", "she..."),
        good.replace("\n2\n", "\n3\n"),
        good.replace("cat a", "cat b"),
        "```text\nx\n```\n",
        "```c\n```\n",
    ):
        assert wrong != good
        with pytest.raises(AssertionError):
            run_page(wrong, os.environ)

# SPDX-License-Identifier: Apache-2.0
"""tools/measure/same_code.py, and the artifact's id, which depends on the code and not on how the
compiler names things."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEWN = pathlib.Path(os.environ["HEWN_TOOLS"]).resolve() / "hewn"


def model_with(node: str = "product", weight: str = "w", scale: float = 1) -> onnx.ModelProto:
    weights = numpy_helper.from_array(np.full((64, 64), scale, np.float32), weight)
    nodes = [
        helper.make_node("MatMul", ["x", weight], ["inner"], name=node),
        helper.make_node("Softmax", ["inner"], ["y"], name=node + "_softmax"),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", info[:1], info[1:], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def digest_of(folder: pathlib.Path, model: onnx.ModelProto, *flags: str) -> str:
    onnx.save(model, folder / "model.onnx")
    out = folder / "libmodel.so"
    subprocess.run([HEWN, "compile", folder / "model.onnx", "-o", out, *flags], check=True, stdout=subprocess.DEVNULL)
    about = subprocess.run([HEWN, "info", "--json", out], check=True, capture_output=True).stdout
    return json.loads(about)["models"][0]["digest"]


def test_digest_depends_on_the_code_alone(tmp_path):
    digest = digest_of(tmp_path, model_with())
    assert len(digest) == 40 and int(digest, 16)
    assert digest_of(tmp_path, model_with(node="other", weight="v")) == digest
    assert digest_of(tmp_path, model_with(scale=2)) != digest
    assert digest_of(tmp_path, model_with(), "--target=x86-64-v2") != digest
    assert digest_of(tmp_path, model_with(), "--name=other") != digest


def compare(*arguments: object) -> subprocess.CompletedProcess:
    tool = ROOT / "tools/measure/same_code.py"
    return subprocess.run([sys.executable, tool, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model_with(), path)
    return path


def tree_with(folder: pathlib.Path, flag: str) -> pathlib.Path:
    """Returns a build folder whose compiler passes `flag` to each compile."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin/hewn"
    script.write_text(f'#!/bin/sh\nif [ "$1" = compile ]; then exec "{HEWN}" "$@" {flag}; fi\nexec "{HEWN}" "$@"\n')
    script.chmod(0o755)
    return folder


def test_same_build_is_equal(model):
    build = HEWN.parent.parent
    done = compare(build, build, model, "--targets=x86-64-v3,sm_80")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("2 artifacts: 2 equal, 0 differ, 0 refused")


def test_differences_are_named(model, tmp_path):
    build, other = HEWN.parent.parent, tree_with(tmp_path / "other", "--float32-precision=medium")
    done = compare(build, other, model, "--targets=x86-64-v3,sm_80", "--show=2")
    assert done.returncode == 1
    assert "model x86-64-v3" not in done.stdout  # has no instructions for bfloat16
    assert "model sm_80: unit model_" in done.stdout and "    --- before" in done.stdout
    assert "2 artifacts: 1 equal, 1 differ, 0 refused" in done.stdout

    renamed = tree_with(tmp_path / "renamed", "--name=other")
    done = compare(build, renamed, model, "--targets=x86-64-v3")
    assert "model x86-64-v3: header" in done.stdout


def test_refusals_are_counted(model):
    build = HEWN.parent.parent
    done = compare(build, build, model, "--targets=x86-64-v3", "--dim=n=3")
    assert done.returncode == 0
    assert "both refuse it: error: no input has a dim 'n'" in done.stdout
    assert "1 artifacts: 0 equal, 0 differ, 1 refused" in done.stdout

# SPDX-License-Identifier: Apache-2.0
"""Fixtures that add the integrations' packages to the path, and compile small models to
libraries."""

import os
import pathlib
import sys

import hewn
import numpy as np
import onnx
import pytest
from onnx import parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = [ROOT / "integrations/mlserver", ROOT / "integrations/batch"]
sys.path[:0] = map(str, PACKAGES)
# Servers and workers run as separate processes, which find the packages through PYTHONPATH.
os.environ["PYTHONPATH"] = os.pathsep.join([*map(str, PACKAGES), os.environ.get("PYTHONPATH", "")])

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
MODELS = {
    "scaled": "scaled (float[batch, 4] x) => (float[batch, 4] y) "
    "{ three = Constant<value_float=3.0>() one = Constant<value_float=1.0>() m = Mul(x, three) y = Add(m, one) }",
    "two": "two (int64[n] a, int64[n] b) => (int64[n] total, bool[n] more) { total = Add(a, b) more = Greater(a, b) }",
    "texts": "texts (string[n] x) => (string[n] y) { y = Identity(x) }",
    "half": "half (float16[n, 2] x) => (float16[n, 2] y) { y = Add(x, x) }",
    "brain": "brain (bfloat16[n, 2] x) => (bfloat16[n, 2] y) { y = Add(x, x) }",
    "rows": "rows (float[batch, seq] x) => (float[batch, seq] y) { y = Softmax(x) }",
    "single": "single (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }",
    "picked": "picked (float[n, 4] data, int64[m] at) => (float[m, 4] y) { y = Gather(data, at) }",
    "gram": "gram (float[n, 4] x) => (float[n, k] y) { t = Transpose(x) y = MatMul(x, t) }",
    "list": "list (seq(float[2]) x) => (float[n] y) { y = ConcatFromSequence<axis=0>(x) }",
}


def onnx_model(name):
    """Returns a model of MODELS, or "wide": a matmul of float32 [batch, 1024] with a constant of 4
    MB."""
    if name == "wide":
        weights = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
        model = parser.parse_model(
            f"{HEAD} wide (float[batch, 1024] x, float[1024, 1024] w) => (float[batch, 1024] y) {{ y = MatMul(x, w) }}"
        )
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
        del model.graph.input[1]
        return model
    return parser.parse_model(f"{HEAD} {MODELS[name]}")


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Returns a function models(name) that returns the path of an ONNX model."""
    folder = tmp_path_factory.mktemp("models")

    def made(name):
        path = folder / name / "model.onnx"
        if not path.exists():
            path.parent.mkdir()
            onnx.save(onnx_model(name), path)
        return path

    return made


@pytest.fixture(scope="session")
def libraries(models, tmp_path_factory):
    """Returns a function libraries(name) that returns the path of a library. Its folder contains
    only the library and its weights."""
    folder = tmp_path_factory.mktemp("libraries")

    def made(name):
        path = folder / name / "model.so"
        if not path.exists():
            path.parent.mkdir()
            hewn.compile(models(name), output=path).close()
        return path

    return made


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: servers and clusters under load")

# SPDX-License-Identifier: Apache-2.0
"""Fixtures that write the HTML pages of two models. One model has hostile names, the other one more
kernels than a page shows at first."""

import os
import pathlib
import subprocess
import types

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
HOSTILE = "</script><img src=x onerror=alert(1)>"


def hewn(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def chain(layers: int, width: int, name: str):
    """Builds a sequence of matmuls with different sizes, so that each becomes a kernel of its own.
    Every name begins with `name`."""
    random = np.random.default_rng(0)
    nodes, constants, last = [], [], f"{name} x"
    for i in range(layers):
        rows, columns = width + 8 * i, width + 8 * (i + 1)
        constants.append(numpy_helper.from_array(random.standard_normal((rows, columns), np.float32), f"{name} w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"{name} w{i}"], [f"{name} m{i}"], name=f"{name} product {i}"))
        nodes.append(
            helper.make_node("Softmax", [f"{name} m{i}"], [f"{name} s{i}"], name=f"{name} softmax {i}", axis=-1)
        )
        last = f"{name} s{i}"
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info(
                f"{name} x", TensorProto.FLOAT, [f"{HOSTILE} rows" if name == HOSTILE else "rows", width]
            )
        ],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Writes the pages and traces of both models, and returns their paths."""
    folder = tmp_path_factory.mktemp("pages")
    onnx.save(chain(3, 24, HOSTILE), folder / "hostile & co.onnx")
    onnx.save(chain(26, 8, "layer"), folder / "many.onnx")
    made = types.SimpleNamespace(folder=folder)
    for model, key in (folder / "hostile & co.onnx", "hostile"), (folder / "many.onnx", "many"):
        dims = ["--dim", f"{HOSTILE} rows=4" if key == "hostile" else "rows=40"]
        (folder / f"{key}-samples").mkdir()
        for i in range(2):
            sample = np.random.default_rng(i).standard_normal((4, 24 if key == "hostile" else 8), np.float32)
            np.save(folder / f"{key}-samples" / f"{i}.npy", sample)
        for kind, arguments in {
            "explain": ["explain", model, "--html"],
            "profile": [
                "profile",
                model,
                "--seconds",
                0.05,
                "--threads",
                2,
                *dims,
                "--trace",
                folder / f"{key}.json",
                "--html",
            ],
            "report": ["quantize", model, "--quantize=int8", "--calibrate", folder / f"{key}-samples", "--report"],
        }.items():
            page = folder / f"{key}-{kind}.html"
            done = hewn(*arguments, page)
            assert done.returncode == 0, done.stderr
            setattr(made, f"{key}_{kind}", page)
    return made

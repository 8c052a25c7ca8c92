# SPDX-License-Identifier: Apache-2.0
"""Fixtures that write the HTML pages of two models. One model has hostile names, the other one more
kernels than a page shows at first."""

import os
import pathlib
import subprocess
import types

import browser
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


def constant(name: str, *shape: int):
    return numpy_helper.from_array(np.random.default_rng(0).standard_normal(shape, np.float32) / 4, name)


def branch(name: str, op: str):
    nodes = [
        helper.make_node("MatMul", ["h", f"{name}_w"], [f"{name}_m"], name=f"{name}_product"),
        helper.make_node(op, [f"{name}_m"], [f"{name}_y"], name=f"{name}_{op.lower()}"),
    ]
    outputs = [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)]
    return helper.make_graph(nodes, name, [], outputs, [constant(f"{name}_w", 32, 32)])


def control_flow():
    """Builds a model with an If and a Loop."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "loop_w"], ["loop_m"], name="loop_product"),
            helper.make_node("Tanh", ["loop_m"], ["next"], name="loop_tanh"),
            helper.make_node("Identity", ["c"], ["go"], name="loop_go"),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("c", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT, ["n", 32]),
        ],
        [value("go", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, ["n", 32])],
        [constant("loop_w", 32, 32)],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="first"),
        helper.make_node("Relu", ["m"], ["h"], name="relu"),
        helper.make_node("ReduceSum", ["h"], ["s"], name="sum", keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["cond"], name="is_positive"),
        helper.make_node(
            "If",
            ["cond"],
            ["b"],
            name="choose",
            then_branch=branch("then", "Sigmoid"),
            else_branch=branch("else", "Tanh"),
        ),
        helper.make_node("Loop", ["trips", "", "b"], ["y"], name="repeat", body=body),
        helper.make_node("Add", ["y", "h"], ["z"], name="residual"),
    ]
    constants = [
        constant("w", 16, 32),
        numpy_helper.from_array(np.float32(0), "zero"),
        numpy_helper.from_array(np.int64(5), "trips"),
    ]
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, ["n", 16])], [value("z", TensorProto.FLOAT, None)], constants
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def residual_blocks(count: int):
    """Builds a model of `count` blocks with five nodes each, which become three kernels."""
    nodes, last = [], "x"
    for i in range(count):
        for op, inputs, kind in (
            ("MatMul", [last, "w"], "product"),
            ("Relu", [f"product {i}"], "relu"),
            ("MatMul", [f"relu {i}", "w"], "second"),
            ("Add", [f"second {i}", last], "residual"),
            ("Softmax", [f"residual {i}"], "softmax"),
        ):
            nodes.append(helper.make_node(op, inputs, [f"{kind} {i}"], name=f"node {kind} {i}"))
        last = f"softmax {i}"
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)],
        [constant("w", 16, 16)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.fixture(scope="session")
def graphs(tmp_path_factory):
    """Writes pages of a model with control flow and of a model with 5,000 nodes."""
    folder = tmp_path_factory.mktemp("graphs")
    onnx.save(control_flow(), folder / "control.onnx")
    onnx.save(residual_blocks(1000), folder / "large.onnx")
    made = types.SimpleNamespace(model=folder / "control.onnx")
    for name, arguments in {
        "control_explain": ["explain", folder / "control.onnx"],
        "control_profile": ["profile", folder / "control.onnx", "--seconds", 0.05, "--dim", "n=4"],
        "large_explain": ["explain", folder / "large.onnx"],
    }.items():
        page = folder / f"{name}.html"
        done = hewn(*arguments, "--html", page)
        assert done.returncode == 0, done.stderr
        setattr(made, name, page)
    return made


@pytest.fixture(scope="module")
def chromium():
    with browser.Browser(browser.find()) as opened:
        yield opened


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

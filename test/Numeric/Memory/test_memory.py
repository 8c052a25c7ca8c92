# SPDX-License-Identifier: Apache-2.0
"""Networks with many branches. Values that share memory or overwrite an input are correct, and the
arena is as large as the peak of live memory."""

import os
import pathlib
import re
import subprocess

import hewn
import numpy as np
import pytest
from numeric import check, oracle
from onnx import TensorProto, helper, numpy_helper, save

HEWN = str(pathlib.Path(os.environ.get("HEWN_TOOLS", ""), "hewn"))


def branches(seed, dims, steps=20):
    """Builds a graph in which each node reads one or two of the last few values. The widths of the
    values vary, and the operands of a binary op stay live after it."""
    random = np.random.default_rng(seed)
    nodes, constants, values = [], [], [("x", 32)]

    def add(op, inputs, width, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attributes))
        values.append((nodes[-1].output[0], width))

    for _ in range(steps):
        name, width = values[-1 - random.integers(min(len(values), 5))]
        partners = [n for n, w in values[-8:] if w == width and n != name]
        kind = random.integers(4)
        if kind == 0:
            add(("Relu", "Tanh", "Sigmoid")[random.integers(3)], [name], width)
        elif kind == 1 and partners:
            add(("Add", "Mul")[random.integers(2)], [name, partners[random.integers(len(partners))]], width)
        elif kind == 2:
            add("Softmax", [name], width)
        else:
            wide = int(random.choice([16, 32, 48, 96]))
            weight = (random.standard_normal((width, wide)) / 8).astype(np.float32)
            constants.append(numpy_helper.from_array(weight, f"w{len(constants)}"))
            add("MatMul", [name, constants[-1].name], wide)
            partners = [n for n, w in values[:-1] if w == wide]
            if partners:
                add("Add", [values[-1][0], partners[random.integers(len(partners))]], wide)
    read = {name for node in nodes for name in node.input}
    ends = [name for name, _ in values if name not in read]
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*dims, 32])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ends],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def ratios(model, folder):
    save(model, folder / "model.onnx")
    text = subprocess.run([HEWN, "explain", folder / "model.onnx"], capture_output=True, text=True, check=True).stdout
    return [float(r) for r in re.findall(r"live at once, ratio ([0-9.]+)", text)]


@pytest.mark.parametrize("seed", range(3))
def test_static(seed, tmp_path):
    model = branches(seed, (2, 24))
    x = np.random.default_rng(seed).standard_normal((2, 24, 32)).astype(np.float32)
    check(hewn.compile(model).run({"x": x}).values(), oracle(model, {"x": x}), atol=1e-5)
    assert max(ratios(model, tmp_path)) <= 1.02


@pytest.mark.parametrize("seed", range(3, 6))
def test_with_symbols(seed, tmp_path):
    model = branches(seed, ("batch", "seq"))
    module = hewn.compile(model)
    for batch, seq in ((1, 1), (1, 17), (3, 8), (16, 1)):
        x = np.random.default_rng(seed).standard_normal((batch, seq, 32)).astype(np.float32)
        check(module.run({"x": x}).values(), oracle(model, {"x": x}), atol=1e-5)
    assert max(ratios(model, tmp_path)) <= 1.02

# SPDX-License-Identifier: Apache-2.0
"""Batches that exceed the caches are processed one batch element at a time, in a loop. Tests each
op interface in the loop, ops that end the loop, and dynamic sizes."""

import os
import pathlib
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from numeric import TensorProto, check, oracle, run
from onnx import helper, numpy_helper

TOOLS = pathlib.Path(os.environ.get("HEWN_TOOLS", pathlib.Path(hewn.__file__).parents[2] / "bin"))
random = np.random.default_rng(5)
SIDE, CHANNELS = 224, 16


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


WEIGHTS = {
    "w": floats(CHANNELS, 3, 3, 3),
    "b": floats(CHANNELS),
    "v": floats(CHANNELS, CHANNELS, 1, 1) / 4,
    "table": floats(10, CHANNELS),
    "each": floats(6, CHANNELS, 1, 1),  # one number for each of six batch elements
    "m": floats(CHANNELS, 5),
    "last": np.array([-1], np.int64),
    "first": np.array([0], np.int64),
    "half": np.array([SIDE // 2], np.int64),
    "axis": np.array([2], np.int64),
    "picked": np.array([3, 1, 3], np.int64),
    "twice": np.array([1, 1, 2, 1], np.float32),
    "around": np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64),
    "flat": np.array([0, CHANNELS, -1], np.int64),
    "spatial": np.array([2, 3], np.int64),
}
HEAD = [("Conv", ["x", "w", "b"], "c", {"pads": [1, 1, 1, 1]}), ("Relu", ["c"], "h", {})]
POOL = ("GlobalAveragePool", ["h"], "g", {})

# Lists of nodes that a test appends to the value h [batch, channels, side, side] of the model.
BODIES = {
    "convolution": [("Conv", ["h", "v"], "y", {})],
    "pooling": [("MaxPool", ["h"], "y", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})],
    "residual": [("Conv", ["h", "v"], "p", {}), ("Add", ["p", "h"], "y", {})],
    "concat": [("Conv", ["h", "v"], "p", {}), ("Concat", ["p", "h"], "y", {"axis": 1})],
    "transpose": [("Transpose", ["h"], "y", {"perm": [0, 2, 3, 1]})],
    "slice": [("Slice", ["h", "first", "half", "axis"], "y", {})],
    "resize": [("Resize", ["h", "", "twice"], "y", {"mode": "linear"})],
    "pad": [("Pad", ["h", "around"], "y", {"mode": "reflect"})],
    "gather": [("Gather", ["h", "picked"], "y", {"axis": 1})],
    "softmax": [("Softmax", ["h"], "y", {"axis": 1})],
    "reshape": [("Reshape", ["h", "flat"], "r", {}), ("MatMul", ["r", "t"], "y", {})],
    "classifier": [
        POOL,
        ("Flatten", ["g"], "f", {}),
        ("MatMul", ["f", "m"], "y", {}),
    ],
    "embedding": [("Gather", ["table", "ids"], "e", {}), ("Mul", ["h", "e"], "y", {})],
    # Models whose ops combine batch elements, or read both combined and separate batch elements.
    "mixed": [POOL, ("ReduceMean", ["g"], "z", {"axes": [0]}), ("Sub", ["g", "z"], "y", {})],
    "reversed": [POOL, ("Slice", ["g", "last", "lowest", "first", "last"], "z", {}), ("Add", ["g", "z"], "y", {})],
    "over all": [POOL, ("Transpose", ["g"], "y", {"perm": [1, 0, 2, 3]})],
    "two results": [("Conv", ["h", "v"], "p", {}), ("Neg", ["h"], "q", {}), ("Add", ["p", "q"], "y", {})],
}
# Nodes of models with a constant operand for a batch of six, so that the models require this batch
# size.
OF_SIX = {
    "own": [("Mul", ["h", "each"], "y", {})],
    "own of both": [("Mul", ["each", "h"], "k", {}), ("Add", ["k", "h"], "y", {})],
}


def network(nodes, batch, outputs=("y",)):
    weights = WEIGHTS | {"t": floats(SIDE * SIDE, 4) / SIDE, "lowest": np.array([-100], np.int64)}
    inputs = {"x": (TensorProto.FLOAT, [batch, 3, SIDE, SIDE])}
    if any("ids" in inputs_of for _, inputs_of, _, _ in nodes):
        inputs["ids"] = (TensorProto.INT64, [batch, 1, 1])
        weights["table"] = floats(10, SIDE)
        nodes = [
            ("Gather", ["table", "ids"], "e4", {})
            if result == "e"
            else (op, ["e4" if i == "e" else i for i in ins], result, a)
            for op, ins, result, a in nodes
        ]
    used = {name for _, inputs_of, _, _ in HEAD + nodes for name in inputs_of}
    graph = helper.make_graph(
        [helper.make_node(op, ins, [result], **attributes) for op, ins, result, attributes in HEAD + nodes],
        "batch",
        [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in weights.items() if n in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds(model, count):
    values = {"x": floats(count, 3, SIDE, SIDE)}
    if len(model.graph.input) > 1:
        values["ids"] = random.integers(0, 10, (count, 1, 1))
    return values


@pytest.mark.parametrize("nodes", list(BODIES.values()) + list(OF_SIX.values()), ids=list(BODIES) + list(OF_SIX))
def test_known(nodes):
    model = network(nodes, 6)
    given = feeds(model, 6)
    check(run(model, given), oracle(model, given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nodes", BODIES.values(), ids=BODIES)
def test_known_when_run(nodes):
    model = network(nodes, "batch")
    compiled = hewn.compile(model)
    for count in (1, 3):
        given = feeds(model, count)
        check(list(compiled.run(given).values()), oracle(model, given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nodes", list(BODIES.values()) + list(OF_SIX.values()), ids=list(BODIES) + list(OF_SIX))
def test_is_a_loop(nodes, tmp_path):
    onnx.save(network(nodes, 6), tmp_path / "m.onnx")
    command = [TOOLS / "hewn", "compile", "m.onnx", "--emit=kernels", "-o", "m.mlir"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert "graph.scan" in (tmp_path / "m.mlir").read_text()


def test_results_from_inside_and_behind():
    nodes = [*BODIES["residual"], ("ReduceMean", ["y"], "z", {"axes": [0]})]
    model = network(nodes, 6, ["h", "y", "z"])
    given = feeds(model, 6)
    check(run(model, given), oracle(model, given), rtol=1e-4, atol=1e-4)

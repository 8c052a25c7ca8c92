# SPDX-License-Identifier: Apache-2.0
"""Attention as exporters write it, which is fused into one kernel, compared with onnxruntime."""

import os
import pathlib
import re
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from sessions import oracle


def attention(batch, heads, rows, columns, width, mask, scale_first, dynamic_rows=False, dynamic_columns=False):
    """Builds softmax(q k^T / sqrt(width) + mask) v. Returns the model and its inputs."""
    generator = np.random.default_rng(4)
    scale = np.float32(1 / np.sqrt(width))
    feeds = {
        "q": generator.standard_normal((batch, heads, rows, width)).astype(np.float32),
        "k": generator.standard_normal((batch, heads, columns, width)).astype(np.float32),
        "v": generator.standard_normal((batch, heads, columns, width)).astype(np.float32),
    }
    nodes, scores = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2])], "s"
    constants = [onnx.numpy_helper.from_array(np.array(scale), "scale")]
    if scale_first:
        nodes += [helper.make_node("Mul", ["q", "scale"], ["qs"]), helper.make_node("MatMul", ["qs", "kt"], ["s"])]
    else:
        nodes += [helper.make_node("MatMul", ["q", "kt"], ["p"]), helper.make_node("Mul", ["p", "scale"], ["s"])]
    if mask == "add":
        feeds["mask"] = np.where(generator.random((batch, 1, rows, columns)) < 0.3, -1e9, 0).astype(np.float32)
        nodes.append(helper.make_node("Add", ["s", "mask"], ["sm"]))
        scores = "sm"
    elif mask == "row":
        feeds["mask"] = generator.standard_normal((columns,)).astype(np.float32)
        nodes.append(helper.make_node("Add", ["s", "mask"], ["sm"]))
        scores = "sm"
    elif mask == "where":
        feeds["mask"] = np.tril(np.ones((rows, columns), bool))[None, None]
        constants.append(onnx.numpy_helper.from_array(np.array(-3e38, np.float32), "never"))
        nodes.append(helper.make_node("Where", ["mask", "s", "never"], ["sm"]))
        scores = "sm"
    nodes += [
        helper.make_node("Softmax", [scores], ["w"], axis=-1),
        helper.make_node("MatMul", ["w", "v"], ["o"]),
        helper.make_node("Relu", ["o"], ["y"]),
    ]
    inputs = []
    for name, value in feeds.items():
        shape = list(value.shape)
        if dynamic_rows and value.ndim == 4 and shape[2] == rows and name in ("q", "mask"):
            shape[2] = "rows"
        if dynamic_columns and name in ("k", "v"):
            shape[2] = "columns"
        elif dynamic_columns and name == "mask":
            shape[-1] = "columns"
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    graph = helper.make_graph(
        nodes, "attention", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("mask", ["none", "add", "row", "where"])
@pytest.mark.parametrize("shape", [(1, 2, 240, 256, 32), (2, 3, 197, 197, 16), (1, 1, 301, 1500, 24)], ids=str)
def test_attention(shape, mask, dynamic, threads):
    model, feeds = attention(*shape, mask, scale_first=dynamic, dynamic_rows=dynamic)
    (got,) = hewn.compile(model, threads=threads).run(feeds).values()
    np.testing.assert_allclose(got, oracle(model, feeds)[0], rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mask", ["none", "add", "row"])
@pytest.mark.parametrize("shape", [(1, 2, 240, 256, 32), (2, 3, 7, 9, 16), (1, 4, 1, 700, 24)], ids=str)
def test_any_number_of_columns(shape, mask, threads):
    model, feeds = attention(*shape, mask, scale_first=False, dynamic_rows=True, dynamic_columns=True)
    (got,) = hewn.compile(model, threads=threads).run(feeds).values()
    np.testing.assert_allclose(got, oracle(model, feeds)[0], rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("mask", ["none", "add", "row"])
@pytest.mark.parametrize("shape", [(1, 2, 96, 200, 64), (2, 3, 130, 77, 32), (1, 4, 64, 1500, 64), (1, 1, 200, 98, 18)])
def test_products_of_bfloat16(shape, mask):
    """Tests fused attention at medium precision, where both GEMMs round their operands to bfloat16.
    Pairwise dot products need an even number of columns. The last vector of a row may be
    partial."""
    model, feeds = attention(*shape, mask, True)
    (got,) = hewn.compile(model, precision="medium").run(feeds).values()
    want = oracle(model, feeds)[0]
    assert np.abs(got - want).max() <= 1e-2 * np.abs(want).max()


def test_no_buffer_of_all_scores(tmp_path):
    """For long sequences, the arena is smaller than an eighth of the full score matrix: the kernel
    does not store all scores."""
    model, feeds = attention(1, 2, 6000, 6000, 16, "none", scale_first=True)
    onnx.save(model, tmp_path / "long.onnx")
    tool = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    said = subprocess.run([tool, "explain", tmp_path / "long.onnx"], check=True, capture_output=True, text=True).stdout
    assert int(re.search(r"arena: (\d+) bytes", said)[1]) < 6000 * 6000 * 4 / 8
    (got,) = hewn.compile(model).run(feeds).values()
    np.testing.assert_allclose(got, oracle(model, feeds)[0], rtol=1e-4, atol=2e-6)


# Ops after the scores s = q k, with renamed operands. In each case, another op uses the scores or
# an operand.
UNUSUAL = {
    "weights times scores": ([("Softmax", ["s"], "w"), ("Mul", ["w", "s"], "u"), ("MatMul", ["u", "v"], "y")], {}),
    "scores where positive": (
        [
            ("Softmax", ["s"], "w"),
            ("Greater", ["s", "zero"], "p"),
            ("Where", ["p", "w", "s"], "u"),
            ("MatMul", ["u", "v"], "y"),
        ],
        {},
    ),
    "v as a residual": ([("Softmax", ["s"], "w"), ("MatMul", ["w", "v"], "o"), ("Add", ["o", "v"], "y")], {}),
    "k as a bias": ([("Add", ["s", "k"], "b"), ("Softmax", ["b"], "w"), ("MatMul", ["w", "v"], "y")], {}),
    "q is k": ([("Softmax", ["s"], "w"), ("MatMul", ["w", "v"], "y")], {"k": "q"}),
}


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("size", [256, "n"])
def test_operands_that_are_read_twice(case, size):
    nodes, same = UNUSUAL[case]
    generator = np.random.default_rng(5)
    feeds = {name: generator.standard_normal((4, 256, 256)).astype(np.float32) / 4 for name in "qkv"}
    feeds = {name: value for name, value in feeds.items() if name not in same}
    nodes = [("MatMul", ["q", same.get("k", "k")], "s"), *nodes]
    graph = helper.make_graph(
        [helper.make_node(op, reads, [makes]) for op, reads, makes in nodes],
        "unusual",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, size, size]) for name in feeds],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.array(0, np.float32), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (got,) = hewn.compile(model).run(feeds).values()
    np.testing.assert_allclose(got, oracle(model, feeds)[0], rtol=1e-4, atol=1e-5)

# SPDX-License-Identifier: Apache-2.0
"""Models that hewn-opt compiles stage by stage from text and weights have the driver's code."""

import sys

import numpy as np
import onnx
import pytest
from libraries import HEWN, MODELS, ROOT, Graph
from onnx import TensorProto

sys.path.append(str(ROOT / "tools/measure"))
import stage_by_stage


def cases():
    """A model whose rank depends on a dim, so that it has two cases, which share weights."""
    g = Graph()
    x = g("Squeeze", g("MatMul", "x", g.weight(48, 64)))
    return g.model([("x", TensorProto.FLOAT, ["n", 48])], g("Softmax", g("MatMul", x, g.weight(64, 64))))


def quantized():
    """A model with quantized activations and weights (QDQ), and a function of 8-bit integers."""
    g = Graph()
    zero = g.constant(np.uint8(128))

    def rounded(x, scale):
        q = g("QuantizeLinear", x, g.constant(np.float32(scale)), zero)
        return g("DequantizeLinear", q, g.constant(np.float32(scale)), zero)

    w = g.constant(g.random.integers(-127, 128, (64, 96), dtype=np.int8))
    w = g("DequantizeLinear", w, g.constant(np.full(96, 0.01, np.float32)), axis=1)
    x = rounded(g("MatMul", rounded("x", 0.02), w), 0.1)
    x = rounded(g("Sigmoid", x), 1 / 256)
    return g.model([("x", TensorProto.FLOAT, [16, 64])], g("MatMul", x, g.weight(96, 32)))


def tied():
    """A model that looks up rows of a table, and multiplies by its transpose."""
    g = Graph()
    table = g.weight(300, 64)
    x = g("Gather", table, "ids")
    return g.model([("ids", TensorProto.INT64, ["n"])], g("MatMul", x, g("Transpose", table, perm=[1, 0])))


ALL = MODELS | {"cases": cases, "quantized": quantized, "tied": tied}
PAIRS = [(name, "x86-64-v3") for name in ("picture", "text", "cases", "quantized", "tied")]
PAIRS += [("cases", "portable"), *((name, "sm_90a") for name in ("picture", "text", "sequence"))]


@pytest.mark.parametrize("name,target", PAIRS)
def test_same_code(name, target, tmp_path):
    path = tmp_path / f"{name}.onnx"
    onnx.save(ALL[name](), path)
    found, refusal = stage_by_stage.compare(HEWN.resolve().parents[1], path, target, [])
    assert not refusal
    assert not found, "\n".join(line for one in found for line in [one.title, *one.lines[:20]])


def test_a_failing_stage_is_a_difference(tmp_path):
    """A pass that is unknown fails its stage, while the driver compiles the model."""
    path = tmp_path / "layers.onnx"
    onnx.save(MODELS["layers"](), path)
    stages = stage_by_stage.STAGES
    try:
        stage_by_stage.STAGES = ["hewn-graph-stage", "hewn-no-stage"]
        found, refusal = stage_by_stage.compare(HEWN.resolve().parents[1], path, "x86-64-v3", [])
    finally:
        stage_by_stage.STAGES = stages
    assert not refusal and [one.title for one in found] == ["a stage failed"]
    assert any("hewn-no-stage" in line for line in found[0].lines)

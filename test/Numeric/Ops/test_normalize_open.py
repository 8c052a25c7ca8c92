# SPDX-License-Identifier: Apache-2.0
"""Normalizations whose scale and bias have other symbols as dims than the channels of the data. The
result has the dims of the data, also for the ops that read it."""

import hewn
import numpy as np
import pytest
from numeric import oracle
from onnx import TensorProto, helper, numpy_helper

CHANNELS, LINE = 4, 8


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("own", ["e", "b", CHANNELS])
@pytest.mark.parametrize("shape", [["a", "b", "c"], ["a", "b", LINE], [3, CHANNELS, LINE]])
@pytest.mark.parametrize(
    "op", ["InstanceNormalization", "BatchNormalization", "GroupNormalization", "LayerNormalization"]
)
def test_a_sum_behind(op, shape, own, keepdims):
    random = np.random.default_rng(0)
    length = LINE if op == "LayerNormalization" else CHANNELS
    if op == "LayerNormalization":
        own = {"b": "c", CHANNELS: LINE}.get(own, own)
    names = ["s", "t"] + ["m", "v"] * (op == "BatchNormalization")
    feeds = {"x": random.standard_normal((3, CHANNELS, LINE)).astype(np.float32)}
    feeds |= {name: 1 + random.random(length).astype(np.float32) for name in names}
    nodes = [
        helper.make_node(op, ["x", *names], ["n"], **({"num_groups": 2} if op == "GroupNormalization" else {})),
        helper.make_node("ReduceSum", ["n", "axes"], ["y"], keepdims=keepdims),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape if name == "x" else [own]) for name in feeds]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "n")]
    graph = helper.make_graph(nodes, "normalized", inputs, outputs, [numpy_helper.from_array(np.array([2]), "axes")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    for got, want in zip(hewn.compile(model).run(feeds).values(), oracle(model, feeds)):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)

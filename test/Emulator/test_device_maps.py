# SPDX-License-Identifier: Apache-2.0
"""Maps of a model for GPUs: the keys are constants in host or device memory, and the values are the
result of a kernel."""

import emulated
import numpy as np
import pytest
from onnx import TensorProto, helper

ML = "ai.onnx.ml"


def model_of(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "maps", inputs, outputs)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)], ir_version=8
    )


def map_of(key):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(TensorProto.FLOAT, []))


@pytest.mark.parametrize("labels", [[3, 1, 2], ["c", "a", "b"]], ids=["numbers", "names"])
def test_probabilities_by_class(labels):
    names = isinstance(labels[0], str)
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"]),
        helper.make_node(
            "ZipMap", ["p"], ["y"], domain=ML, **{"classlabels_strings" if names else "classlabels_int64s": labels}
        ),
    ]
    output = helper.make_sequence_type_proto(map_of(TensorProto.STRING if names else TensorProto.INT64))
    model = model_of(
        nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_value_info("y", output)],
    )
    x = np.array([[0, 1, 2], [3, 3, 3]], np.float32)
    weights = np.exp(x - x.max(1, keepdims=True))
    with emulated.compiled(model) as module:
        for row, want in zip(module.run({"x": x})["y"], weights / weights.sum(1, keepdims=True)):
            assert list(row) == sorted(labels)
            assert [row[label] for label in labels] == pytest.approx(want.tolist())


def test_a_dict_as_input():
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain=ML, string_vocabulary=["a", "b", "c"])
    model = model_of(
        [node],
        [helper.make_value_info("x", map_of(TensorProto.STRING))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    with emulated.compiled(model) as module:
        assert module.run({"x": {"c": 2.0, "unknown": 1.0}})["y"].tolist() == [[0, 0, 2]]

# SPDX-License-Identifier: Apache-2.0
"""weights.py FILE: writes a model with a weight that is too large to be printed in the text of a
stage."""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

weight = numpy_helper.from_array(np.arange(4096, dtype=np.float32).reshape(64, 64), "w")
value = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])],
    "g",
    [value("x", TensorProto.FLOAT, [4, 64])],
    [value("y", TensorProto.FLOAT, [4, 64])],
    [weight],
)
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), sys.argv[1])

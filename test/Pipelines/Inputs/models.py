# SPDX-License-Identifier: Apache-2.0
"""models.py FOLDER: writes `picture.onnx` and `text.onnx`, small models with many ops and symbolic
dims."""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

random = np.random.default_rng(0)


class Builder:
    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        array = (random.standard_normal(shape) / 4).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def __call__(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def save(self, path, inputs, output):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            self.weights,
        )
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


folder = pathlib.Path(sys.argv[1])

b = Builder()
x = b("Relu", b("Conv", "x", b.weight(8, 3, 3, 3), pads=[1, 1, 1, 1]))
x = b("Add", x, b("Conv", x, b.weight(8, 8, 1, 1)))
x = b("Flatten", b("GlobalAveragePool", b("MaxPool", x, kernel_shape=[2, 2])))
x = b("Gelu", b("MatMul", x, b.weight(8, 32)))
x = b("Add", x, b("ReduceMean", b("Sin", b.weight(4, 4)), keepdims=0))
b.save(folder / "picture.onnx", [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])], b("Softmax", x))

b = Builder()
x = b("LayerNormalization", b("Gather", b.weight(20, 16), "ids"), b.weight(16), b.weight(16))
q, k, v = (b("MatMul", x, b.weight(16, 16)) for _ in range(3))
scores = b("Softmax", b("MatMul", q, b("Transpose", k, perm=[0, 2, 1])))
x = b("LayerNormalization", b("Add", b("MatMul", scores, v), x), b.weight(16), b.weight(16))
b.save(folder / "text.onnx", [("ids", TensorProto.INT64, ["batch", "seq"])], b("Tanh", b("MatMul", x, b.weight(16, 4))))

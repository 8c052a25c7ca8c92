# SPDX-License-Identifier: Apache-2.0
"""GPU models that are specialized for several cases of dynamic dims. One device module contains the
kernels of all cases, with consecutive numbers."""

import emulated
import hewn
import numpy as np
from comparison import compare
from onnx import TensorProto, helper
from test_ptx import model


def test_the_case_is_taken():
    w = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    nodes = [
        helper.make_node("Squeeze", ["x"], ["s"]),
        helper.make_node("MatMul", ["s", "w"], ["p"]),
        helper.make_node("Softmax", ["p"], ["y"], axis=-1),
    ]
    squeeze = model(nodes, [("x", TensorProto.FLOAT, ["n", 1, 64])], [("y", TensorProto.FLOAT)], w=w)
    host = hewn.compile(squeeze)
    with emulated.compiled(squeeze) as module:
        assert list(module.cases) == ["n = 1", "n != 1"]
        for n in (1, 5, 1, 5, 40):  # a graph captured for one case is not replayed for the other
            feeds = {"x": np.linspace(0, 3, n * 64, dtype=np.float32).reshape(n, 1, 64)}
            compare(module.run(feeds), host.run(feeds))

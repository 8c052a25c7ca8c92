# SPDX-License-Identifier: Apache-2.0
"""1x1 convolutions as NCHW GEMMs, compared with onnxruntime. Random models have single convolutions
and chains of them, with layout-preserving ops between them, alongside convolutions that need
NHWC."""

import numpy as np
import onnx
import pytest
from numeric import check, run
from onnx import helper
from sessions import oracle

SEEDS = range(24)


class Drawn:
    """Draws a model from input to output. `value` is the last value of the model, and has
    `channels` and `size`."""

    def __init__(self, seed, kind=np.float32):
        self.generator = np.random.default_rng(seed)
        self.nodes, self.constants, self.feeds = [], [], {}
        self.items, self.channels = self.pick([1, 1, 2, 3]), self.pick([1, 3, 16, 17, 40])
        self.size = [self.pick([1, 2, 5, 16, 19, 33]) for _ in range(self.pick([1, 2, 2, 3]))]
        self.type = kind
        self.value = self.fed(self.items, self.channels, *self.size)

    def pick(self, choices):
        return choices[self.generator.integers(0, len(choices))]

    def floats(self, *shape):
        return self.generator.standard_normal(shape).astype(self.type)

    def fed(self, *shape):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = self.floats(*shape)
        return name

    def constant(self, *shape):
        name = f"w{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(self.floats(*shape), name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def matrix(self):
        """Adds a 1x1 convolution. Its weights may be an input, and its bias is optional."""
        features, ones = self.pick([1, 2, 8, 24, 33]), [1] * len(self.size)
        make = self.fed if self.pick([False, False, True]) else self.constant
        inputs = [self.value, make(features, self.channels, *ones)]
        inputs += [self.constant(features)] if self.pick([True, False]) else []
        self.value, self.channels = self.node("Conv", inputs), features

    def window(self):
        rank = len(self.size)
        inputs = [self.value, self.constant(8, self.channels, *[3] * rank)]
        self.value, self.channels = self.node("Conv", inputs, pads=[1] * (2 * rank)), 8

    def between(self):
        kind = self.pick(["relu", "sum", "scale", "concat", "none"])
        if kind == "relu":
            self.value = self.node("Relu", [self.value])
        elif kind == "sum":
            self.value = self.node("Add", [self.value, self.fed(self.items, self.channels, *self.size)])
        elif kind == "scale":
            shape = self.pick([(self.channels, *[1] * len(self.size)), tuple(self.size), (self.size[-1],)])
            self.value = self.node("Mul", [self.value, self.constant(*shape)])
        elif kind == "concat":
            self.value = self.node("Concat", [self.value, self.fed(self.items, 5, *self.size)], axis=1)
            self.channels += 5

    def model(self):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.type))
        inputs = [helper.make_tensor_value_info(name, kind, array.shape) for name, array in self.feeds.items()]
        outputs = [helper.make_empty_tensor_value_info(self.value)]
        graph = helper.make_graph(self.nodes, "pixels", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def drawn(seed, kind=np.float32):
    found = Drawn(seed, kind)
    for _ in range(found.pick([1, 1, 2, 3])):
        found.matrix()
        found.between()
        if seed % 5 == 4:
            found.window()
    return found.model(), found.feeds


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pixels(seed, target):
    """Every eighth case is in float64. onnxruntime has no float64 convolution, so that its float32
    result is the reference."""
    (want,) = oracle(*drawn(seed))
    model, feeds = drawn(seed, np.float64 if seed % 8 == 7 else np.float32)
    scale = np.abs(want).max() + 1e-3
    check([got.astype(np.float32) / scale for got in run(model, feeds, target)], [want / scale], rtol=1e-4, atol=1e-5)

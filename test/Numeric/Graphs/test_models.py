# SPDX-License-Identifier: Apache-2.0
"""Small models of many ops, each compiled once and run with many sizes, compared with
onnxruntime."""

import hewn
import numpy as np
import pytest
from numeric import TensorProto, check, oracle
from onnx import helper, numpy_helper

random = np.random.default_rng(11)


class Builder:
    """Adds nodes in order. Each call adds one and returns the name of its result."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def weight(self, *shape, scale=0.2):
        return self.constant((random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def __call__(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def model(self, inputs, output, opset=18):
        graph = helper.make_graph(
            self.nodes,
            "m",
            [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def bert(layers=2, width=32, heads=4, words=50, positions=300):
    """Builds embeddings, masked multi-head attention, normalizations and a feed-forward block as
    exporters write them: every size is computed from the input's shape."""
    b = Builder()
    ints = lambda *values: b.constant(np.int64(values))  # noqa: E731
    norm = lambda x: b("LayerNormalization", x, b.weight(width), b.weight(width))  # noqa: E731
    linear = lambda x, m, n: b("Add", b("MatMul", x, b.weight(m, n)), b.weight(n))  # noqa: E731

    shape = b("Shape", "ids")
    batch, seq = b("Gather", shape, ints(0)), b("Gather", shape, ints(1))
    places = b("Slice", b.weight(positions, width), ints(0), seq, ints(0))
    x = norm(b("Add", b("Gather", b.weight(words, width), "ids"), places))
    mask = b("Unsqueeze", b("Cast", "mask", to=TensorProto.FLOAT), ints(1, 2))
    mask = b("Mul", b("Sub", b.constant(np.float32(1)), mask), b.constant(np.float32(-1e4)))
    for _ in range(layers):
        split = b("Concat", batch, seq, ints(heads), ints(width // heads), axis=0)
        q, k, v = (
            b("Transpose", b("Reshape", linear(x, width, width), split), perm=order)
            for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        scores = b("Div", b("MatMul", q, k), b.constant(np.float32((width // heads) ** 0.5)))
        mixed = b("MatMul", b("Softmax", b("Add", scores, mask), axis=-1), v)
        joined = b("Reshape", b("Transpose", mixed, perm=[0, 2, 1, 3]), b("Concat", batch, seq, ints(width), axis=0))
        x = norm(b("Add", linear(joined, width, width), x))
        h = linear(x, width, 4 * width)
        erf = b("Erf", b("Div", h, b.constant(np.float32(2**0.5))))
        gelu = b("Mul", b("Mul", h, b("Add", erf, b.constant(np.float32(1)))), b.constant(np.float32(0.5)))
        x = norm(b("Add", linear(gelu, 4 * width, width), x))
    first = b("Gather", x, b.constant(np.int64(0)), axis=1)
    out = b("Tanh", linear(first, width, 8))
    both = [("ids", TensorProto.INT64, ["batch", "seq"]), ("mask", TensorProto.INT64, ["batch", "seq"])]
    return b.model(both, out)


@pytest.fixture(scope="module")
def compiled_bert():
    model = bert()
    return model, hewn.compile(model)


@pytest.mark.parametrize("batch, seq", [(1, 1), (1, 7), (2, 128), (1, 300), (3, 16)])
def test_bert_at_any_length(compiled_bert, batch, seq):
    model, module = compiled_bert
    assert module.inputs[0].shape == ("batch", "seq")
    mask = (np.arange(seq) < max(1, seq - 3)).astype(np.int64)
    feeds = {"ids": random.integers(0, 50, (batch, seq)), "mask": np.tile(mask, (batch, 1))}
    check(list(module.run(feeds).values()), oracle(model, feeds), rtol=1e-4, atol=1e-5)


def test_bert_at_a_length_that_is_bound():
    model = bert(layers=1)
    feeds = {"ids": random.integers(0, 50, (1, 24)), "mask": np.ones((1, 24), np.int64)}
    module = hewn.compile(model, dims={"batch": 1, "seq": 24})
    check(list(module.run(feeds).values()), oracle(model, feeds), rtol=1e-4, atol=1e-5)


def test_pictures_of_any_size():
    b = Builder()
    x = b("Relu", b("Conv", "x", b.weight(16, 3, 3, 3), b.weight(16), pads=[1, 1, 1, 1], strides=[2, 2]))
    y = b("Conv", x, b.weight(16, 1, 3, 3), b.weight(16), pads=[1, 1, 1, 1], group=16)
    y = b("Conv", b("HardSwish", y), b.weight(16, 16, 1, 1), b.weight(16))
    x = b("MaxPool", b("Add", x, y), kernel_shape=[2, 2], strides=[2, 2])
    x = b("Flatten", b("GlobalAveragePool", x))
    model = b.model([("x", TensorProto.FLOAT, ["n", 3, "h", "w"])], b("Gemm", x, b.weight(16, 10), b.weight(10)))
    module = hewn.compile(model)
    for shape in [(1, 3, 32, 32), (2, 3, 17, 23), (1, 3, 4, 4)]:
        feeds = {"x": random.standard_normal(shape).astype(np.float32)}
        check(list(module.run(feeds).values()), oracle(model, feeds), rtol=1e-4, atol=1e-5)


def test_many_dims():
    """The tensor has more dims (7) than the compiler's dim lists store inline."""
    b = Builder()
    x = b("Transpose", "x", perm=[6, 0, 5, 1, 4, 2, 3])
    x = b("Softmax", b("Mul", x, b.weight(1, 2, 1, 3, 1, 2, 1)), axis=3)
    model = b.model([("x", TensorProto.FLOAT, [2, 3, 2, 2, 3, 2, 4])], b("ReduceSum", x, b.constant(np.int64([1, 6]))))
    feeds = {"x": random.standard_normal((2, 3, 2, 2, 3, 2, 4)).astype(np.float32)}
    check(list(hewn.compile(model).run(feeds).values()), oracle(model, feeds))


@pytest.mark.parametrize("features", [1, 2])
def test_half_floats_by_groups(features):
    """A grouped float16 convolution has no GEMM kernel and uses plain loops."""
    x = random.standard_normal((2, 4, 11)).astype(np.float16)
    w = random.standard_normal((4 * features, 1, 4)).astype(np.float16)
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=4)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    want = np.stack(
        [np.apply_along_axis(np.correlate, 1, x[:, i // features].astype(np.float32), w[i, 0]) for i in range(len(w))],
        axis=1,
    )
    (got,) = hewn.compile(model).run({"x": x}).values()
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)

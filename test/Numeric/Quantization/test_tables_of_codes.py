# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of one 8-bit integer, which the compiler replaces by lookup tables. Tests
every integer of both types, in each context where a table may occur."""

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def model_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Chain:
    """Builds quantized (QDQ) nodes as exporters write them."""

    def __init__(self, dtype):
        self.nodes, self.constants, self.dtype = [], {}, dtype

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def steps(self, scale, zero):
        count = len(self.constants)
        self.constants |= {f"s{count}": np.float32(scale), f"z{count}": self.dtype(zero)}
        return f"s{count}", f"z{count}"

    def quantized(self, x, scale, zero):
        return self.add("QuantizeLinear", x, *self.steps(scale, zero))

    def rounded(self, x, scale, zero):
        scales = self.steps(scale, zero)
        return self.add("DequantizeLinear", self.add("QuantizeLinear", x, *scales), *scales)

    def swish(self, x, zero):
        """Adds nodes for x * sigmoid(x), with QuantizeLinear and DequantizeLinear after both
        ops."""
        return self.rounded(self.add("Mul", x, self.rounded(self.add("Sigmoid", x), 1 / 255, zero)), 0.03, zero)


def tables_in(model, target):
    return hewn._compile(model, emit="kernels", target=target).count("graph.map_codes")


def agrees(model, feeds, target):
    """Compares with the same ops, executed one by one with libm. Both round the same values."""
    got = compiled(model, target).run(feeds)
    want = hewn.compile(model, optimize=False).run(feeds)
    for name, expected in want.items():
        np.testing.assert_array_equal(got[name], expected, err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(2048,), (16, 129), (3, 7, 101), ("n", 3)])
def test_every_integer(dtype, shape, target):
    limits = np.iinfo(dtype)
    zero = (limits.min + limits.max) // 2
    chain = Chain(dtype)
    x = chain.add("DequantizeLinear", "x", *chain.steps(0.05, zero))
    y = chain.quantized(chain.add("Tanh", chain.swish(x, zero)), 1 / 127, zero)
    numbers = chain.swish(x, limits.min)
    codes = np.arange(limits.min, limits.max + 1).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [(y, element), (numbers, TensorProto.FLOAT)]
    model = model_of(chain.nodes, [("x", element, shape)], outputs, chain.constants)
    assert tables_in(model, "x86-64-v3") > 0
    for rows in (0, 1, 11, 86) if "n" in shape else shape[:1]:
        agrees(model, {"x": np.resize(codes, (rows, *shape[1:]))}, target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("columns", [35, 48, 72])
def test_behind_a_product(dtype, columns, target):
    """The table lookup is in the epilogue of a GEMM with a partial last panel. Another op also
    reads the quantized result of the GEMM."""
    generator = np.random.default_rng(3)
    zero = dtype(np.iinfo(dtype).min + 100)
    chain = Chain(dtype)
    chain.constants["w"] = generator.standard_normal((24, columns)).astype(np.float32)
    scales = chain.steps(0.07, zero)
    code = chain.add("QuantizeLinear", chain.add("MatMul", "x", "w"), *scales)
    y = chain.swish(chain.add("DequantizeLinear", code, *scales), zero)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [(y, TensorProto.FLOAT), (code, element)]
    model = model_of(chain.nodes, [("x", TensorProto.FLOAT, (67, 24))], outputs, chain.constants)
    assert tables_in(model, "x86-64-v3") > 0
    feeds = {"x": generator.integers(-8, 8, (67, 24)).astype(np.float32) / 8}
    got, want = compiled(model, target).run(feeds), hewn.compile(model, optimize=False).run(feeds)
    # the GEMM may add in another order than the reference, which may change a rounded integer by
    # one
    same = got[code] == want[code]
    assert same.mean() > 0.98
    np.testing.assert_array_equal(got[y][same], want[y][same])


def test_what_has_no_table():
    """The compiler forms no table for per-column scales, a second operand, a dynamic scale, too few
    elements, or if the gain is too small."""
    chain = Chain(np.uint8)
    chain.constants |= {"columns": np.linspace(0.1, 1, 64, dtype=np.float32)}
    x = chain.rounded("x", 0.05, 128)
    by_columns = chain.quantized(chain.add("Sigmoid", chain.add("Mul", x, "columns")), 1 / 255, 0)
    of_two = chain.quantized(chain.add("Sigmoid", chain.add("Mul", x, "other")), 1 / 255, 0)
    short = chain.quantized(chain.add("Relu", x), 0.04, 0)
    by_a_scale = chain.quantized(chain.add("Sigmoid", chain.add("Mul", x, "scale")), 1 / 255, 0)
    few = chain.swish(chain.rounded("few", 0.05, 128), 7)
    inputs = [
        ("few", TensorProto.FLOAT, (7, 64)),
        ("x", TensorProto.FLOAT, (40, 64)),
        ("other", TensorProto.FLOAT, (40, 64)),
        ("scale", TensorProto.FLOAT, ()),
    ]
    outputs = [(y, TensorProto.UINT8) for y in (by_columns, of_two, short, by_a_scale)]
    model = model_of(chain.nodes, inputs, [*outputs, (few, TensorProto.FLOAT)], chain.constants)
    assert tables_in(model, "x86-64-v3") == 0

# SPDX-License-Identifier: Apache-2.0
"""Slice clamps starts and ends as ONNX defines, for constant and dynamic dims, starts, ends and
steps."""

import itertools

import hewn
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

I64 = TensorProto.INT64
LEAST, MOST = -(2**63), 2**63 - 1
SIZES = (0, 1, 4, 5, 8, 11)
BOUNDS = (LEAST, -(2**62), -(2**31), -100, -9, -8, -5, -1, 0, 3, 8, 100, 2**31 - 1, 2**31, MOST)
STEPS = (1, 2, -1, -2, -3, 2**40, -(2**40), MOST, -MOST, LEAST)


def expected(n, start, end, step):
    """Returns the indices that ONNX's definition selects."""
    start, end = (v + n if v < 0 else v for v in (start, end))
    if step > 0:
        start, end = min(max(start, 0), n), min(max(end, 0), n)
    else:
        start, end = min(max(start, 0), n - 1), min(max(end, -1), n - 1)
    return list(range(start, end, step))


def value(name, *dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def build(nodes, inputs, outputs, constants=()):
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants]
    graph = helper.make_graph(nodes, "slices", inputs, [value(name, None) for name in outputs], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def sampled(count):
    """Returns `count` triples of start, end and step, each bound and step among them."""
    every = list(itertools.product(BOUNDS, BOUNDS, STEPS))
    picked = np.random.default_rng(5).permutation(len(every))[:count]
    downward = [(-8, -100, -1), (-8, LEAST, -3), (-8, -5, -2), (-8, -9, -1), (LEAST, LEAST, -1), (LEAST, 2, 1)]
    return downward + [every[i] for i in picked]


def test_constant_bounds():
    """Slices of a constant and of a dynamic dim."""
    triples = sampled(60)
    known = {f"{prefix}{v}": [v] for triple in triples for prefix, v in zip("bbs", triple)}
    constants = [*known.items(), ("axes", [0])]
    nodes = [
        helper.make_node("Slice", ["x", f"b{a}", f"b{b}", "axes", f"s{s}"], [f"y{i}"])
        for i, (a, b, s) in enumerate(triples)
    ]
    outputs = [f"y{i}" for i in range(len(triples))]
    dynamic = hewn.compile(build(nodes, [value("x", "n")], outputs, constants))
    static = {n: hewn.compile(build(nodes, [value("x", n)], outputs, constants)) for n in (4, 8)}
    for n in SIZES:
        x = np.arange(n, dtype=np.float32)
        for module in [dynamic, static[n]] if n in static else [dynamic]:
            got = module.run({"x": x})
            for i, triple in enumerate(triples):
                assert got[f"y{i}"].tolist() == expected(n, *triple), (n, triple)


@pytest.mark.parametrize("dim", ["n", 8])
def test_bounds_of_the_run(dim):
    operands = ["start", "end", "axes", "step"]
    inputs = [value("x", dim), *(value(name, 1, kind=I64) for name in operands if name != "axes")]
    nodes = [helper.make_node("Slice", ["x", *operands], ["y"])]
    module = hewn.compile(build(nodes, inputs, ["y"], [("axes", [0])]))
    for n in SIZES if dim == "n" else [8]:
        x = np.arange(n, dtype=np.float32)
        for triple in sampled(150):
            feeds = dict(zip(("start", "end", "step"), (np.array([v]) for v in triple)))
            assert module.run({"x": x, **feeds})["y"].tolist() == expected(n, *triple), (n, triple)


def test_several_axes_in_a_branch():
    constants = [("starts", [-8, 1]), ("ends", [-100, 2**31]), ("axes", [0, 1]), ("steps", [-1, 2])]
    sliced = helper.make_node("Slice", ["x", *(name for name, _ in constants)], ["t"])
    whole = helper.make_node("Identity", ["x"], ["e"])
    branches = {
        "then_branch": helper.make_graph([sliced], "then", [], [value("t", None, None)]),
        "else_branch": helper.make_graph([whole], "else", [], [value("e", None, None)]),
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    model = build([node], [value("x", "n", "m"), value("c", kind=TensorProto.BOOL)], [], constants)
    model.graph.output.append(value("y", None, None))
    module = hewn.compile(model)
    for n in SIZES:
        x = np.arange(n * 5, dtype=np.float32).reshape(n, 5)
        got = module.run({"x": x, "c": np.array(True)})["y"]
        np.testing.assert_array_equal(got, x[expected(n, -8, -100, -1)][:, 1::2])


@pytest.mark.parametrize("dim", ["n", 2**31 + 8])
def test_bounds_within_long_dims(dim):
    """Bounds of at least 2^31 are no infinity in dims that are longer. The tensor has no elements,
    so that it needs no memory."""
    spans = [(2**31, 2**31 + 4), (0, 2**31 + 4), (-(2**31), MOST), (-(2**31) - 4, -4), (-3, 2**31 + 7)]
    operands = [helper.make_node("Slice", ["x", f"a{i}", f"b{i}"], [f"y{i}"]) for i in range(len(spans))]
    constants = [(f"{name}{i}", [v]) for i, span in enumerate(spans) for name, v in zip("ab", span)]
    outputs = [f"y{i}" for i in range(len(spans))]
    model = build(operands, [value("x", dim, 0)], [], constants)
    model.graph.output.extend(value(name, None, 0) for name in outputs)
    n = 2**31 + 8
    got = hewn.compile(model).run({"x": np.empty((n, 0), np.float32)})
    for name, (start, end) in zip(outputs, spans):
        first, last = (min(v + n if v < 0 else v, n) for v in (start, end))
        assert got[name].shape == (last - first, 0), (start, end)


def test_32_bit_infinity_of_a_dynamic_dim():
    """Converters write INT32_MAX for the end of a dim. A dim that is longer gives an error."""
    model = build([helper.make_node("Slice", ["x", "a", "b"], ["y"])], [value("x", "n", 0)], [])
    for name, v in (("a", 1), ("b", 2**31 - 1)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([v]), name))
    model.graph.output.append(value("y", None, 0))
    module = hewn.compile(model)
    assert module.run({"x": np.empty((7, 0), np.float32)})["y"].shape == (6, 0)
    with pytest.raises(hewn.RunError, match="2147483646"):
        module.run({"x": np.empty((2**31 + 8, 0), np.float32)})

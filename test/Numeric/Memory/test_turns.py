# SPDX-License-Identifier: Apache-2.0
"""Kernels whose result has another innermost dim than their operands (in-register transposes, with
full and partial vectors and rows), and prefix scans."""

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper

# Each case of a transpose has a shape and a permutation. Rows have no elements, fewer than a
# vector, as many as a vector, or more. Some shapes have further dims.
ORDERS = [
    ((2, 50, 2), (0, 2, 1)),
    ((1, 3, 40, 37), (0, 2, 3, 1)),
    ((5, 37, 40, 3), (0, 3, 1, 2)),
    ((64, 48), (1, 0)),
    ((33, 70), (1, 0)),
    ((17, 9), (1, 0)),
    ((100, 5), (1, 0)),
    ((5, 100), (1, 0)),
    ((12, 100), (1, 0)),
    ((7, 3, 20, 30), (2, 3, 0, 1)),
    ((3, 16, 16), (2, 1, 0)),
    ((31, 2, 15), (2, 1, 0)),
    ((40, 6, 30), (1, 2, 0)),
    ((8, 12, 20), (2, 0, 1)),
]
TYPES = [np.float32, np.float16, np.float64, np.int64, np.int8]


def built(nodes, inputs, outputs):
    values = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "turned", values, results)
    for result in graph.output:
        result.type.tensor_type.elem_type = inputs[0][1]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
def test_transpositions(target, dtype, dynamic):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for shape, order in ORDERS:
        x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=order), helper.make_node("Add", ["t", "t"], ["y"])]
        inputs = [("x", kind, [f"d{i}" for i in range(len(shape))] if dynamic else shape)]
        module = compiled(built(nodes, inputs, ["y"]), target)
        want = x.transpose(order)
        np.testing.assert_array_equal(module.run({"x": x})["y"], want + want, err_msg=f"{shape} {order}")


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 20])
def test_borders_and_subviews(channels):
    """Tests conversions between NCHW and NHWC in a kernel with padding, which loads elements one by
    one, or with subviews."""
    random = np.random.default_rng(1)
    x, y = (random.standard_normal((2, channels, 9, 35)).astype(np.float32) for _ in "xy")
    nodes = [
        helper.make_node("Constant", [], ["pads"], value_ints=[0, 0, 1, 1, 0, 0, 2, 0]),
        helper.make_node("Pad", ["x", "pads"], ["p"]),
        helper.make_node("Transpose", ["p"], ["a"], perm=(0, 2, 3, 1)),
        helper.make_node("Concat", ["x", "y"], ["c"], axis=1),
        helper.make_node("Transpose", ["c"], ["b"], perm=(0, 2, 3, 1)),
        helper.make_node("Neg", ["a"], ["first"]),
        helper.make_node("Neg", ["b"], ["second"]),
    ]
    model = built(nodes, [(n, TensorProto.FLOAT, x.shape) for n in "xy"], ["first", "second"])
    got = hewn.compile(model).run({"x": x, "y": y})
    padded = np.pad(x, [(0, 0), (0, 0), (1, 2), (1, 0)])
    np.testing.assert_array_equal(got["first"], -padded.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(got["second"], -np.concatenate([x, y], 1).transpose(0, 2, 3, 1))


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("size", [(6, 10), (8, 8)], ids=str)
def test_pictures_as_tokens_and_back(batch, size):
    """Reshapes and Transposes before and after 1x1 windows do not copy contiguous elements."""
    random = np.random.default_rng(2)
    height, width = size
    x = random.standard_normal((batch, 6, height, width)).astype(np.float32)
    w = random.standard_normal((12, 6, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Reshape", ["c", "tokens"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=(0, 2, 1)),
        helper.make_node("Softmax", ["t"], ["s"], axis=-1),
        helper.make_node("Transpose", ["s"], ["u"], perm=(0, 2, 1)),
        helper.make_node("Reshape", ["u", "groups"], ["g"]),
        helper.make_node("Transpose", ["g"], ["h"], perm=(0, 2, 1, 3, 4)),
        helper.make_node("Reshape", ["h", "picture"], ["p"]),
        helper.make_node("Conv", ["p", "v"], ["y"]),
        helper.make_node("Reshape", ["p", "flat"], ["f"]),
    ]
    model = built(nodes, [("x", TensorProto.FLOAT, ["n", 6, height, width])], ["y", "f", "t"])
    v = random.standard_normal((5, 12, 1, 1)).astype(np.float32)
    shapes = {
        "tokens": [0, 12, -1],
        "groups": [0, 3, 4, height, width],
        "picture": [0, 12, height, width],
        "flat": [0, -1],
    }
    for name, value in {"w": w, "v": v, **{n: np.array(s) for n, s in shapes.items()}}.items():
        model.graph.initializer.append(
            helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape, value)
        )
    t = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]).reshape(batch, 12, -1).transpose(0, 2, 1)
    s = np.exp(t - t.max(-1, keepdims=True))
    s /= s.sum(-1, keepdims=True)
    p = (
        s.transpose(0, 2, 1)
        .reshape(batch, 3, 4, height, width)
        .transpose(0, 2, 1, 3, 4)
        .reshape(batch, 12, height, width)
    )
    want = {"y": np.einsum("nchw,oc->nohw", p, v[:, :, 0, 0]), "f": p.reshape(batch, -1), "t": t}
    got = hewn.compile(model).run({"x": x})
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 40, 33), (7,), (5, 1, 9), (4, 64, 1)], ids=str)
def test_running_sums(shape, dynamic):
    """Prefix scans along any dim. The kernel vectorizes across the other dims, or along contiguous
    rows."""
    x = np.round(np.random.default_rng(3).standard_normal(shape) * 9).astype(np.float32)
    for axis in range(len(shape)):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                node = helper.make_node("CumSum", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
                given = [f"d{i}" for i in range(len(shape))] if dynamic else shape
                model = built([node], [("x", TensorProto.FLOAT, given)], ["y"])
                model.graph.initializer.append(helper.make_tensor("axis", TensorProto.INT64, [], [axis]))
                ordered = np.flip(x, axis) if reverse else x
                want = np.cumsum(ordered, axis) - (ordered if exclusive else 0)
                want = np.flip(want, axis) if reverse else want
                np.testing.assert_array_equal(hewn.compile(model).run({"x": x})["y"], want)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("heads", [2, 4, 7, 16])
@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
def test_rows_that_lie_apart(target, heads, dynamic):
    """A Softmax between two Transposes reads strided rows, because a small number of heads is the
    innermost dim."""
    x = np.random.default_rng(5).standard_normal((2, 30, 37, heads)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Softmax", ["t"], ["s"], axis=3),
        helper.make_node("Transpose", ["s"], ["y"], perm=[0, 2, 3, 1]),
    ]
    given = ["b", "h", "w", heads] if dynamic else x.shape
    raised = np.exp(x - x.max(axis=2, keepdims=True))
    got = compiled(built(nodes, [("x", TensorProto.FLOAT, given)], ["y"]), target).run({"x": x})
    np.testing.assert_allclose(got["y"], raised / raised.sum(axis=2, keepdims=True), rtol=1e-5, atol=1e-7)

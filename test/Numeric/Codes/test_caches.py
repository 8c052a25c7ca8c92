# SPDX-License-Identifier: Apache-2.0
"""Key and value caches in 8-bit integers. A decoder step quantizes the new entry, concatenates it
with the cache, and dequantizes the full cache for the attention."""

import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
HEADS, DEPTH = 3, 48
# Shapes of the scales: one scale for the cache, one per head, and one per element of the head dim,
# which is the K dimension of the scores.
SCALES = {"one": (), "heads": (1, HEADS, 1, 1), "depth": (1, 1, 1, DEPTH)}


def step(scale, kind, zero, rows, length, turned):
    """Builds attention of `rows` queries over a cache of `length` entries and a new one. With
    `turned`, the model stores the keys transposed, as the MatMul reads them."""
    random = np.random.default_rng(5)
    shape, element = SCALES[scale], {"int8": np.int8, "uint8": np.uint8}[kind]
    scales = random.uniform(0.02, 0.05, shape).astype("f")
    zeros = np.full(shape, zero or 0, element)
    initializers, nodes = {}, []
    for c in "kv":
        last = c == "k" and turned
        own = np.swapaxes(scales, 2, 3) if last and shape else scales
        initializers |= {f"s{c}": own, f"z{c}": np.full(own.shape, zero or 0, element)}
        axes = [d for d, n in enumerate(own.shape) if n > 1]
        attributes = {"axis": axes[0]} if axes else {}
        if axes:
            initializers |= {f"s{c}": own.reshape(-1), f"z{c}": zeros.reshape(-1)}
        quantize = [f"s{c}", f"z{c}"]
        parameters = quantize if zero is not None else quantize[:1]
        nodes += [
            helper.make_node("QuantizeLinear", [f"{c}n", *quantize], [f"{c}q"], **attributes),
            helper.make_node("Concat", [f"{c}p", f"{c}q"], [f"{c}a"], axis=3 if last else 2),
            helper.make_node("DequantizeLinear", [f"{c}a", *parameters], [f"{c}f"], **attributes),
        ]
    if not turned:
        nodes.append(helper.make_node("Transpose", ["kf"], ["kt"], perm=[0, 1, 3, 2]))
    nodes += [
        helper.make_node("MatMul", ["q", "kf" if turned else "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "vf"], ["y"]),
    ]
    past = length if isinstance(length, int) else 77
    float_of = lambda *s: random.standard_normal(s).astype("f")  # noqa: E731
    whole = {
        "q": float_of(1, HEADS, rows, DEPTH) / 3,
        "kn": float_of(1, HEADS, 1, DEPTH),
        "vn": float_of(1, HEADS, 1, DEPTH),
    }
    info = np.iinfo(element)
    whole |= {
        f"{c}p": random.integers(info.min, info.max, (1, HEADS, past, DEPTH), endpoint=True).astype(element)
        for c in "kv"
    }
    if turned:
        whole |= {name: np.ascontiguousarray(np.swapaxes(whole[name], 2, 3)) for name in ("kn", "kp")}

    def dims(name):
        return [length if n == past and name[-1] == "p" else n for n in whole[name].shape]

    graph = helper.make_graph(
        nodes,
        "step",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), dims(n)) for n, a in whole.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        + [
            helper.make_tensor_value_info(f"{c}a", helper.np_dtype_to_tensor_dtype(np.dtype(element)), None)
            for c in "kv"
        ],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), whole


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind, zero", [("int8", 0), ("int8", None), ("int8", 3), ("uint8", 128)])
@pytest.mark.parametrize("length", ["past", 77])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("scale, rows", [("one", 1), ("one", 3), ("heads", 1), ("depth", 1)])
def test_step(scale, rows, turned, length, kind, zero, target):
    model, feeds = step(scale, kind, zero, rows, length, turned)
    want = list(compiled(model, target, optimize=False).run(feeds).values())
    got = list(compiled(model, target).run(feeds).values())
    np.testing.assert_allclose(got[0], want[0], rtol=0, atol=1e-5 * np.abs(want[0]).max())
    for kept, expected in zip(got[1:], want[1:]):
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("past", [0, 1, 500])
def test_any_length(past):
    model, feeds = step("one", "int8", 0, 1, "past", False)
    random = np.random.default_rng(past)
    feeds |= {n: random.integers(-128, 128, (1, HEADS, past, DEPTH)).astype(np.int8) for n in ("kp", "vp")}
    got, want = (compiled(model, optimize=on).run(feeds)["y"] for on in (True, False))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("by_heads", [False, True])
@pytest.mark.parametrize("kind, zero", [("int8", 0), ("uint8", 127)])
@pytest.mark.parametrize("length", ["past", 77])
def test_heads_that_several_read(length, kind, zero, by_heads, target):
    """Grouped-query attention: the model repeats the integer keys and values for the queries of a
    group."""
    random, groups, shared, element = np.random.default_rng(6), 4, 2, {"int8": np.int8, "uint8": np.uint8}[kind]
    scales = random.uniform(0.02, 0.05, shared if by_heads else ()).astype("f")
    initializers = {"s": scales, "z": np.full(scales.shape, zero, element)}
    initializers |= {"two": np.array([2]), "times": np.array([1, 1, groups, 1, 1])}
    initializers["heads"] = np.array([1, groups * shared, -1, DEPTH])
    nodes = []
    for c in "kv":
        nodes += [
            helper.make_node("DequantizeLinear", [c, "s", "z"], [f"{c}f"], axis=1),
            helper.make_node("Unsqueeze", [f"{c}f", "two"], [f"{c}u"]),
            helper.make_node("Expand", [f"{c}u", "times"], [f"{c}e"]),
            helper.make_node("Reshape", [f"{c}e", "heads"], [f"{c}r"]),
        ]
    nodes += [
        helper.make_node("Transpose", ["kr"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "vr"], ["y"]),
    ]
    feeds = {"q": random.standard_normal((1, groups * shared, 1, DEPTH)).astype("f") / 3}
    info = np.iinfo(element)
    for c in "kv":
        feeds[c] = random.integers(info.min, info.max, (1, shared, 77, DEPTH), endpoint=True).astype(element)
    graph = helper.make_graph(
        nodes,
        "groups",
        [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(a.dtype), [length if d == 77 else d for d in a.shape]
            )
            for n, a in feeds.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    got, want = (compiled(model, target, optimize=on).run(feeds)["y"] for on in (True, False))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


PRODUCTS = [
    ((40,), (40, 24)),
    ((1, 40), (40, 24)),
    ((3, 1, 40), (40, 24)),
    ((1, 40), (3, 40, 24)),
    ((2, 1, 1, 40), (3, 40, 24)),
    ((3, 1, 40), (3, 40, 1)),
    ((1, 40), (40,)),
    ((5, 40), (40, 1)),
    ((2, 3, 1, 7), (2, 3, 7, 24)),
    ((1, 3000), (3000, 24)),
]


@pytest.mark.parametrize("kind, zero", [("int8", 0), ("uint8", 130)])
@pytest.mark.parametrize("left, right", PRODUCTS)
def test_any_product(left, right, kind, zero):
    """Tests a MatMul whose inputs are dequantized integers, with a scalar scale and with a scale
    along each dim."""
    random, element = np.random.default_rng(len(left) + right[0]), {"int8": np.int8, "uint8": np.uint8}[kind]
    info = np.iinfo(element)
    feeds = {"x": random.standard_normal(left).astype("f")}
    feeds["q"] = random.integers(info.min, info.max, right, endpoint=True).astype(element)
    for axis in (None, *range(len(right))):
        scale = random.uniform(0.02, 0.05, () if axis is None else right[axis]).astype("f")
        attributes = {} if axis is None else {"axis": axis}
        nodes = [
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], **attributes),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            "product",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in feeds.items()
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(np.full(scale.shape, zero, element), "z")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        got, want = (compiled(model, optimize=on).run(feeds)["y"] for on in (True, False))
        wide = (feeds["q"].astype("d") - zero) * scale.max()
        size = np.abs(np.matmul(np.abs(feeds["x"]), np.abs(wide))).max()
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * size)

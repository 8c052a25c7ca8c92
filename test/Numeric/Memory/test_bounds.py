# SPDX-License-Identifier: Apache-2.0
"""Each access is inside of its tensor. The element type of an index guarantees this, or a check at
run time reports an error."""

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper

F = np.float32


def ones(*shape, dtype=F):
    return np.ones(shape, dtype)


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


def model_of(nodes, inputs, outputs, opset=22):
    """Builds a model. `inputs` maps a name to element type and dims. Each None is a symbolic dim of
    its own."""
    values = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
            [f"{name}{d}" if n is None else n for d, n in enumerate(dims)],
        )
        for name, (dtype, dims) in inputs.items()
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "bounds", values, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def compiled(op, attributes, feeds, known=(), outputs=("y",), opset=22):
    """Compiles one node. All dims are distinct symbols, except those in `known`, a list of pairs
    (input, dim)."""
    inputs = {
        f"x{i}": (a.dtype, [n if (i, d) in known else None for d, n in enumerate(a.shape)]) for i, a in enumerate(feeds)
    }
    return hewn.compile(
        model_of([helper.make_node(op, list(inputs), list(outputs), **attributes)], inputs, outputs, opset)
    )


def run(module, feeds):
    return module.run({f"x{i}": a for i, a in enumerate(feeds)})["y"]


BOXES = np.array([[0, 0, 2, 2]] * 2, F)
LENGTHS = np.full(2, 3, np.int32)
GRU = [ones(3, 2, 4), ones(1, 9, 4), ones(1, 9, 3), ones(1, 18), LENGTHS, ones(1, 2, 3)]
LSTM = [ones(3, 2, 4), ones(1, 12, 4), ones(1, 12, 3), ones(1, 24), LENGTHS, *[ones(1, 2, 3)] * 2, ones(1, 9)]
TURNS = [(0, 1), (0, 3), (1, 1), (2, 1)]
# Each case has op, attributes, valid inputs, invalid inputs, constant dims, and the expected
# message.
CASES = [
    ("GatherElements", {"axis": 1}, [ones(3, 4), zeros(3, 2)], [ones(3, 4), zeros(5, 2)], [], "takes 5 elements along a dim that has 3"),
    ("GatherND", {"batch_dims": 1}, [ones(3, 4), zeros(3, 2, 1)], [ones(3, 4), zeros(5, 2, 1)], [(1, 2)], "equal, and are 5 and 3"),
    ("Einsum", {"equation": "ii->i"}, [ones(3, 3)], [ones(4, 3)], [], "equal, and are 3 and 4"),
    ("ScatterElements", {}, [ones(3, 4), zeros(2, 4), ones(2, 4)], [ones(3, 4), zeros(2, 6), ones(2, 6)], [], "takes 6 elements along a dim that has 4"),
    ("ScatterElements", {}, [ones(3, 4), zeros(2, 4), ones(2, 4)], [ones(3, 4), zeros(2, 4), ones(2, 3)], [], "equal, and are 3 and 4"),
    ("ScatterND", {}, [ones(4, 3), zeros(2, 1), ones(2, 3)], [ones(4, 3), zeros(2, 1), ones(1, 3)], [(1, 1)], "equal, and are 1 and 2"),
    ("ReverseSequence", {}, [ones(4, 3), zeros(3)], [ones(4, 3), zeros(2)], [], "equal, and are 2 and 3"),
    ("ReverseSequence", {}, [ones(4, 3), np.array([0, 1, 4])], [ones(4, 3), np.array([0, 5, 4])], [], "value 5 is above the highest valid value, 4"),
    ("ReverseSequence", {}, [ones(4, 3), np.array([0, 1, 4])], [ones(4, 3), np.array([0, -1, 4])], [], "value -1 is below the lowest valid value, 0"),
    ("ReverseSequence", {"time_axis": 1, "batch_axis": 0}, [ones(4, 3), np.full(4, 3)], [ones(4, 3), np.full(4, 4)], [(0, 0), (0, 1)], "value 4 is above the highest valid value, 3"),
    ("RoiAlign", {}, [ones(1, 1, 4, 4), BOXES, zeros(2)], [ones(1, 1, 4, 4), BOXES * F(9000), zeros(2)], [(1, 1)], "samples in each bin are too many"),
    ("TensorScatter", {}, [ones(2, 4, 3), ones(2, 2, 3), zeros(2)], [ones(2, 4, 3), ones(1, 2, 3), zeros(2)], [], "equal, and are 1 and 2"),
    ("TensorScatter", {}, [ones(2, 4, 3), ones(2, 2, 3), zeros(2)], [ones(2, 4, 3), ones(2, 2, 3), zeros(1)], [], "equal, and are 1 and 2"),
    ("Attention", {}, [ones(2, 1, 3, 4)] * 3, [ones(2, 1, 3, 4), ones(1, 1, 3, 4), ones(1, 1, 3, 4)], [(i, d) for i in range(3) for d in (1, 3)], "equal, and are 1 and 2"),
    ("RoiAlign", {"output_height": 2, "output_width": 2}, [ones(1, 1, 4, 4), BOXES, zeros(2)], [ones(1, 1, 4, 4), BOXES, zeros(1)], [(1, 1)], "equal, and are 1 and 2"),
    ("NegativeLogLikelihoodLoss", {}, [ones(3, 5), zeros(3)], [ones(3, 5), zeros(4)], [], "equal, and are 4 and 3"),
    ("SoftmaxCrossEntropyLoss", {}, [ones(3, 5), zeros(3)], [ones(3, 5), zeros(2)], [], "equal, and are 2 and 3"),
    ("SoftmaxCrossEntropyLoss", {}, [ones(3, 5), zeros(3), ones(5)], [ones(3, 5), zeros(3), ones(4)], [], "equal, and are 4 and 5"),
    ("GridSample", {"padding_mode": "reflection"}, [ones(1, 1, 4, 4), ones(1, 2, 2, 2)], [ones(1, 1, 4, 0), ones(1, 2, 2, 2)], [(1, 3)], "takes 1 elements along a dim that has 0"),
    ("GridSample", {}, [ones(2, 1, 4, 4), ones(2, 2, 2, 2)], [ones(2, 1, 4, 4), ones(1, 2, 2, 2)], [(1, 3)], "equal, and are 1 and 2"),
    ("Det", {}, [ones(2, 2)], [ones(2, 3)], [], "equal, and are 2 and 3"),
    ("BatchNormalization", {}, [ones(2, 3, 4), *[ones(3)] * 4], [ones(2, 3, 4), ones(1), *[ones(3)] * 3], [], "equal, and are 1 and 3"),
    ("BatchNormalization", {}, [ones(2, 3, 4), *[ones(3)] * 4], [ones(2, 1, 4), *[ones(3)] * 4], [], "equal, and are 3 and 1"),
    ("InstanceNormalization", {}, [ones(2, 3, 4), ones(3), ones(3)], [ones(2, 3, 4), ones(3), ones(1)], [], "equal, and are 1 and 3"),
    ("LayerNormalization", {}, [ones(2, 3), ones(2, 3)], [ones(1, 3), ones(2, 3)], [], "a dim of 2 is neither 1 nor the 1"),
    ("RMSNormalization", {}, [ones(2, 3), ones(2, 3)], [ones(1, 3), ones(2, 3)], [], "a dim of 2 is neither 1 nor the 1"),
    ("Gemm", {}, [ones(2, 3), ones(3, 4), ones(2, 4)], [ones(1, 3), ones(3, 4), ones(2, 4)], [], "a dim of 2 is neither 1 nor the 1"),
    ("Conv", {"group": 2}, [ones(1, 4, 5), ones(4, 2, 3)], [ones(1, 4, 5), ones(5, 2, 3)], [(1, 2)], "equal, and are 4 and 5"),
    ("Conv", {}, [ones(1, 2, 5), ones(4, 2, 3), ones(4)], [ones(1, 2, 5), ones(4, 2, 3), ones(1)], [(1, 2)], "equal, and are 1 and 4"),
    ("Conv", {"group": 2}, [ones(1, 4, 5), ones(4, 2, 3)], [ones(1, 6, 5), ones(4, 2, 3)], [(1, 2)], "equal, and are 6 and 4"),
    ("OneHot", {}, [zeros(2), np.array(3), ones(2)], [zeros(2), np.array(-3), ones(2)], [], "takes 0 elements along a dim that has -3"),
    ("DequantizeLinear", {"axis": 1, "block_size": 2}, [ones(3, 4, dtype=np.int8), ones(3, 2)], [ones(3, 4, dtype=np.int8), ones(3, 3)], [], "equal, and are 3 and 2"),
    ("DequantizeLinear", {"axis": 1, "block_size": 2}, [ones(3, 4, dtype=np.int8), ones(3, 2)], [ones(3, 4, dtype=np.int8), ones(1, 2)], [], "equal, and are 1 and 3"),
    ("GRU", {"hidden_size": 3}, GRU, [*GRU[:-1], ones(1, 1, 3)], [], "equal, and are 1 and 2"),
    ("GRU", {"hidden_size": 3}, GRU, [GRU[0], ones(2, 9, 4), *GRU[2:]], [], "equal, and are 2 and 1"),
    ("GRU", {"hidden_size": 3}, GRU, [GRU[0], ones(1, 6, 4), ones(1, 6, 2), ones(1, 12), LENGTHS, ones(1, 2, 2)], [], "equal, and are 2 and 3"),
    ("BatchNormalization", {"training_mode": 1}, [ones(2, 3, 4), *[ones(3)] * 4], [ones(2, 3, 4), *[ones(3)] * 3, ones(1)], [], "equal, and are 1 and 3"),
    ("DFT", {"onesided": 1}, [ones(1, 4, 1)], [ones(1, 0, 1)], [(0, 2)], "takes 1 elements along a dim that has 0"),
    ("STFT", {}, [ones(1, 8, 1), np.array(2), ones(4)], [ones(1, 8, 1), np.array(0), ones(4)], [(0, 2)], "takes 1 elements along a dim that has 0"),
    ("LSTM", {"hidden_size": 3}, LSTM, [*LSTM[:6], ones(1, 1, 3), LSTM[7]], [], "equal, and are 1 and 2"),
    ("LSTM", {"hidden_size": 3}, LSTM, [*LSTM[:7], ones(1, 3)], [], "equal, and are 3 and 9"),
    ("RotaryEmbedding", {}, [ones(2, 1, 3, 4), ones(9, 2), ones(9, 2), zeros(2, 3)], [ones(2, 1, 3, 4), ones(9, 2), ones(8, 2), zeros(2, 3)], TURNS, "equal, and are 8 and 9"),
    ("RotaryEmbedding", {}, [ones(2, 1, 3, 4), ones(9, 2), ones(9, 2), zeros(2, 3)], [ones(2, 1, 3, 4), ones(9, 2), ones(9, 2), zeros(1, 3)], TURNS, "equal, and are 1 and 2"),
]  # fmt: skip


@pytest.mark.parametrize("op, attributes, fit, unfit, known, said", CASES)
def test_unfit(op, attributes, fit, unfit, known, said):
    module = compiled(op, attributes, fit, known, opset=24)
    with pytest.raises(hewn.RunError, match=said):
        run(module, unfit)
    assert np.isfinite(run(module, fit)).all()


RANGES = [
    (np.int64, (0, 5, 0)),
    (np.int64, (-(2**63), 2**63 - 1, 2**62)),
    (F, (0, np.nan, 1)),
    (F, (0, 5, 1e-30)),
    (F, (0, 5, 0)),
]


@pytest.mark.parametrize("dtype, values", RANGES)
def test_range_that_has_no_count(dtype, values):
    names = ["start", "limit", "delta"]
    y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["n"])
    model = model_of([helper.make_node("Range", names, ["y"])], {n: (dtype, []) for n in names}, [])
    model.graph.output.append(y)
    module = hewn.compile(model)
    feeds = {n: np.array(v, dtype) for n, v in zip(names, (5, -4, -3))}
    np.testing.assert_array_equal(module.run(feeds)["y"], [5, 2, -1])
    with pytest.raises(hewn.RunError, match="which is not a valid tensor shape"):
        module.run({n: np.array(v, dtype) for n, v in zip(names, values)})


def test_positions_of_rotations():
    """The position ids of com.microsoft's RotaryEmbedding index the rows of a table, as Gather's
    indices do."""
    inputs = {"x": (F, [1, 2, None, 4]), "p": (np.int64, [1, None]), "cos": (F, [None, 2]), "sin": (F, [None, 2])}
    node = helper.make_node("RotaryEmbedding", list(inputs), ["y"], domain="com.microsoft")
    model = model_of([node], inputs, ["y"])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    module = hewn.compile(model)
    feeds = {"x": ones(1, 2, 3, 4), "p": np.array([[0, 1, 4]]), "cos": ones(5, 2), "sin": ones(5, 2)}
    assert np.isfinite(module.run(feeds)["y"]).all()
    with pytest.raises(hewn.RunError, match="value 5 is above the highest valid value, 4"):
        module.run(feeds | {"p": np.array([[0, 1, 5]])})
    with pytest.raises(hewn.RunError, match="equal, and are 4 and 5"):
        module.run(feeds | {"sin": ones(4, 2)})


def test_static_loss():
    """ONNX's function for the loss op does not compare these dims, so hewn does."""
    feeds = [ones(3, 5), zeros(4)]
    with pytest.raises(hewn.CompileError, match="equal, and are 4 and 3"):
        compiled("NegativeLogLikelihoodLoss", {}, feeds, known=[(0, 0), (0, 1), (1, 0)])


def one(op, constants, dims, dtype=F, opset=18, **attributes):
    """Compiles a node on x and constants, where None omits an input."""
    made = [
        helper.make_node(
            "Constant",
            [],
            [f"c{i}"],
            value=helper.make_tensor("c", helper.np_dtype_to_tensor_dtype(c.dtype), c.shape, c),
        )
        for i, c in enumerate(constants)
        if c is not None
    ]
    names = ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
    return hewn.compile(
        model_of([*made, helper.make_node(op, ["x", *names], ["y"], **attributes)], {"x": (dtype, dims)}, ["y"], opset)
    )


def test_index_from_the_end():
    module = one("Gather", [np.array(-5)], [None])
    assert module.run({"x": np.arange(7, dtype=F)})["y"] == 2
    with pytest.raises(hewn.RunError, match="takes 5 elements along a dim that has 3"):
        module.run({"x": ones(3)})


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pad_of_nothing(mode):
    module = one("Pad", [np.array([2, 1])], [None], mode=mode)
    assert module.run({"x": ones(4)})["y"].shape == (7,)
    with pytest.raises(hewn.RunError, match=r"takes [123] elements along a dim that has 0"):
        module.run({"x": ones(0)})


def test_resize_of_nothing():
    module = one("Resize", [None, None, np.array([1, 1, 6, 6])], [1, 1, None, None], mode="linear")
    assert module.run({"x": ones(1, 1, 3, 3)})["y"].shape == (1, 1, 6, 6)
    with pytest.raises(hewn.RunError, match="takes 1 elements along a dim that has 0"):
        module.run({"x": ones(1, 1, 0, 3)})


def test_scan_over_unlike_lengths():
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["c"])],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "ab"],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, [2])],
    )
    node = helper.make_node("Scan", ["p", "q"], ["y"], body=body, num_scan_inputs=2)
    module = hewn.compile(model_of([node], {"p": (F, [None, 2]), "q": (F, [None, 2])}, ["y"]))
    assert (module.run({"p": ones(3, 2), "q": ones(3, 2)})["y"] == 2).all()
    with pytest.raises(hewn.RunError, match="equal, and are 2 and 5000"):
        module.run({"p": ones(5000, 2), "q": ones(2, 2)})


# Each case of dynamic operands has op, x, these operands, attributes, and the expected message.
ODD = [
    ("Reshape", ones(0), [np.array([1 << 32, 1 << 32])], {}, "do not fit into 64 bits"),
    ("Reshape", ones(12), [np.array([-3, -4])], {}, "takes 0 elements along a dim that has -3"),
    ("ReduceSum", ones(2, 3), [np.array([5])], {}, "takes 5 elements along a dim that has 1"),
    ("ReduceSum", ones(2, 3), [np.array([-3])], {}, "ReduceSum"),
    ("ReduceSum", ones(2, 3), [np.array([1, -1])], {}, "takes 1 elements along a dim that has 0"),
    ("Slice", ones(5), [np.array([0]), np.array([3]), np.array([0]), np.array([0])], {}, "takes 1 elements along a dim that has 0"),
    ("Expand", ones(4), [np.array([3])], {}, "a dim of 3 is neither 1 nor the 4"),
    ("Expand", ones(1), [np.array([-1])], {}, "a dim of -1 is neither 1 nor the 0"),
    ("Squeeze", ones(0, 2), [np.array([0])], {}, "equal, and are 0 and 1"),
    ("Split", ones(5), [np.array([1 << 63, (1 << 63) + 5], np.uint64).view(np.int64)], {"num_outputs": None}, "Split"),
]  # fmt: skip


@pytest.mark.parametrize("op, x, operands, attributes, said", ODD)
def test_odd_values(op, x, operands, attributes, said):
    names = [f"o{i}" for i in range(len(operands))]
    inputs = {"x": (F, [None] * x.ndim)} | {n: (a.dtype, a.shape) for n, a in zip(names, operands)}
    outputs = ["y", "z"] if op == "Split" else ["y"]
    made = {key: value for key, value in attributes.items() if value is not None}
    module = hewn.compile(model_of([helper.make_node(op, ["x", *names], outputs, **made)], inputs, outputs, 18))
    with pytest.raises(hewn.RunError, match=said):
        module.run({"x": x} | dict(zip(names, operands)))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool"])
def test_pool_of_nothing(op):
    window = {} if "Global" in op else {"kernel_shape": [2], "pads": [1, 1]}
    module = one(op, [], [1, 2, None], **window)
    assert module.run({"x": ones(1, 2, 3)})["y"].ndim == 3
    with pytest.raises(hewn.RunError, match="takes 1 elements along a dim that has 0"):
        module.run({"x": ones(1, 2, 0)})


@pytest.mark.parametrize("known", [False, True])
def test_wrap_after_cropping(known):
    """Pad in wrap mode does not copy elements that a negative pad removes to the other end."""
    pads, x = np.array([2, -1]), np.arange(5, dtype=F)
    if known:
        got = one("Pad", [pads], [None], mode="wrap", opset=19).run({"x": x})["y"]
    else:
        node = helper.make_node("Pad", ["x", "p"], ["y"], mode="wrap")
        module = hewn.compile(model_of([node], {"x": (F, [None]), "p": (np.int64, [2])}, ["y"], 19))
        got = module.run({"x": x, "p": pads})["y"]
    assert got.tolist() == [2, 3, 0, 1, 2, 3]


def test_largest_of_nothing():
    """ArgMax over no elements is an error: ONNX defines no index for it, and numpy raises an
    exception."""
    node = helper.make_node("ArgMax", ["x"], ["i"], axis=1)
    module = hewn.compile(
        model_of([node, helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)], {"x": (F, [None, None])}, ["y"])
    )
    assert module.run({"x": np.array([[1, 3, 2]], F)})["y"] == 1
    with pytest.raises(hewn.RunError, match="takes 1 elements along a dim that has 0"):
        module.run({"x": ones(2, 0)})


def test_scales_of_channels():
    zero = np.array(0, np.uint8)
    feeds = {
        "x": np.ones((1, 2, 5), np.uint8),
        "xs": ones(),
        "xz": zero,
        "w": np.ones((3, 2, 3), np.uint8),
        "ws": ones(3),
    }
    feeds |= {"wz": zero, "ys": ones(), "yz": zero}
    nodes = [helper.make_node("QLinearConv", list(feeds), ["q"]), helper.make_node("Cast", ["q"], ["y"], to=1)]
    inputs = {name: (a.dtype, [None] * a.ndim) for name, a in feeds.items()} | {"w": (np.uint8, [None, 2, 3])}
    module = hewn.compile(model_of(nodes, inputs, ["y"]))
    assert (module.run(feeds)["y"] == 6).all()
    with pytest.raises(hewn.RunError, match="a dim of 2 is neither 1 nor the 3"):
        module.run(feeds | {"ws": ones(2)})


def test_parts_that_are_none():
    """All parts of a Split have equal sizes, except that the last one may be smaller. A size that
    would be negative is an error."""
    node = helper.make_node("Split", ["x"], list("yabc"), num_outputs=4)
    module = hewn.compile(model_of([node], {"x": (F, [None])}, list("yabc"), 18))
    for size, want in ((8, 2), (7, 1), (6, 0)):
        assert module.run({"x": ones(size)})["c"].shape == (want,)
    with pytest.raises(hewn.RunError, match=r"'c': its shape is \[-1\], which is not a valid tensor shape"):
        module.run({"x": ones(5)})
    with pytest.raises(hewn.CompileError, match="5 elements cannot be split into 4 parts of 2"):
        hewn.compile(model_of([node], {"x": (F, [5])}, list("yabc"), 18))


def test_largest_step():
    x, names = np.arange(10, dtype=F), ["from", "to", "axes", "steps"]
    values = {n: np.array([v]) for n, v in zip(names, (1, 1000, 0, (1 << 63) - 1))}
    node = helper.make_node("Slice", ["x", *names], ["y"])
    module = hewn.compile(model_of([node], {"x": (F, [None])} | {n: (np.int64, [1]) for n in names}, ["y"]))
    assert module.run({"x": x} | values)["y"].tolist() == [1]
    assert module.run({"x": x} | values | {"steps": np.array([-1 - (1 << 62)]), "to": np.array([-11])})["y"] == [1]


@pytest.mark.parametrize(
    "axes, size", [([0, 1, 2], (1 << 58, 3, 0)), ([0, 2], (1 << 58, 3, 0)), ([0, 1], (1 << 58, 0, 3))]
)
def test_sum_of_nothing(axes, size):
    """Sums over a tensor with a dim of 0 and a dim that is too large for memory."""
    got = one("ReduceSum", [np.array(axes)], [None] * 3, keepdims=0).run({"x": np.zeros(size, F)})["y"]
    assert got.shape == tuple(np.delete(size, axes)) and not got.any()


@pytest.mark.parametrize("k", [(1 << 63) - 1, -(1 << 63), 1, 0])
@pytest.mark.parametrize("known", [False, True])
def test_far_diagonals(k, known):
    x = np.arange(1, 10, dtype=F).reshape(3, 3)
    want = np.triu(x, min(max(k, -9), 9))
    if known:
        got = one("Trilu", [np.array(k)], [3, 3]).run({"x": x})["y"]
    else:
        node = helper.make_node("Trilu", ["x", "k"], ["y"])
        got = hewn.compile(model_of([node], {"x": (F, [3, 3]), "k": (np.int64, [])}, ["y"], 18)).run(
            {"x": x, "k": np.array(k)}
        )["y"]
    np.testing.assert_array_equal(got, want)


def test_window_beyond_all_channels():
    x = np.random.default_rng(0).random((2, 5, 3), F)
    size = (1 << 31) - 1
    got = one("LRN", [], [2, 5, None], size=size, alpha=1e9).run({"x": x})["y"]
    np.testing.assert_allclose(got, x / (1 + 1e9 / size * (x**2).sum(1, keepdims=True)) ** 0.75, rtol=1e-5)
    with pytest.raises(hewn.CompileError, match="normalizes over 2147483647 channels"):
        one("LRN", [], [2, None, 3], size=size)


def test_too_many_samples():
    """RoiAlign limits a sampling ratio that is an attribute. CASES covers ratios that are computed
    from the size of the box."""
    feeds = [ones(1, 1, 4, 4), BOXES[:1], zeros(1)]
    with pytest.raises(hewn.CompileError, match="sampling_ratio 8193: at most 8192 samples"):
        compiled("RoiAlign", {"sampling_ratio": 8193}, feeds, [(1, 1)])
    assert np.isfinite(run(compiled("RoiAlign", {"sampling_ratio": 8192}, feeds, [(1, 1)]), feeds)).all()


def test_sizes_that_do_not_fit():
    """If one dim of an input is 0, its other dims may be arbitrarily large. Computations of dims
    from them may overflow."""
    module = hewn.compile(
        model_of(
            [
                helper.make_node("Concat", ["x"] * 4, ["c"], axis=0),
                helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
            ],
            {"x": (np.int8, [None, None])},
            ["y"],
        )
    )
    assert module.run({"x": ones(3, 2, dtype=np.int8)})["y"].shape == (12, 2)
    with pytest.raises(hewn.RunError):
        module.run({"x": np.zeros(((1 << 62) + 1, 0), np.int8)})
    assert module.run({"x": np.zeros((1 << 50, 0), np.int8)})["y"].shape == (1 << 52, 0)


def test_dims_of_long_chains():
    """In chains of broadcasting sums and of concats, a dim expression would grow with each node.
    The compiler computes such a dim at run time instead."""
    count, last = 60, "x"
    nodes = []
    for i in range(count):
        nodes.append(helper.make_node("Add", [last, f"z{i}"], [f"v{i}"]))
        nodes.append(helper.make_node("Concat", [f"v{i}", f"w{i}"], [f"c{i}"], axis=0))
        last = f"v{i}" if i % 3 else f"c{i}"
    pieces = [f"w{i}" for i in range(count)]
    nodes.append(helper.make_node("Relu", [last], ["y"]))
    nodes.append(helper.make_node("Concat", ["y", *pieces], ["all"], axis=0))
    names = ["x", *(f"{kind}{i}" for i in range(count) for kind in "zw")]
    model = model_of(nodes, {name: (F, [None, 2]) for name in names}, ["y", "all"])
    module = hewn.compile(model)
    rng = np.random.default_rng(0)

    def feeds_of(rows):
        """Returns an x of `rows` rows, and the other inputs of matching sizes."""
        feeds, have = {"x": rng.standard_normal((rows, 2)).astype(F)}, rows
        for i in range(count):
            feeds[f"z{i}"] = rng.standard_normal((have if i % 2 else 1, 2)).astype(F)
            feeds[f"w{i}"] = rng.standard_normal((i % 4, 2)).astype(F)
            have += 0 if i % 3 else i % 4
        return feeds

    for rows in (3, 1, 0):
        feeds = feeds_of(rows)
        value = feeds["x"]
        for i in range(count):
            value = value + feeds[f"z{i}"]
            value = value if i % 3 else np.concatenate([value, feeds[f"w{i}"]])
        value = np.maximum(value, 0)
        got = module.run(feeds)
        np.testing.assert_allclose(got["y"], value, rtol=1e-5)
        np.testing.assert_allclose(got["all"], np.concatenate([value, *(feeds[p] for p in pieces)]), rtol=1e-5)
    feeds = feeds_of(3)
    feeds["z41"] = ones(2, 2)
    with pytest.raises(hewn.RunError, match="a dim of 2 is neither 1 nor"):
        module.run(feeds)

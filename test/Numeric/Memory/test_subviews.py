# SPDX-License-Identifier: Apache-2.0
"""Concats whose operands are computed directly in subviews of the result."""

import os
import pathlib
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from numeric import check, compiled, oracle
from onnx import TensorProto, helper, numpy_helper

TOOLS = pathlib.Path(os.environ.get("HEWN_TOOLS", pathlib.Path(hewn.__file__).parents[2] / "bin"))


def floats(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def model_of(nodes, inputs, outputs, initializers):
    graph = helper.make_graph(
        [helper.make_node(op, i, [o], **a) for op, i, o, a in nodes],
        "subviews",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def compare(model, feeds, **options):
    check(list(compiled(model, **options).run(feeds).values()), oracle(model, feeds), rtol=1e-4, atol=1e-4)


# Producers of a subview of 7 to 64 channels from x [1, 16, 14, 14]. Each entry has the nodes from x
# to the given name, and their initializers.
BRANCHES = {
    "conv1": lambda o: ([("Conv", ["x", o + "w"], o, {})], {o + "w": floats(12, 16, 1, 1)}),
    "conv3": lambda o: (
        [("Conv", ["x", o + "w", o + "b"], o + "1", {"pads": [1] * 4}), ("Relu", [o + "1"], o, {})],
        {o + "w": floats(20, 16, 3, 3), o + "b": floats(20)},
    ),
    "winograd": lambda o: ([("Conv", ["x", o + "w"], o, {"pads": [1] * 4})], {o + "w": floats(64, 16, 3, 3) / 8}),
    "depthwise": lambda o: (
        [("Conv", ["x", o + "w"], o, {"pads": [2] * 4, "group": 16})],
        {o + "w": floats(16, 1, 5, 5)},
    ),
    "odd": lambda o: ([("Conv", ["x", o + "w"], o, {})], {o + "w": floats(7, 16, 1, 1)}),
    "pool": lambda o: ([("MaxPool", ["x"], o, {"kernel_shape": [3, 3], "pads": [1] * 4})], {}),
    "mean": lambda o: ([("AveragePool", ["x"], o, {"kernel_shape": [3, 3], "pads": [1] * 4})], {}),
    "sigmoid": lambda o: (
        [("Conv", ["x", o + "w"], o + "1", {}), ("Sigmoid", [o + "1"], o, {})],
        {o + "w": floats(12, 16, 1, 1)},
    ),
    "resize": lambda o: (
        [
            ("MaxPool", ["x"], o + "1", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            ("Resize", [o + "1", "", o + "s"], o, {"mode": "nearest"}),
        ],
        {o + "s": np.array([1, 1, 2, 2], np.float32)},
    ),
    "softmax": lambda o: ([("Softmax", ["x"], o, {"axis": 1})], {}),
    "input": lambda o: ([("Identity", ["x"], o, {})], {}),
}


def inception(branches, behind="Conv"):
    nodes, initializers = [], {}
    for i, branch in enumerate(branches):
        more, weights = BRANCHES[branch](f"p{i}")
        nodes += more
        initializers.update(weights)
    nodes.append(("Concat", [f"p{i}" for i in range(len(branches))], "c", {"axis": 1}))
    if behind == "Conv":
        width = oracle(model_of(nodes, {"x": [1, 16, 14, 14]}, ["c"], initializers), {"x": floats(1, 16, 14, 14)})[
            0
        ].shape[1]
        initializers["w"] = floats(24, width, 1, 1)
        nodes.append(("Conv", ["c", "w"], "y", {}))
    return nodes, initializers


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize(
    "branches",
    [
        ("conv1", "conv3", "pool"),
        ("winograd", "conv1", "winograd"),
        ("odd", "conv1", "odd"),
        ("depthwise", "conv3", "mean", "sigmoid"),
        ("conv1", "resize", "conv3"),
        ("softmax", "conv3", "odd"),
        ("conv3", "input", "conv1", "odd"),
    ],
)
def test_channels(branches, target):
    nodes, initializers = inception(branches)
    x = floats(1, 16, 14, 14)
    compare(model_of(nodes, {"x": [1, 16, 14, 14]}, ["y"], initializers), {"x": x}, target=target)
    compare(model_of(nodes, {"x": ["n", 16, 14, 14]}, ["y"], initializers), {"x": floats(3, 16, 14, 14)}, target=target)


def test_nothing_is_left_of_a_concatenation(tmp_path):
    nodes, initializers = inception(("conv3", "conv1", "odd"))
    onnx.save(model_of(nodes, {"x": [1, 16, 14, 14]}, ["y"], initializers), tmp_path / "m.onnx")
    plan = subprocess.run(
        [TOOLS / "hewn", "compile", tmp_path / "m.onnx", "--emit=plan", "-o", "-"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert plan.count("plan.assemble") == 1 and "@concat" not in plan


def test_subviews_that_others_read():
    """Another kernel reads a subview. The concat's result and subviews are outputs of the model."""
    nodes, initializers = inception(("conv1", "conv3", "odd"))
    nodes += [("Conv", ["p1", "v"], "z", {"pads": [1] * 4}), ("Relu", ["p0"], "r", {})]
    initializers["v"] = floats(5, 20, 3, 3)
    for outputs in (["y", "z"], ["y", "z", "r"], ["c", "z"], ["p1", "y"], ["c", "p0", "y", "z"]):
        model = model_of(nodes, {"x": [1, 16, 14, 14]}, outputs, initializers)
        compare(model, {"x": floats(1, 16, 14, 14)}, threads=2)


def test_twice_in_one_and_in_two():
    """A value that a concat reads twice, or that two concats read, can't be in two buffers."""
    nodes, initializers = inception(("conv1", "conv3", "odd"), behind=None)
    nodes[-1] = ("Concat", ["p0", "p1", "p0"], "c", {"axis": 1})
    nodes += [("Concat", ["p1", "p2"], "d", {"axis": 1}), ("Conv", ["c", "w"], "y", {}), ("Conv", ["d", "v"], "z", {})]
    initializers |= {"w": floats(8, 44, 1, 1), "v": floats(8, 27, 1, 1)}
    compare(model_of(nodes, {"x": [1, 16, 14, 14]}, ["y", "z"], initializers), {"x": floats(1, 16, 14, 14)})


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows(axis):
    """Subviews of a concat along the outermost dim are contiguous. Along another dim, their rows
    are strided."""
    nodes, initializers = [], {}
    for i in range(4):
        nodes.append(("MatMul", ["x", f"w{i}"], f"p{i}", {}))
        initializers[f"w{i}"] = floats(24, 40 if axis < 2 else 10 + 7 * i, seed=i)
    nodes.append(("Concat", [f"p{i}" for i in range(4)], "c", {"axis": axis}))
    for rows in ([1, 9, 24], [2, 9, 24]):
        compare(model_of(nodes, {"x": rows}, ["c"], initializers), {"x": floats(*rows)})
        more = [*nodes, ("MatMul", ["c", "v"], "y", {})]
        weights = initializers | {"v": floats(40 if axis < 2 else 82, 16)}
        compare(model_of(more, {"x": rows}, ["y"], weights), {"x": floats(*rows)})
        compare(model_of(more, {"x": ["a", "b", 24]}, ["c", "y"], weights), {"x": floats(*rows)})


def test_concatenations_of_concatenations():
    nodes, initializers = [], {}
    for i in range(4):
        nodes.append(("MatMul", ["x", f"w{i}"], f"p{i}", {}))
        initializers[f"w{i}"] = floats(24, 40, seed=i)
    nodes += [
        ("Concat", ["p0", "p1"], "a", {"axis": 0}),
        ("Concat", ["p2", "p3"], "b", {"axis": 0}),
        ("Concat", ["a", "b"], "c", {"axis": 1}),
        ("MatMul", ["c", "v"], "y", {}),
    ]
    initializers["v"] = floats(80, 16)
    compare(model_of(nodes, {"x": [9, 24]}, ["y", "b"], initializers), {"x": floats(9, 24)})


def test_in_a_branch():
    """Tests a concat in a branch of an If, whose operands are computed in subviews."""
    nodes, initializers = inception(("conv1", "odd"))
    inner = model_of(nodes, {}, ["y"], initializers).graph
    nothing = model_of([("Conv", ["x", "u"], "y", {})], {}, ["y"], {"u": floats(24, 16, 1, 1)}).graph
    node = helper.make_node("If", ["k"], ["r"], then_branch=inner, else_branch=nothing)
    graph = helper.make_graph(
        [node],
        "branch",
        [
            helper.make_tensor_value_info("k", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 14, 14]),
        ],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    for k in (True, False):
        compare(model, {"k": np.array(k), "x": floats(1, 16, 14, 14)})


@pytest.mark.parametrize("turned", [False, True])
def test_operands_that_lie_otherwise(turned):
    """The concat's result has the layout of the convolution that is one operand. The other operands
    are inputs with another layout."""
    nodes = [
        ("Conv", ["r", "k"], "v", {"kernel_shape": [1]}),
        ("Mul", ["v", "a"], "va", {}),
        ("Mul", ["va", "s"], "u", {}),
        ("Cos", ["u"], "c", {}),
        ("Concat", ["r", "u", "w", "v", "c"], "y", {"axis": 0}),
    ]
    if turned:
        nodes.append(("Transpose", ["y"], "z", {"perm": [0, 2, 1]}))
    inputs = {"r": [6, 9, 42], "w": [6, 9, 42], "a": [6, 9, 42]}
    model = model_of(nodes, inputs, ["z" if turned else "y"], {"k": floats(9, 9, 1), "s": floats()})
    compare(model, {name: floats(*shape, seed=len(name) + ord(name)) for name, shape in inputs.items()})


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("known", [False, True])
def test_one_subview_is_read_for_another(axis, known):
    """An op combines one element of the concat, at any position, with all elements of the
    concat."""
    nodes = [
        ("Concat", ["b", "c"], "bc", {"axis": axis}),
        ("Mul", ["a", "bc"], "m", {}),
        ("Slice", ["m", "starts", "ends", "axes", "steps"], "s", {}),
        ("Div", ["s", "m"], "y", {}),
    ]
    shapes = {"b": [3, 4], "c": [5, 4] if axis == 0 else [3, 6], "a": [8, 4] if axis == 0 else [3, 10]}
    for place in ([0, 0], [2, 3], list(np.array(shapes["a"]) - 1)):
        cut = {"starts": place, "ends": [p + 1 for p in place], "axes": [0, 1], "steps": [1, 1]}
        cut = {name: np.array(values, np.int64) for name, values in cut.items()}
        model = model_of(nodes, shapes, ["y"], cut if known else {})
        feeds = {name: floats(*shape, seed=ord(name)) for name, shape in shapes.items()}
        if not known:
            for name in cut:
                model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, [2]))
            feeds |= cut
        compare(model, feeds)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("width", [5, 9, 17, 33])
def test_narrowed_rows_side_by_side(kind, width):
    """A kernel stores rows of one vector plus one element in a smaller type. The last store writes
    one element. It must not write the adjacent row."""
    nodes = [helper.make_node("QuantizeLinear", [x, "one", "zero"], [f"{x}q"]) for x in "ab"]
    nodes.append(helper.make_node("Concat", ["bq", "aq"], ["y"], axis=1))
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [3, width]) for x in "ab"],
        [helper.make_value_info("y", onnx.TypeProto())],
        [numpy_helper.from_array(np.float32(1), "one"), numpy_helper.from_array(kind(0), "zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    a = np.arange(1, 3 * width + 1, dtype="f").reshape(3, width)
    y = compiled(model).run({"a": a, "b": a[::-1] + 1})["y"]
    np.testing.assert_array_equal(y, np.concatenate([a[::-1] + 1, a], 1).astype(kind))


def padded_concatenation(generator):
    """Draws a concat followed by elementwise ops and Pad ops. Some ops also read values at shifted
    positions."""
    shape = [int(generator.integers(0, 4)), int(generator.integers(1, 40)), int(generator.choice([1, 2, 5, 64])), 5]
    axis = int(generator.integers(0, 4))
    lengths = [int(generator.choice([0, 1, 3, 8, 16, 32])) for _ in range(generator.integers(2, 5))]
    inputs = {f"x{i}": [*shape[:axis], length, *shape[axis + 1 :]] for i, length in enumerate(lengths)}
    nodes, initializers, value = [("Concat", list(inputs), "c", {"axis": axis})], {}, "c"
    for step in range(generator.integers(1, 5)):
        made, kind = f"v{step}", generator.choice(["Relu", "Mul", "Pad", "Pad", "Shift"])
        if kind == "Relu":
            nodes.append(("Relu", [value], made, {}))
        elif kind == "Mul":
            initializers[f"f{step}"] = floats(1, seed=step)
            nodes.append(("Mul", [value, f"f{step}"], made, {}))
        elif kind == "Pad":
            pads = generator.integers(0, 2, 8) * (generator.random(8) < 0.7)
            if generator.random() < 0.8:
                pads[[axis, axis + 4]] = 0
            initializers[f"p{step}"] = pads.astype(np.int64)
            initializers[f"z{step}"] = np.array(1.5, np.float32)
            has_edge = min(shape) > 0 and sum(lengths) > 0
            mode = str(generator.choice(["constant", "edge"])) if has_edge else "constant"
            nodes.append(
                ("Pad", [value, f"p{step}", *([f"z{step}"] if mode == "constant" else [])], made, {"mode": mode})
            )
        else:  # adds an op that reads the value again, shifted by one along a dim
            turn = int(generator.integers(0, 4))
            pads = np.zeros(8, np.int64)
            pads[[turn, turn + 4]] = 1, -1
            initializers[f"p{step}"] = pads
            nodes.append(("Pad", [value, f"p{step}"], f"s{step}", {}))
            nodes.append(("Add", [value, f"s{step}"], made, {}))
        value = made
    return model_of(nodes, inputs, [value], initializers), {
        n: floats(*s, seed=i) for i, (n, s) in enumerate(inputs.items())
    }


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("target", ["host", "x86-64-v2"])
@pytest.mark.parametrize("seed", range(8))
def test_padded(seed, target, threads):
    generator = np.random.default_rng(seed)
    for _ in range(6):
        model, feeds = padded_concatenation(generator)
        compare(model, feeds, target=target, threads=threads)


def test_quantized_and_padded():
    """Builds the pattern of U-Nets in QDQ form. Each operand of the concat has its own scale, and
    its result another one. A Pad follows with the zero point of the result."""
    scales = {"sa": 0.02, "sb": 0.03, "sc": 0.025}
    initializers = {n: np.array(v, np.float32) for n, v in scales.items()}
    initializers |= {"za": np.array(105, np.uint8), "zb": np.array(0, np.uint8), "zc": np.array(98, np.uint8)}
    initializers |= {"w": np.random.default_rng(0).integers(-9, 9, (16, 64, 3, 3)).astype(np.int8)}
    nodes = [
        ("QuantizeLinear", ["a", "sa", "za"], "qa", {}),
        ("DequantizeLinear", ["qa", "sa", "za"], "da", {}),
        ("QuantizeLinear", ["b", "sb", "zb"], "qb", {}),
        ("DequantizeLinear", ["qb", "sb", "zb"], "db", {}),
        ("Concat", ["da", "db"], "c", {"axis": 1}),
        ("QuantizeLinear", ["c", "sc", "zc"], "qc", {}),
        ("DequantizeLinear", ["qc", "sc", "zc"], "dc", {}),
        ("DequantizeLinear", ["w", "sa"], "dw", {}),
        ("Conv", ["dc", "dw"], "y", {"pads": [1, 1, 1, 1]}),
    ]
    shape = [1, 32, 9, 11]
    model = model_of(nodes, {"a": shape, "b": shape}, ["y"], initializers)
    compare(model, {"a": floats(*shape), "b": np.abs(floats(*shape, seed=1))})

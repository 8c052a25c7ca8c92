# SPDX-License-Identifier: Apache-2.0
"""Operands that are lists (axes, shapes, pads, starts, sizes, repeats) of dynamic length."""

import hewn
import numpy as np
import pytest
from numeric import check, oracle
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(43)
I64 = TensorProto.INT64


def model(op, x, lists, rank=None, opset=18, before=(), **attributes):
    """Builds a model of one op on x and on inputs that are lists of dynamic length. If `rank` is
    None, the model declares no shape of the result. `before` are nodes that compute operands."""
    names = ["x", *lists]
    computed = {name for n in before for name in n.output}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]
    inputs += [helper.make_tensor_value_info(n, I64, [f"{n}_len"]) for n in lists if n and n not in computed]
    shape = None if rank is None else [f"y{d}" for d in range(rank)]
    graph = helper.make_graph(
        [*before, helper.make_node(op, names, ["y"], **attributes)],
        "lists",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def compare(proto, module, x, **lists):
    feeds = {"x": x, **lists}
    want = oracle(proto, feeds)
    (got,) = module.run(feeds).values()
    assert got.shape == want[0].shape
    check([got], want)


REDUCTIONS = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("noop", [0, 1])
def test_reductions_that_keep_their_dims(op, noop):
    proto = model(op, ["a", 3, "b"], ["axes"], 3, keepdims=1, noop_with_empty_axes=noop)
    module = hewn.compile(proto)
    assert not module.cases
    x = np.abs(floats(2, 3, 4)) + 0.5
    for axes in (ints(), ints(1), ints(-1), ints(0, 2), ints(2, -3, 1)):
        compare(proto, module, x, axes=axes)


def test_the_axes_of_a_reduction_are_checked():
    module = hewn.compile(model("ReduceSum", [2, 3], ["axes"], 2))
    for axes in (ints(2), ints(-3), ints(1, 1), ints(0, -2), ints(0, 1, 0)):
        with pytest.raises(hewn.RunError):
            module.run({"x": floats(2, 3), "axes": axes})


@pytest.mark.parametrize("noop", [0, 1])
def test_the_declared_rank_of_a_reduction(noop):
    """The result drops the reduced dims: its declared rank determines their number."""
    proto = model("ReduceSum", ["a", 3, "b"], ["axes"], 1, keepdims=0, noop_with_empty_axes=noop)
    module = hewn.compile(proto)
    for axes in (ints(0, 1), ints(-1, 0), ints(1, 2)):
        compare(proto, module, floats(2, 3, 4), axes=axes)
    with pytest.raises(hewn.RunError):
        module.run({"x": floats(2, 3, 4), "axes": ints(1)})
    every = model("ReduceMax", ["a", 3], ["axes"], 0, keepdims=0)
    module = hewn.compile(every)
    for axes in (ints(), ints(1, 0)):
        compare(every, module, floats(2, 3), axes=axes)


def test_cases_of_a_reduction():
    """Without a declared rank, the program has one case for each number of axes."""
    proto = model("ReduceLogSumExp", ["a", 3], ["axes"], keepdims=0)
    with pytest.warns(UserWarning, match="between 0 and 2"):
        module = hewn.compile(proto)
    assert len(module.cases) == 4
    for axes in (ints(), ints(0), ints(-1), ints(1, 0)):
        compare(proto, module, floats(2, 3), axes=axes)
    with pytest.raises(hewn.RunError, match="between 0 and 2"):
        module.run({"x": floats(2, 3), "axes": ints(0, 1, 1)})


def test_reshape():
    for allowzero, x, shapes in (
        (1, floats(0, 4), (ints(2, 0, 5), ints(0, 7, 1))),
        (1, floats(2, 4), (ints(2, -1, 2), ints(1, 8, 1))),
        (0, floats(2, 4), (ints(0, 2, -1), ints(-1, 1, 1))),
    ):
        proto = model("Reshape", ["a", "b"], ["shape"], 3, allowzero=allowzero)
        module = hewn.compile(proto)
        for shape in shapes:
            compare(proto, module, x, shape=shape)
        with pytest.raises(hewn.RunError):
            module.run({"x": floats(2, 4), "shape": ints(2, 4)})


def test_cases_of_a_reshape():
    proto = model("Reshape", ["a", 4], ["shape"])
    module = hewn.compile(proto, dims={"shape_len": (1, 3)})
    assert len(module.cases) == 3
    for shape in (ints(8), ints(-1, 2), ints(2, 0, 1), ints(1, 2, 4)):
        compare(proto, module, floats(2, 4), shape=shape)


def test_expand_to_the_rank_of_the_input_or_more():
    for rank, shapes in ((2, (ints(), ints(1), ints(5), ints(4, 1), ints(4, 5))), (3, (ints(2, 4, 1), ints(1, 1, 5)))):
        proto = model("Expand", ["a", "b"], ["shape"], rank)
        module = hewn.compile(proto)
        for shape in shapes:
            compare(proto, module, floats(4, 1) if 4 in shape else floats(1, 5), shape=shape)


def test_squeeze_and_unsqueeze():
    squeeze = model("Squeeze", ["a", 1, "b", 1], ["axes"], 2)
    module = hewn.compile(squeeze)
    compare(squeeze, module, floats(3, 1, 2, 1), axes=ints(1, -1))
    compare(squeeze, module, floats(1, 1, 2, 1), axes=ints(0, 3))
    for wrong in (ints(1), ints(0, 1), ints(1, 1)):
        with pytest.raises(hewn.RunError):
            module.run({"x": floats(3, 1, 2, 1), "axes": wrong})
    unsqueeze = model("Unsqueeze", ["a", "b"], ["axes"], 4)
    module = hewn.compile(unsqueeze)
    for axes in (ints(0, 1), ints(-1, 0), ints(3, 1)):
        compare(unsqueeze, module, floats(2, 3), axes=axes)
    with pytest.raises(hewn.RunError):
        module.run({"x": floats(2, 3), "axes": ints(0)})


def test_cases_of_squeeze_and_unsqueeze():
    squeeze = model("Squeeze", [1, "a", 1], ["axes"])
    module = hewn.compile(squeeze, dims={"axes_len": (0, 2)})
    for axes in (ints(0), ints(-1), ints(0, 2)):
        compare(squeeze, module, floats(1, 3, 1), axes=axes)
    # an empty list removes no dims, as in ONNX's reference; onnxruntime removes all dims of 1
    assert module(floats(1, 3, 1), ints()).shape == (1, 3, 1)
    unsqueeze = model("Unsqueeze", ["a"], ["axes"])
    module = hewn.compile(unsqueeze, dims={"axes_len": (1, 2)})
    for axes in (ints(0), ints(-1), ints(0, 2)):
        compare(unsqueeze, module, floats(3), axes=axes)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    proto = model("Pad", ["a", "b"], ["pads", "", "axes"], 2, mode=mode)
    module = hewn.compile(proto)
    x = floats(3, 4)
    for axes, pads in (
        (ints(-1), ints(1, 2)),
        (ints(1, 0), ints(0, 1, 2, -1)),
        (ints(0, -1), ints(2, 1, 1, 0)),
        (ints(), ints()),
    ):
        compare(proto, module, x, axes=axes, pads=pads)
    for axes, pads in ((ints(1), ints(1, 1, 1, 1)), (ints(0, 0), ints(1, 1, 1, 1)), (ints(2), ints(1, 1))):
        with pytest.raises(hewn.RunError):
            module.run({"x": x, "axes": axes, "pads": pads})
    every = model("Pad", ["a", "b"], ["pads"], 2, mode=mode)
    compare(every, hewn.compile(every), x, pads=ints(1, 2, 0, 1))


def test_slice():
    proto = model("Slice", ["a", "b", 5], ["starts", "ends", "axes", "steps"], 3)
    module = hewn.compile(proto)
    x, far = floats(4, 6, 5), 2**63 - 1
    for starts, ends, axes, steps in (
        (ints(1), ints(3), ints(0), ints(1)),
        (ints(-2), ints(far), ints(-2), ints(1)),
        (ints(5, 1), ints(0, 4), ints(1, 2), ints(-2, 2)),
        (ints(0, 0, -1), ints(2, 3, -far), ints(2, 0, 1), ints(1, 2, -1)),
        (ints(), ints(), ints(), ints()),
    ):
        compare(proto, module, x, starts=starts, ends=ends, axes=axes, steps=steps)
    for starts, ends, axes, steps in (
        (ints(0), ints(1, 2), ints(0), ints(1)),
        (ints(0, 0), ints(1, 1), ints(1, 1), ints(1, 1)),
        (ints(0), ints(1), ints(3), ints(1)),
        (ints(0), ints(1), ints(0), ints(0)),
    ):
        with pytest.raises(hewn.RunError):
            module.run({"x": x, "starts": starts, "ends": ends, "axes": axes, "steps": steps})
    first = model("Slice", ["a", "b"], ["starts", "ends"], 2)
    module = hewn.compile(first)
    for starts, ends in ((ints(1), ints(3)), (ints(0, -2), ints(2, far)), (ints(), ints())):
        compare(first, module, floats(4, 6), starts=starts, ends=ends)


def test_bags_of_an_embedding():
    """A loop sums slices of a table, from offsets whose shape is lost in the loop."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["i", "one"], ["next"]),
            helper.make_node("Compress", ["offsets", "is_first"], ["start"]),
            helper.make_node("Gather", ["offsets", "next"], ["end0"]),
            helper.make_node("Reshape", ["end0", "flat"], ["end"]),
            helper.make_node("Slice", ["rows", "start", "end"], ["bag"]),
            helper.make_node("ReduceSum", ["bag", "zero"], ["sum"], keepdims=0),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", I64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, None),
        ],
    )
    body.node.insert(0, helper.make_node("Equal", ["numbers", "i"], ["is_first"]))
    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["offsets"], ["count1"]),
            helper.make_node("Squeeze", ["count1"], ["count"]),
            helper.make_node("Range", ["nought", "count", "one"], ["numbers"]),
            helper.make_node("Sub", ["count", "one"], ["bags"]),
            helper.make_node("Loop", ["bags", "yes"], ["y"], body=body),
        ],
        "bags",
        [
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("offsets", I64, ["bags"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.asarray(v), n)
            for n, v in {
                "one": np.int64(1),
                "nought": np.int64(0),
                "flat": ints(-1),
                "zero": ints(0),
                "yes": np.bool_(True),
            }.items()
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    module = hewn.compile(proto)
    for offsets in (ints(0, 2, 3), ints(0, 0, 5), ints(0, 5)):
        feeds = {"rows": floats(5, 4), "offsets": offsets}
        check(module.run(feeds).values(), oracle(proto, feeds))


@pytest.mark.parametrize(
    "op, x, name, rank, values",
    [
        ("Tile", ["a", 3], "repeats", 2, [ints(2, 1), ints(0, 2)]),
        ("CenterCropPad", ["a", 3], "shape", 2, [ints(5, 2), ints(1, 4)]),
    ],
)
def test_lists_with_an_element_for_each_dim(op, x, name, rank, values):
    proto = model(op, x, [name], rank)
    module = hewn.compile(proto)
    for value in values:
        compare(proto, module, floats(2, 3), **{name: value})
    with pytest.raises(hewn.RunError):
        module.run({"x": floats(2, 3), name: ints(1)})


def test_sizes_of_a_resize():
    proto = model("Resize", [1, 1, "h", "w"], ["", "", "sizes"], 4, mode="linear")
    module = hewn.compile(proto)
    for sizes in (ints(1, 1, 8, 3), ints(1, 1, 2, 9)):
        # onnxruntime's shape inference rejects sizes of dynamic length
        feeds = {"x": floats(1, 1, 4, 6), "sizes": sizes}
        check(module.run(feeds).values(), ReferenceEvaluator(proto).run(None, feeds))


def test_parts_of_a_split():
    graph = helper.make_graph(
        [helper.make_node("Split", ["x", "split"], ["y", "z"], axis=1)],
        "parts",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "n"]),
            helper.make_tensor_value_info("split", I64, ["k"]),
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "yz"],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    module = hewn.compile(proto)
    for split in (ints(1, 4), ints(5, 0)):
        feeds = {"x": floats(2, 5), "split": split}
        check(module.run(feeds).values(), oracle(proto, feeds))
    with pytest.raises(hewn.RunError):
        module.run({"x": floats(2, 5), "split": ints(1, 1, 3)})


def test_a_length_that_depends_on_data_needs_a_declared_rank():
    count = helper.make_node("Compress", ["list", "keep"], ["axes"], axis=0)

    def proto(rank):
        made = model("ReduceSum", [2, 3, 4], ["axes"], rank, before=[count], keepdims=0)
        made.graph.input.append(helper.make_tensor_value_info("list", I64, [3]))
        made.graph.input.append(helper.make_tensor_value_info("keep", TensorProto.BOOL, [3]))
        return made

    with pytest.raises(hewn.CompileError, match="declare the result's shape"):
        hewn.compile(proto(None))
    module = hewn.compile(proto(1))
    for keep in ([True, False, True], [True, True, False]):
        compare(proto(1), module, floats(2, 3, 4), list=ints(2, 0, 1), keep=np.array(keep))

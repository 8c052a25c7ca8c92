# SPDX-License-Identifier: Apache-2.0
"""Fused attention kernels for GPUs. Compares results with the host under three schedules, and
checks that deleted barriers cause errors."""

import re

import emulated
import hewn
import numpy as np
import pytest
from mutation import BARRIER, SCHEDULES, SHUFFLE, WAIT, is_caught, looking, on_host, without
from onnx import TensorProto, helper, numpy_helper
from test_chains import UNUSUAL, attention


def check(model, feeds, kernels=1, schedules=("random",), **options):
    """Compares the model's results with the host. The model must have `kernels` kernels (None: any
    number), or one persistent kernel that contains them."""
    (want,) = hewn.compile(model, **options).run(feeds).values()
    with emulated.compiled(model, **options) as module:
        for schedule in schedules:
            with emulated.setting("SCHEDULE", schedule):
                before = emulated.DRIVER.emulator_launches()
                (got,) = module.run(feeds).values()
                if schedule == schedules[0] and kernels is not None:
                    assert emulated.DRIVER.emulator_launches() - before in (1, kernels)
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=3e-6)
        del module


# Batch, heads, rows, columns, head size. The cases have partial tiles, one row, fewer rows than
# columns, and odd and large head sizes.
SHAPES = [(2, 3, 70, 70, 64), (1, 2, 1, 300, 64), (1, 2, 7, 33, 20), (1, 1, 50, 90, 128), (1, 2, 40, 40, 33)]


@pytest.mark.parametrize("mask, shape", list(zip(["add", "none", "row", "where", "none"], SHAPES)), ids=str)
def test_as_on_the_host(shape, mask):
    # The expected number of kernels is larger for a model with a scale before the first matmul,
    # which is compiled to a separate kernel.
    check(*attention(*shape, mask, scale_first=mask == "row"), kernels=2 if mask == "row" else 1)


@pytest.mark.parametrize("shape", [(1, 2, 70, 45, 16), (1, 4, 1, 200, 24)], ids=str)
def test_schedules(shape):
    check(*attention(*shape, "add", scale_first=False), schedules=SCHEDULES)
    check(*attention(*shape, "where", False, dynamic_rows=True, dynamic_columns=True), schedules=SCHEDULES)


def in_halves(model, feeds):
    """Converts the model and its inputs to float16."""
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for constant in model.graph.initializer:
        constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant).astype(np.float16), constant.name))
    return model, {name: value.astype(np.float16) for name, value in feeds.items()}


@pytest.mark.parametrize("shape", [(1, 2, 70, 45, 64), (1, 2, 1, 200, 20), (1, 1, 20, 30, 13)], ids=str)
def test_halves(shape):
    """With float16 inputs, the MMAs read float16 operands and rounded softmax weights. The scores
    stay float32."""
    model, feeds = attention(*shape, "none", scale_first=False)
    (want,) = hewn.compile(model).run({n: v.astype(np.float16).astype(np.float32) for n, v in feeds.items()}).values()
    model, feeds = in_halves(model, feeds)
    with emulated.compiled(model) as module:
        for schedule in SCHEDULES:
            with emulated.setting("SCHEDULE", schedule):
                (got,) = module.run(feeds).values()
                np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-3)
        assert emulated.DRIVER.emulator_launches() > 0
        del module


def test_maxima_that_grow():
    """Online softmax with float16 weights replaces the maximum of a row only if a new score exceeds
    it by a large margin."""
    model, feeds = attention(1, 1, 40, 240, 16, "none", scale_first=False)
    # The scores of a row fall, or grow up to 60, from column to column, in steps that float16
    # represents exactly.
    slopes, steps = np.round(np.linspace(-8, 8, 40)) / 8, np.arange(240) / 4
    feeds["q"], feeds["k"] = np.zeros((1, 1, 40, 16)), np.zeros((1, 1, 240, 16))
    feeds["q"][0, 0, :, 3], feeds["k"][0, 0, :, 3] = slopes, 4 * steps
    weights = np.exp(np.outer(slopes, steps) - np.outer(slopes, steps).max(1, keepdims=True))
    want = weights / weights.sum(1, keepdims=True) @ feeds["v"][0, 0].astype(np.float16).astype(np.float64)
    model, feeds = in_halves(model, feeds)
    with emulated.compiled(model) as module:
        for schedule in SCHEDULES:
            with emulated.setting("SCHEDULE", schedule):
                (got,) = module.run(feeds).values()
                np.testing.assert_allclose(got[0, 0], np.maximum(want, 0), rtol=2e-3, atol=1e-3)
        del module


def test_least_sums():
    """The kernel bounds the sum of a row's softmax weights from below, relative to the row's own
    maximum. This also holds if online softmax keeps an earlier maximum."""
    shapes = {"q": (40, 16), "k": (16, 240), "v": (240, 16)}
    generator = np.random.default_rng(9)
    feeds = {name: generator.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("ReduceMax", ["s"], ["m"], axes=[-1]),
        helper.make_node("Sub", ["s", "m"], ["d"]),
        helper.make_node("Exp", ["d"], ["e"]),
        helper.make_node("ReduceSum", ["e", "last"], ["t"]),
        helper.make_node("Max", ["t", "least"], ["l"]),
        helper.make_node("Div", ["e", "l"], ["w"]),
        helper.make_node("MatMul", ["w", "v"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(40, np.float16), "least"),
        numpy_helper.from_array(np.array([-1]), "last"),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)]
    graph = helper.make_graph(nodes, "least", inputs, outputs, constants)
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    powers = np.exp(q @ k - (q @ k).max(1, keepdims=True))
    want = powers / np.maximum(powers.sum(1, keepdims=True), 40) @ v
    with emulated.compiled(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    ) as module:
        for schedule in SCHEDULES:
            with emulated.setting("SCHEDULE", schedule):
                np.testing.assert_allclose(module.run(feeds)["y"], want, rtol=4e-3, atol=2e-3)
        del module


def cast_to(narrow, model):
    """Casts the model's operands to a 16-bit float type, and the result back to float32."""
    before = [helper.make_node("Cast", [name], [f"{name}_narrow"], to=narrow) for name in "qkv"]
    for node in model.graph.node:
        node.input[:] = [f"{name}_narrow" if name in ("q", "k", "v") else name for name in node.input]
        node.output[:] = ["y_narrow" if name == "y" else name for name in node.output]
    nodes = [*before, *model.graph.node, helper.make_node("Cast", ["y_narrow"], ["y"], to=TensorProto.FLOAT)]
    for constant in model.graph.initializer:
        nodes.insert(0, helper.make_node("Cast", [constant.name + "_wide"], [constant.name], to=narrow))
        constant.name += "_wide"
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.parametrize(
    "shape", [(1, 2, 70, 130, 64), (1, 2, 1, 200, 20), (1, 1, 20, 30, 13), (1, 1, 40, 50, 128)], ids=str
)
@pytest.mark.parametrize("narrow, error", [(TensorProto.FLOAT16, 1e-3), (TensorProto.BFLOAT16, 8e-3)])
def test_narrow_operands(narrow, error, shape):
    """The MMAs use the 16-bit type to which the operands are cast."""
    model, feeds = attention(*shape, "none", scale_first=False)
    _, want = on_host(model, feeds)
    texts = []
    narrowed = cast_to(narrow, model)
    for schedule in SCHEDULES:
        with emulated.mutated(looking(texts.append)), emulated.compiled(narrowed) as module:
            with emulated.setting("SCHEDULE", schedule):
                np.testing.assert_allclose(module.run(feeds)["y"], want["y"], rtol=2 * error, atol=error)
            del module
    name = "f16" if narrow == TensorProto.FLOAT16 else "bf16"
    assert f"@hewn.simt.product.{name}(" in texts[0] and "@hewn.simt.product(" not in texts[0]


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_less_precision(precision):
    model, feeds = attention(1, 2, 40, 70, 32, "add", scale_first=False)
    (want,) = hewn.compile(model).run(feeds).values()
    with emulated.compiled(model, precision=precision) as module:
        (got,) = module.run(feeds).values()
        error = np.abs(got - want).max()
        assert 1e-5 < error < 3e-3
        del module


@pytest.mark.parametrize("case", UNUSUAL)
def test_rows_that_are_no_softmax(case):
    """If the weights are not a softmax, the kernel needs several passes over the scores. Some cases
    use an operand twice."""
    nodes, same = UNUSUAL[case]
    generator = np.random.default_rng(5)
    feeds = {name: generator.standard_normal((2, 40, 40)).astype(np.float32) / 4 for name in "qkv" if name not in same}
    for size in (40, "n"):
        graph = helper.make_graph(
            [
                helper.make_node(op, reads, [makes])
                for op, reads, makes in [("MatMul", ["q", same.get("k", "k")], "s"), *nodes]
            ],
            "unusual",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size, size]) for name in feeds],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.array(0, np.float32), "zero")],
        )
        # Also tests dynamic sizes, for which the compiler can't assume that rows are short.
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        check(model, feeds, kernels=1 if size == 40 else None)


def masked(rows, mask, zeroes=False):
    """Returns an attention model with a mask. `zeroes`: the model replaces NaN weights by 0, as
    PyTorch's exporter does."""
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Add", ["s", "mask"], ["m"]),
        helper.make_node("Softmax", ["m"], ["w"]),
        helper.make_node("MatMul", ["u" if zeroes else "w", "v"], ["y"]),
    ]
    if zeroes:
        nodes[3:3] = [helper.make_node("IsNaN", ["w"], ["n"]), helper.make_node("Where", ["n", "zero", "w"], ["u"])]
    constants = [numpy_helper.from_array(np.array(0, np.float32), "zero")]
    generator = np.random.default_rng(3)
    feeds = {"q": generator.standard_normal((rows, 8)), "k": generator.standard_normal((8, mask.shape[1]))}
    feeds |= {"v": generator.standard_normal((mask.shape[1], 12)), "mask": mask}
    feeds = {name: value.astype(np.float32) for name, value in feeds.items()}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in feeds.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "masked", inputs, outputs, constants if zeroes else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds


@pytest.mark.parametrize("rows", [5, 40])
def test_rows_without_columns(rows):
    """The mask excludes columns at the start, in the middle and at the end of rows, or all columns
    of a row, whose result is NaN."""
    mask = np.zeros((rows, 150))
    mask[0, :100] = mask[1, 30:110] = mask[2, 40:] = mask[3] = -np.inf
    mask[4, 149] = np.inf
    model, feeds = masked(rows, mask)
    with np.errstate(invalid="ignore"):
        check(model, feeds, schedules=SCHEDULES)


@pytest.mark.parametrize("rows", [5, 40])
def test_rows_of_zeros(rows, tmp_path):
    """The kernel replaces NaN weights by 0 in one pass. A NaN in the values stays NaN."""
    mask = np.zeros((rows, 150))
    mask[0, :100] = mask[1, 30:110] = mask[3] = -np.inf
    mask[4, 149] = np.inf
    model, feeds = masked(rows, mask, zeroes=True)
    hewn._compile(model, tmp_path / "kernels.mlir", emit="kernels", target="sm_80")
    assert "online = true" in (tmp_path / "kernels.mlir").read_text()
    with np.errstate(invalid="ignore"):
        check(model, feeds, schedules=SCHEDULES)
        feeds["v"][7, 3] = np.nan  # 0 * NaN is NaN, although the weight of the row has become 0
        check(model, feeds)


def grouped(heads, shared, rows, columns, causal):
    """Returns a model of ONNX's Attention with fewer key and value heads than query heads."""
    generator = np.random.default_rng(6)
    shapes = {"q": (1, heads, rows, 16), "k": (1, shared, columns, 16), "v": (1, shared, columns, 24)}
    feeds = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=causal)
    graph = helper.make_graph([node], "grouped", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), feeds


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("heads", [(4, 4), (6, 2), (4, 1)], ids=str)
def test_groups_of_heads(heads, causal):
    check(*grouped(*heads, rows=20, columns=50, causal=causal), kernels=None)
    check(*grouped(*heads, rows=1, columns=70, causal=0), kernels=None)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("rows", [20, 1])
def test_each_barrier_is_needed(rows, narrow):
    """Deleting any barrier causes an error, except for the barriers at the end of the loop, before
    the block's next rows."""
    # The rows of this attention are so long that a warp reads elements that another warp has
    # loaded, so that each barrier matters.
    model, feeds = attention(1, 1, rows, 200, 24 if narrow else 16, "none", scale_first=False)
    if narrow:
        model, feeds = in_halves(model, feeds)
    with emulated.compiled(model) as module:
        text = module.artifact.with_suffix(".ll").read_text()
        del module
    call = re.compile(rf"^.*{re.escape(BARRIER)}.*\n", re.M)
    found = len(call.findall(text))
    assert found >= 3

    def delete(number):
        def change(text):
            match = list(call.finditer(text))[number]
            return text[: match.start()] + text[match.end() :]

        return change

    unnoticed = [number for number in range(found) if not is_caught(model, delete(number), feeds)]
    assert len(unnoticed) <= (1 if rows > 16 else 2), unnoticed
    assert is_caught(model, without(SHUFFLE), feeds)
    assert is_caught(model, lambda text: text.replace(f"@{WAIT}(i32 0)", f"@{WAIT}(i32 1)"), feeds)
    if narrow:
        assert is_caught(
            model,
            lambda text: text.replace("} @hewn.simt.ldmatrix.transposed(i64 %", "} @hewn.simt.ldmatrix(i64 %"),
            feeds,
        )

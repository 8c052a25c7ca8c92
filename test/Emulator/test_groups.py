# SPDX-License-Identifier: Apache-2.0
"""Warpgroup MMA with all matrix layouts. Tests results under three schedules, and the effect of
mutations."""

import re

import emulated
import hewn
import numpy as np
import pytest
from mutation import SCHEDULES, SHUFFLE, error_of, is_caught, looking, on_host
from mutation import without as remove
from onnx import TensorProto, helper
from test_ptx import model, one

TARGET, PRODUCT = "sm_90a", "hewn.simt.group.product."
HALF, FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT


def batches(rows, columns, depth, left="k", right="m", count=64):
    """Returns a model with a batch of `count` GEMMs, so many that large tiles are profitable. A
    layout `k` means that the operand is contiguous along K."""
    nodes = [helper.make_node("MatMul", ["l", "r"], ["y"])]
    shapes = {"l": [count, rows, depth], "r": [count, depth, columns]}
    for name, turned in (("l", left == "m"), ("r", right == "k")):
        if turned:
            nodes.insert(0, helper.make_node("Transpose", [f"{name}t"], [name], perm=[0, 2, 1]))
            shapes[f"{name}t"] = [shapes[name][i] for i in (0, 2, 1)]
            del shapes[name]
    return model(nodes, [(name, HALF, shape) for name, shape in shapes.items()], [("y", HALF)])


def weights(*shape):
    return (np.random.default_rng(1).standard_normal(shape) * 0.1).astype(np.float16)


def narrowed(count, rows, columns, depth):
    """Returns a GEMM whose bfloat16 operands are computed by other ops. The tolerance covers
    results with and without rounding of the accumulators to bfloat16."""
    casts = [helper.make_node("Cast", [name], [name * 2], to=TensorProto.BFLOAT16) for name in "ab"]
    nodes = [*casts, helper.make_node("MatMul", ["aa", "bb"], ["p"]), helper.make_node("Cast", ["p"], ["y"], to=HALF)]
    return model(nodes, [("a", FLOAT, [count, rows, depth]), ("b", FLOAT, [count, depth, columns])], [("y", HALF)])


# Models, each with the start of the name of its MMA: element type, layouts, columns.
MODELS = {
    "k-k": (batches(128, 128, 96, "k", "k"), "f16.k.k.128"),
    "k-m": (batches(128, 128, 96, "k", "m"), "f16.k.m.128"),
    "m-k": (batches(128, 128, 96, "m", "k"), "f16.m.k.128"),
    "m-m": (batches(248, 248, 64, "m", "m"), "f16.m.m.256"),
    # The rows of the right operand (100 float16 values) are not a multiple of 16 bytes long, so
    # that TMA can't load the operand.
    "copied": (batches(150, 100, 96), "f16.k.m.128"),
    "edges": (batches(250, 250, 64), "f16.k.m.256"),
    "few-columns": (batches(150, 36, 96, count=200), "f16.k.m."),
    "odd-sizes": (batches(129, 47, 191), "f16.k.m."),
    "computed": (narrowed(64, 128, 128, 96), "bf16.k.m.128"),
    "convolution": (one("Conv", [[32, 32, 15, 20]], HALF, constants={"w": weights(64, 32, 3, 3)}), "f16."),
}


def only_with(product, change=lambda text: text + "\n"):
    """Returns a change that applies `change` and first checks that the kernels contain the MMA."""

    def checked(text):
        assert f"@{PRODUCT}{product}" in text
        return change(text)

    return checked


@pytest.mark.parametrize("name", MODELS)
def test_as_on_the_host(name):
    built, product = MODELS[name]
    feeds, want = on_host(built)
    for schedule in SCHEDULES:
        assert not error_of(built, feeds, want, schedule, only_with(product), target=TARGET)


def test_medium_precision():
    """With medium precision, float32 GEMMs may use bfloat16. The op that computes the left operand
    rounds it."""
    random = np.random.default_rng(0)
    x = random.standard_normal((1100, 96)).astype(np.float32)
    w = random.standard_normal((96, 1200)).astype(np.float32)
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("MatMul", ["n", "w"], ["y"])]
    product = model(nodes, [("x", FLOAT, [1100, 96])], [("y", FLOAT)], w=w)
    used = []
    look = looking(lambda text: used.append(PRODUCT + "bf16." in text))
    with emulated.mutated(look), emulated.compiled(product, TARGET, precision="medium") as module:
        error = np.abs(module.run({"x": x})["y"] + x @ w).max() / (np.abs(x) @ np.abs(w)).max()
    assert used == [True] and 1e-5 < error < 1e-2


def followed(rows, columns, *beside, kind=HALF):
    """Returns a GEMM with an epilogue: alternating additions and multiplications with operands of
    the given shapes."""
    nodes, inputs, last = [helper.make_node("MatMul", ["x", "w"], ["p"])], [("x", kind, [rows, 96])], "p"
    for number, shape in enumerate(beside):
        name = f"r{number}"
        nodes.append(helper.make_node(["Add", "Mul"][number % 2], [last, name], [last + name]))
        inputs.append((name, kind, shape))
        last += name
    nodes.append(helper.make_node("Relu", [last], ["y"]))
    return model(
        nodes, inputs, [("y", kind)], w=weights(96, columns).astype(np.float32 if kind == FLOAT else np.float16)
    )


def also(columns, nodes, *inputs, to=HALF):
    """Returns a float16 GEMM `p` with the given nodes as its epilogue. The nodes may compute in
    other types."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), *nodes]
    return model(nodes, [("x", HALF, [640, 96]), *inputs], [("y", to)], w=weights(96, columns))


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), **attributes)


# Epilogues of a float16 GEMM, each with a flag. The flag is true if lanes exchange accumulators, so
# that each lane stores eight adjacent columns.
FOLLOWED = {
    "eight": (followed(640, 520), True),
    "all": (followed(700, 520, [520], [700, 520]), True),
    "whole-tiles": (followed(640, 512, [512], [640, 512]), True),
    "row": (followed(640, 520, [520], [1, 520]), True),
    "column": (followed(640, 512, [640, 1], [640, 512], [1], [1, 1]), True),
    "symbolic": (followed("n", 512, [512], ["n", 512]), True),
    "even": (followed(640, 250, [250], [640, 250]), False),
    "odd": (followed(641, 247, [247], [641, 247]), False),
    "float32": (followed(640, 512, [512], [640, 512], kind=FLOAT), False),
    "two-results": (
        model(
            [node("MatMul", "x w", "p"), node("Add", "p r", "y"), node("Sigmoid", "y", "z")],
            [("x", HALF, [640, 96]), ("r", HALF, [640, 512])],
            [("y", HALF), ("z", HALF)],
            w=weights(96, 512),
        ),
        True,
    ),
    "wider-beside": (
        also(
            512,
            [node("Cast", "p", "q", to=FLOAT), node("Add", "q r", "s"), node("Cast", "s", "y", to=HALF)],
            ("r", FLOAT, [640, 512]),
        ),
        True,
    ),
    "mask": (also(512, [node("Where", "m p r", "y")], ("m", TensorProto.BOOL, [640, 512]), ("r", HALF, [512])), True),
    "bytes": (also(512, [node("Greater", "p r", "y")], ("r", HALF, [640, 1]), to=TensorProto.BOOL), True),
    "longs": (
        also(512, [node("Cast", "l", "r", to=HALF), node("Add", "p r", "y")], ("l", TensorProto.INT64, [640, 512])),
        True,
    ),
    "moved": (
        also(512, [node("Transpose", "t", "r", perm=[1, 0]), node("Add", "p r", "y")], ("t", HALF, [512, 640])),
        None,
    ),
}


@pytest.mark.parametrize("target", ["sm_80", TARGET])
@pytest.mark.parametrize("name", FOLLOWED)
def test_what_follows(name, target):
    built, exchanges = FOLLOWED[name]
    feeds, want = on_host(built)
    used = []
    look = looking(lambda text: used.append(SHUFFLE in text))
    assert not error_of(built, feeds, want, "random", look, target=target)
    assert exchanges is None or used == [exchanges]


def test_exchanges_that_fail():
    assert is_caught(FOLLOWED["whole-tiles"][0], remove(SHUFFLE), target=TARGET)


def without(name):
    return lambda text: re.sub(rf"^.*call void @hewn\.simt\.{re.escape(name)}\(.*\n", "", text, flags=re.M)


def waits(name):
    """Returns a change of the kernel's text: each wait of this name leaves one more group
    pending."""
    call = rf"(@hewn\.simt\.{name}\(i32 )(\d+)"
    return lambda text: re.sub(call, lambda found: found[1] + str(int(found[2]) + 1), text)


def operands(change):
    """Returns a change of the kernel's text that applies `change` to the first four operands of
    each MMA. These are the text of two shared-memory addresses and two descriptors."""

    def edit(found):
        left, right, left_form, right_form = change(*found[2].split(", "))
        return f"{found[1]}{left}, {right}, {left_form}, {right_form}"

    call = rf"(call [^\n]*@{re.escape(PRODUCT)}[^(]*\()((?:i64 [^,]+, ){{3}}i64 [^,]+)"
    return lambda text: re.sub(call, edit, text)


def forms(change):
    """Returns a change of the kernel's text that applies `change` to the descriptor of the right
    matrix, an integer."""

    def edit(left, right, left_form, right_form):
        value = change(int(right_form.removeprefix("i64 ")) % 2**64)
        return left, right, left_form, f"i64 {value - 2**64 if value >= 2**63 else value}"

    return operands(edit)


def same_step(text):
    """Returns a kernel text in which all MMAs of a K-slice read the slice's first K step of the
    left matrix."""
    first = []

    def edit(left, right, left_form, right_form):
        first.append(left)
        return first[0], right, left_form, right_form

    return operands(edit)(text)


MISTAKES = {
    "no barrier": without("barrier"),
    "copies are not waited for": waits(r"copies\.wait"),
    "not published": without("group.publish"),
    "sums not ready": without("group.begin"),
    "products not closed": without("group.close"),
    "products not waited for": waits(r"group\.wait\.\d+"),
    "wrong matrix": operands(lambda left, right, *rest: (right, right, *rest)),
    "wrong step": same_step,
    "wrong stride of blocks": forms(lambda form: form + (1 << 32)),
    "wrong length of lines": forms(lambda form: form ^ (3 << 62)),
    "lines not known": forms(lambda form: form & ~(3 << 62)),
    "wrong stride of panels": forms(lambda form: form + (8 << 16)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_caught(mistake):
    assert is_caught(MODELS["copied"][0], MISTAKES[mistake], target=TARGET)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rings_of_warps(schedule):
    """A kernel with warp-level MMAs, too, may need more shared memory for its pipeline than a block
    has by default."""
    built, used = batches(128, 128, 96), []
    look = looking(lambda text: used.append("[65536 x i8]" in text and "hewn.simt.product.f16" in text))
    assert not error_of(built, *on_host(built), schedule, look)
    assert used == [True]


def test_memory_that_is_not_given():
    """A launch fails if it requests less shared memory than its kernel needs, or if the request
    fails."""
    built = MODELS["m-m"][0]
    feeds, want = on_host(built)
    more = error_of(built, feeds, want, "forward", lambda text: text.replace("[196672 x", "[196688 x"), target=TARGET)
    assert "CUDA error 1)" in more
    for fail, message in (
        ("shared-memory", "matmul"),
        ("small-device", "a block needs 196672 bytes, and this device has 101376"),
    ):
        with emulated.setting("FAIL", fail), pytest.raises(hewn.RunError, match=message):
            error_of(built, feeds, want, "forward", target=TARGET)


def test_matrices_that_lie_otherwise():
    for other in (".m.k.", ".k.m."):
        assert is_caught(MODELS["k-k"][0], lambda text, other=other: text.replace(".k.k.", other), target=TARGET)

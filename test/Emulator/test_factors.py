# SPDX-License-Identifier: Apache-2.0
"""float32 GEMMs by warpgroup MMA with each operand split into two TF32 components (3xTF32). Tests
rounding errors, infinities, NaNs, and the effect of mutations."""

import re

import emulated
import numpy as np
import pytest
from mutation import SCHEDULES, is_caught, looking
from onnx import helper, numpy_helper
from test_fetching import gone, nth, other_parity, twice, with_number
from test_groups import FLOAT, PRODUCT, TARGET, waits, without
from test_ptx import model, one


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(rows, depth, columns):
    return one("MatMul", [[rows, depth]], constants={"w": numbers(depth, columns, seed=1)})


def batches(count, rows, columns, depth):
    """Returns a batched matmul whose right operand is computed and contiguous along K."""
    nodes = [
        helper.make_node("Transpose", ["t"], ["r"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["l", "r"], ["y"]),
    ]
    return model(nodes, [("l", FLOAT, [count, rows, depth]), ("t", FLOAT, [count, columns, depth])], [("y", FLOAT)])


# Models, each with the NumPy function that computes its result from its two operands.
MODELS = {
    "weights": (weights(1000, 104, 1200), lambda x, w: x @ w),
    # In this GEMM, K has more slices than the kernel has pipeline stages, and the last slice is
    # partial.
    "deep": (weights(384, 420, 384), lambda x, w: x @ w),
    "batches": (batches(70, 120, 60, 72), lambda x, w: x @ w.swapaxes(1, 2)),
    "pointwise": (
        one("Conv", [[16, 72, 15, 20]], constants={"w": numbers(144, 72, 1, 1, seed=1)}),
        lambda x, w: np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0], optimize=True),
    ),
}


# With more tiles than any GPU has SMs, one block computes the full reduction of a tile (no
# split-K).
LONG = batches(150, 64, 32, 512)


def run(name, schedule, edit=None):
    """Runs the model on random operands, of which `edit` changes the first one. Returns both
    operands and the result."""
    built, _ = MODELS[name]

    def look(text):
        assert f"@{PRODUCT}f32.r.k." in text

    with emulated.mutated(looking(look)), emulated.compiled(built, TARGET) as module:
        feeds = {x.name: numbers(*x.shape, seed=i) for i, x in enumerate(module.inputs)}
        if edit:
            edit(next(iter(feeds.values())))
        operands = [*feeds.values(), *map(numpy_helper.to_array, built.graph.initializer)]
        with emulated.setting("SCHEDULE", schedule):
            return operands, module.run(feeds)["y"]


def errors(name, operands, result):
    """Returns the largest errors relative to |x| @ |w|: the error of the model, and that of NumPy's
    float32 arithmetic."""
    products = MODELS[name][1]
    wide = [x.astype(np.float64) for x in operands]
    exact, scale = products(*wide), products(*map(np.abs, wide))
    return [np.max(np.abs(found - exact) / scale) for found in (result, products(*operands))]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", MODELS)
def test_errors(name, schedule):
    """A 3xTF32 GEMM has the error of float32 arithmetic. Without the low components, the error
    would be a thousand times larger."""
    own, float32 = errors(name, *run(name, schedule))
    assert own < max(2 * float32, 2e-7)


@pytest.mark.parametrize("target, product", [("sm_80", "@hewn.simt.product("), (TARGET, f"@{PRODUCT}f32.r.k.")])
def test_long_sums(target, product):
    """The MMA truncates its accumulators. If all products have one sign, a reduction of 512
    elements in one accumulator has a relative error of up to 7e-6, and a longer one more. The error
    of the kernel must stay below 1e-6."""
    with emulated.compiled(LONG, target) as module:
        assert product in module.artifact.with_suffix(".ll").read_text()
        random = np.random.default_rng(0)
        operands = [random.random(x.shape, dtype=np.float32) for x in module.inputs]
        result = module.run({x.name: operand for x, operand in zip(module.inputs, operands)})["y"]
    exact = np.einsum("brs,bcs->brc", *(x.astype(np.float64) for x in operands), optimize=True)
    np.testing.assert_allclose(result, exact, rtol=1e-6)


def test_what_is_no_number():
    """A 3xTF32 GEMM gives the results of float32 arithmetic for infinities, NaNs, values too large
    to round up, and values too small to split."""

    def edit(x):
        x[0, 0], x[1, 3], x[2, 5] = np.inf, np.nan, np.finfo(np.float32).max
        x[3], x[4] = 1e-42, 0

    (x, w), y = run("weights", "forward", edit=edit)
    with np.errstate(all="ignore"):
        want = x @ w
    np.testing.assert_array_equal(np.isnan(y), np.isnan(want))
    np.testing.assert_array_equal(np.isposinf(y), np.isposinf(want))
    np.testing.assert_array_equal(np.isneginf(y), np.isneginf(want))
    np.testing.assert_allclose(y[2:], want[2:], rtol=1e-3, atol=1e-4)


def words_of(edit):
    """Returns a change that applies `edit` to the four left operand registers of every MMA."""
    call = rf"(call [^\n]*@{re.escape(PRODUCT)}f32\.r[^(]*\()((?:i32 [^,]+, ){{4}})"
    return lambda text: re.sub(call, lambda found: found[1] + ", ".join(edit(found[2].split(", ")[:4])) + ", ", text)


def stores(edit):
    """Returns a change that applies `edit` to each line that stores a component of a chunk of the
    operand, with 0 for a high component and 1 for a low one. These lines alternate."""

    def change(text):
        lines = text.split("\n")
        found = [i for i, line in enumerate(lines) if re.search(r"store <4 x (?:float|i32)> .*addrspace\(3\)", line)]
        assert len(found) >= 4
        for number, i in enumerate(found):
            lines[i] = edit(lines[i], number % 2)
        return "\n".join(lines)

    return change


def only_first(text):
    """Returns a text in which the second MMA of a step reads the high component of the right
    operand instead of the low one."""
    call = re.compile(rf"(@{re.escape(PRODUCT)}f32\.r[^(]*\((?:i32 [^,]+, ){{4}}i64 )(%[\w.]+)")
    addresses = []

    def edit(found):
        addresses.append(found[2])
        return found[1] + addresses[(len(addresses) - 1) // 3 * 3]

    return call.sub(edit, text)


# The kernel's mbarrier waits in textual order: the two of the warps that multiply (data loaded,
# data split), the one of the TMA producer, the one of the warps that split.
MISTAKES = {
    "not published": without("group.publish"),
    "warps do not meet": without("warp.barrier"),
    "made is not waited for": nth("mbarrier.wait", 1, gone),
    "wrong phase of made": nth("mbarrier.wait", 1, other_parity),
    "made before it has come": nth("mbarrier.wait", 3, gone),
    "wrong phase of what is split": nth("mbarrier.wait", 3, other_parity),
    "full is not waited for": nth("mbarrier.wait", 0, gone),
    "empty is not waited for": nth("mbarrier.wait", 2, gone),
    "nobody says that it is made": nth("mbarrier.arrive", 1, gone),
    "said twice": nth("mbarrier.arrive", 1, twice),
    "fewer makers": nth("mbarrier.init", -1, with_number(lambda count: count - 1)),
    "more makers": nth("mbarrier.init", -1, with_number(lambda count: count + 1)),
    "sums not ready": without("group.begin"),
    "products not waited for": waits(r"group\.wait\.\d+"),
    "rows taken for each other": words_of(lambda words: [words[1], words[0], *words[2:]]),
    "sums taken for each other": words_of(lambda words: [words[2], words[3], *words[:2]]),
    "first factors not stored": stores(lambda line, second: line if second else ""),
    "second factors not stored": stores(lambda line, second: "" if second else line),
    "only first factors of the right one": only_first,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_caught(mistake):
    assert is_caught(MODELS["deep"][0], MISTAKES[mistake], target=TARGET)

# SPDX-License-Identifier: Apache-2.0
"""GEMMs with a producer warpgroup that loads the operands by TMA through an mbarrier pipeline.
Tests results and the effect of mutations."""

import re

import emulated
import hewn
import numpy as np
import pytest
from comparison import compare
from mutation import SCHEDULES, error_of, is_caught, looking, on_host
from onnx import helper
from test_groups import FLOAT, HALF, TARGET, batches, waits, weights
from test_ptx import model, one

# Models, each with the number of 2-D and of 3-D TMA loads in the kernel's code.
MODELS = {
    "k-k": (batches(128, 128, 96, "k", "k"), 0, 2),
    "k-m": (batches(128, 128, 200, "k", "m"), 0, 3),
    # The result of this GEMM has more tiles than the kernel has blocks, and the last tiles are
    # partial.
    "m-m": (batches(248, 248, 72, "m", "m", count=70), 0, 4),
    # In this GEMM, K has more slices than the kernel has pipeline stages.
    "deep": (batches(128, 128, 1096, count=24), 0, 2),
    "weights": (one("MatMul", [[2000, 136]], HALF, constants={"w": weights(136, 1000)}), 1, 2),
    "parts": (one("MatMul", [[256, 4096]], HALF, constants={"w": weights(4096, 128)}), 1, 1),
    # In the GEMM of this convolution, the columns of an operand are stored in blocks.
    "pointwise": (one("Conv", [[64, 264, 15, 20]], HALF, constants={"w": weights(96, 264, 1, 1)}), 1, 2),
    # The row dimension of this GEMM consists of two dims, of which the first is innermost in
    # memory.
    "turned": (
        model(
            [
                helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                helper.make_node("MatMul", ["t", "w"], ["p"]),
                helper.make_node("Relu", ["p"], ["y"]),
            ],
            [("x", HALF, [70, 30, 136])],
            [("y", HALF)],
            w=weights(136, 1000),
        ),
        1,
        2,
    ),
    "symbolic": (one("MatMul", [["n", 64]], HALF, constants={"w": weights(64, 4096)}), 1, 4),
}


@pytest.mark.parametrize("name", MODELS)
def test_as_on_the_host(name):
    built, *boxes = MODELS[name]
    feeds, want = on_host(built)
    found = []

    def look(text):
        found.append([len(re.findall(rf"call void @hewn\.simt\.fetch\.{rank}", text)) for rank in (2, 3)])

    for schedule in SCHEDULES:
        assert not error_of(built, feeds, want, schedule, looking(look), target=TARGET)
        assert found.pop() == boxes


def test_sizes_known_only_when_run():
    """The runtime encodes tensor maps again for each size of a dynamic dim, including 0."""
    built = MODELS["symbolic"][0]
    reference, random = hewn.compile(built), np.random.default_rng(0)
    with emulated.compiled(built, TARGET) as module:
        for rows in (300, 64, 1, 0, 300):
            feeds = {"x0": random.standard_normal((rows, 64)).astype(np.float16)}
            compare(module.run(feeds), reference.run(feeds))


def factors(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def rounded(schedule, change=None):
    """Returns the largest error, relative to |x| @ |w|, of a float32 GEMM by warpgroup MMA in
    TF32."""
    x, w, texts = factors((1000, 104)), factors((104, 1200)), []
    built = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", FLOAT, list(x.shape))], [("y", FLOAT)], w=w)

    def look(text):
        texts.append(text)
        return change(text) if change else text + "\n"

    with emulated.mutated(look), emulated.compiled(built, TARGET, precision="high") as module:
        assert "hewn.simt.group.product.f32.k.k." in texts[0]
        with emulated.setting("SCHEDULE", schedule):
            exact, scale = x.astype(np.float64) @ w, np.abs(x).astype(np.float64) @ np.abs(w)
            return (np.abs(module.run({"x": x})["y"] - exact) / scale).max()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_float32s_are_rounded_when_fetched(schedule):
    """TMA rounds each value to the nearest TF32 number. Truncated values would be too small by
    about 2^-11."""
    assert 1e-6 < rounded(schedule) < 2.5e-4


def test_wrong_matrices_of_float32s():
    assert not rounded("forward", lambda text: text.replace("product.f32.k.k", "product.f16.k.k")) < 1e-3
    with pytest.raises(hewn.RunError):
        rounded("forward", lambda text: text.replace("product.f32.k.k", "product.f32.k.m"))


def nth(call, number, edit):
    """Returns a change that applies `edit` to the line of the `number`th call of the function, or
    to the lines of all calls if `number` is None."""

    def change(text):
        lines = text.split("\n")
        found = [i for i, line in enumerate(lines) if f"call void @hewn.simt.{call}(" in line]
        for i in found if number is None else [found[number]]:
            lines[i] = edit(lines[i])
        return "\n".join(lines)

    return change


def gone(line):
    return ""


def twice(line):
    return line + "\n" + line


def with_number(change):
    """Returns a function that edits a line: it applies `change` to the last argument of the call,
    an integer."""
    return lambda line: re.sub(r"i32 (\d+)\)", lambda found: f"i32 {change(int(found[1]))})", line)


def other_parity(line):
    return re.sub(
        r"(.*), i32 (%\w+)\)",
        lambda found: f"  %other.parity = xor i32 {found[2]}, 1\n{found[1]}, i32 %other.parity)",
        line,
    )


def other_mbarrier(line):
    return re.sub(r"(.*), i64 (%\w+)\)", r"  %other.mbarrier = add i64 \2, 8\n\1, i64 %other.mbarrier)", line)


def turned(line):
    """Swaps the coordinates of the two innermost dims in a TMA load."""
    return re.sub(r"(ptr [^,]+), (i32 [^,]+), (i32 [^,]+),", r"\1, \3, \2,", line)


def only_arrives(line):
    return re.sub(r"mbarrier\.expect\((i64 [^,]+), .*", r"mbarrier.arrive(\1)", line)


# The first mbarrier wait in the kernel's text is that of the consumer warps.
MISTAKES = {
    "no barrier": nth("barrier", None, gone),
    "mbarriers not ready": nth("mbarriers.ready", None, gone),
    "a mbarrier that is none": nth("mbarrier.init", -1, gone),
    "fewer readers": nth("mbarrier.init", None, with_number(lambda count: max(1, count - 1))),
    "more readers": nth("mbarrier.init", -1, with_number(lambda count: count + 1)),
    "no arrival": nth("mbarrier.arrive", 0, gone),
    "two arrivals": nth("mbarrier.arrive", 0, twice),
    "full is not waited for": nth("mbarrier.wait", 0, gone),
    "empty is not waited for": nth("mbarrier.wait", 1, gone),
    "wrong phase of full": nth("mbarrier.wait", 0, other_parity),
    "wrong phase of empty": nth("mbarrier.wait", 1, other_parity),
    "nothing expected": nth("mbarrier.expect", 0, only_arrives),
    "fewer bytes expected": nth("mbarrier.expect", 0, with_number(lambda count: count - 16)),
    "more bytes expected": nth("mbarrier.expect", 0, with_number(lambda count: count + 16)),
    "not fetched": nth("fetch.3", 0, gone),
    "fetched twice": nth("fetch.3", 0, twice),
    "fetched from elsewhere": nth("fetch.3", 0, turned),
    "fetched through another mbarrier": nth("fetch.3", 0, other_mbarrier),
    "products not waited for": waits(r"group\.wait\.\d+"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_caught(mistake):
    assert is_caught(MODELS["deep"][0], MISTAKES[mistake], target=TARGET)


def test_registers_are_those_of_a_block():
    built = MODELS["m-m"][0]
    assert is_caught(built, nth("registers.take", 0, with_number(lambda count: count + 8)), target=TARGET)
    assert is_caught(built, nth("registers.keep", 0, gone), target=TARGET)

# SPDX-License-Identifier: Apache-2.0
"""Winograd 3x3 convolutions, compared with sums in double precision."""

import os
import pathlib
import re
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import TensorProto, helper

# Cases of 3x3 convolutions: number of images, channels, features, image size, pads. Sizes are
# multiples of the tile sizes (2 and 4) or not, so that vectors are full or partial.
CASES = [
    (1, 64, 64, (16, 16), (1, 1, 1, 1)),
    (2, 48, 40, (15, 17), (1, 1, 1, 1)),
    (1, 40, 72, (14, 18), (0, 0, 0, 0)),
    (3, 33, 50, (7, 7), (2, 0, 1, 3)),
    (1, 32, 128, (4, 50), (1, 1, 1, 1)),
    (1, 272, 56, (10, 11), (1, 1, 1, 1)),
]
# Error bounds of Winograd convolutions relative to the largest result, for float32 and for bf16x3.
BOUNDS = {"highest": 2e-6, "high": 3e-5}


def conv_model(case, dynamic):
    images, channels, features, size, pads = case
    generator = np.random.default_rng(3)
    scale = np.float32(1 / np.sqrt(9 * channels))
    weights = generator.standard_normal((features, channels, 3, 3)).astype(np.float32) * scale
    bias = generator.standard_normal(features).astype(np.float32)
    out = [images, features, size[0] + pads[0] + pads[2] - 2, size[1] + pads[1] + pads[3] - 2]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, kernel_shape=(3, 3)),
        helper.make_node("Add", ["c", "r"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "conv",
        [
            helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, ["n", channels, "h", "w"] if dynamic else [images, channels, *size]
            ),
            helper.make_tensor_value_info("r", TensorProto.FLOAT, ["n", features, "p", "q"] if dynamic else out),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {
        "x": generator.standard_normal((images, channels, *size)).astype(np.float32),
        "r": generator.standard_normal(out).astype(np.float32),
    }
    x = np.pad(feeds["x"].astype(np.float64), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    want = feeds["r"] + bias[None, :, None, None].astype(np.float64)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i : i + out[2], j : j + out[3]]
            want += np.einsum("nchw,kc->nkhw", part, weights[:, :, i, j].astype(np.float64))
    return model, feeds, np.maximum(want, 0)


def check(module, feeds, want, bound):
    (got,) = module.run(feeds).values()
    assert np.abs(got - want).max() <= bound * np.abs(want).max()


@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_minimal_filtering(case, dynamic, precision):
    model, feeds, want = conv_model(case, dynamic)
    check(hewn.compile(model, precision=precision), feeds, want, BOUNDS[precision])


def test_what_is_no_number_is_seen():
    """A NaN in the input reaches all results whose window contains it. It reaches no result outside
    of the tiles of these results."""
    model, feeds, _ = conv_model(CASES[0], False)
    feeds["x"][0, 5, 8, 9] = np.nan
    (got,) = hewn.compile(model).run(feeds).values()
    lost = np.isnan(got[0])
    assert lost[:, 7:10, 8:11].all() and not lost[:, :6].any() and not lost[:, 10:].any()


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(str(x) for x in c).replace(" ", ""))
def test_for_other_machines(case, target):
    model, feeds, want = conv_model(case, False)
    check(compiled(model, target), feeds, want, BOUNDS["highest"])


@pytest.mark.parametrize("channels, side", [(64, 56), (128, 28), (256, 14)])
def test_error_beside_sums(channels, side):
    """With tiles of size 2, Winograd has no larger error than direct float32 sums. With `-s`,
    pytest prints a row of the table in docs/decisions/kernels/winograd.md."""
    model, feeds, want = conv_model((1, channels, channels, (side, side), (1, 1, 1, 1)), False)
    errors = []
    for options in ({"optimize": False}, {"precision": "highest"}, {"precision": "high"}):
        (got,) = hewn.compile(model, **options).run(feeds).values()
        errors.append(np.abs(got - want).max() / np.abs(want).max())
    print(f"\n| {channels}, {channels}, {side} x {side} | {' | '.join(f'{error:.1e}' for error in errors)} |")
    assert errors[1] <= errors[0]
    assert errors[2] <= BOUNDS["high"]


def test_threads_have_slots_of_their_own():
    model, feeds, want = conv_model((2, 64, 64, (40, 40), (1, 1, 1, 1)), False)
    check(hewn.compile(model, threads=3), feeds, want, BOUNDS["highest"])


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("precision", BOUNDS)
@pytest.mark.parametrize("channels, features", [(64, 256), (64, 200), (272, 260)])
def test_threads_share_the_columns_of_one_block(channels, features, precision, threads):
    """The features form full panels and a partial one. The weights stay in cache, or are streamed
    from memory. `host` may have no Winograd schedule."""
    model, feeds, want = conv_model((1, channels, features, (14, 13), (1, 1, 1, 1)), False)
    for target in ("host", "x86-64-v3", "x86-64-v4"):
        if target != "host":
            kernels = hewn._compile(model, emit="kernels", precision=precision, target=target)
            (schedule,) = re.findall("#plan.winograd<.*?>", kernels)
            slots, block = (int(re.search(rf"{name} = (\d+)", schedule)[1]) for name in ("slots", "block"))
            assert target == "x86-64-v3" or (slots > 1 and block >= (49 if precision == "highest" else 16)), schedule
        check(compiled(model, target, threads=threads, precision=precision), feeds, want, BOUNDS[precision])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("images, size", [(1, (1, 1)), (1, (2, 1)), (1, (1, 14)), (1, (14, 1)), (0, (14, 14))], ids=str)
def test_pictures_of_one_line(images, size, threads):
    """Tests images so small that every tile overlaps the padding, and a batch without images."""
    model, feeds, want = conv_model((images, 64, 256, size, (1, 1, 1, 1)), False)
    (got,) = hewn.compile(model, threads=threads).run(feeds).values()
    assert got.shape == want.shape and np.abs(got - want).max(initial=0) <= 2e-6 * np.abs(want).max(initial=1)


@pytest.mark.parametrize(
    ("precision", "tile"), [("highest", "tile = 2"), ("high", "tile = 4")], ids=lambda x: x.replace(" ", "")
)
def test_is_chosen(tmp_path, precision, tile):
    """For the cases in CASES, the compiler selects Winograd with the expected tile size."""
    for number, case in enumerate(CASES):
        model, _, _ = conv_model(case, False)
        onnx.save(model, tmp_path / "model.onnx")
        tool = pathlib.Path(os.environ["HEWN_TOOLS"], "hewn")
        command = [tool, "compile", "model.onnx", "--target=x86-64-v4", "--emit=kernels", "-o", "kernels.mlir"]
        subprocess.run([*command, f"--float32-precision={precision}"], cwd=tmp_path, check=True)
        text = (tmp_path / "kernels.mlir").read_text()
        assert "tile = " in text, f"case {number}"
        assert tile in text or case[3] in [(10, 11), (7, 7)], f"case {number}"


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("features", [250, 256])
def test_weights_from_far(features, dynamic, target):
    """If the weights are much larger than the cache, the kernel reads them by position of the
    transformed tile: all panels of one position before the next position."""
    model, feeds, want = conv_model((2, 272, features, (10, 11), (1, 1, 1, 1)), dynamic)
    assert "panels = " in hewn._compile(model, emit="kernels", target=target)
    check(compiled(model, target), feeds, want, BOUNDS["highest"])

# SPDX-License-Identifier: Apache-2.0
"""Tile and Pad whose dims, repeats or pads are dynamic, compared with numpy: rows shorter than a
vector, rows with a tail, one element, and no elements."""

import hewn
import numpy as np
import pytest
from onnx import helper

WIDTHS = (1, 2, 3, 8, 17, 100)


def compiled(op, x, counts, shape, fed, **attributes):
    """Compiles Tile or Pad of an input x. `fed`: the repeats or pads are an input of the model."""
    counts = np.array(counts, np.int64)
    inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)]
    inputs += [helper.make_tensor_value_info("n", 7, counts.shape)] * fed
    constants = [] if fed else [helper.make_tensor("n", 7, counts.shape, counts)]
    node = helper.make_node(op, ["x", "n"], ["y"], **attributes)
    graph = helper.make_graph([node], "repetition", inputs, [helper.make_empty_tensor_value_info("y")], constants)
    return hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def ran(module, x, counts, fed):
    return module.run({"x": x, "n": np.array(counts, np.int64)} if fed else {"x": x})["y"]


def numbers(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64])
@pytest.mark.parametrize("repeats", [(2, 3, 5), (1, 1, 4), (3, 2, 1), (2, 1, 0)])
def test_tile(repeats, dtype, fed):
    module = compiled("Tile", numbers(2, 3, 4, dtype=dtype), repeats, ["a", "b", "c"], fed)
    for width in (*WIDTHS, 0):
        x = numbers(2, 3, width, dtype=dtype)
        np.testing.assert_array_equal(ran(module, x, repeats, fed), np.tile(x, repeats))


@pytest.mark.parametrize("shape", [(3, 7), (3, 1), (1, 5), (1, 1), (4, 5, 1, 1)])
@pytest.mark.parametrize("repeats", [(2, 3), (1, 5), (4, 1)])
def test_tile_of_known_dims(shape, repeats):
    """Dims of 1, along which elements are broadcast, before and after the repeated one."""
    repeats = (repeats * 2)[: len(shape)]
    x = numbers(*shape)
    for fed in (False, True):
        module = compiled("Tile", x, repeats, x.shape, fed)
        np.testing.assert_array_equal(ran(module, x, repeats, fed), np.tile(x, repeats))


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
@pytest.mark.parametrize("pads", [(0, 0, 1, 0, 0, 1), (0, 1, 2, 0, 1, 1), (1, 1, 0, 0, 1, 0), (0, 0, 0, 0, 0, 2)])
def test_pad(pads, mode, fed):
    borders = list(zip(pads[:3], pads[3:]))
    for dtype in (np.float32, np.uint8):
        module = compiled("Pad", numbers(2, 3, 4, dtype=dtype), pads, ["a", "b", "c"], fed, mode=mode)
        for width in WIDTHS:
            if width > max(borders[2]):
                x = numbers(2, 3, width, dtype=dtype)
                np.testing.assert_array_equal(ran(module, x, pads, fed), np.pad(x, borders, mode))


@pytest.mark.parametrize("before, after", [(1, 2), (3, 4), (7, 0), (0, 8), (15, 1), (16, 3)])
def test_pad_wraps_several_times(before, after):
    """The padding has more elements than the dim: indices are taken modulo a dynamic dim."""
    pads = (0, before, before, 0, after, after)
    module = compiled("Pad", numbers(2, 3, 4), pads, ["a", "b", "c"], False, mode="wrap")
    for rows, columns in ((1, 1), (2, 3), (1, 40), (5, 1), (40, 2), (9, 17)):
        x = numbers(3, rows, columns)
        expected = np.pad(x, [(0, 0), (before, after), (before, after)], "wrap")
        np.testing.assert_array_equal(ran(module, x, pads, False), expected)


@pytest.mark.parametrize("mode", ["reflect", "wrap"])
def test_pad_and_crop(mode):
    """Negative pads remove elements before the padding modes read them."""
    module = compiled("Pad", numbers(1, 9), (0, 2, 0, -3), ["a", "b"], True, mode=mode)
    x = numbers(2, 20)
    for before, after in ((2, -3), (-4, 5), (-2, -1), (0, 0), (7, 6)):
        cropped = x[:, max(0, -before) : 20 - max(0, -after)]
        expected = np.pad(cropped, [(0, 0), (max(0, before), max(0, after))], mode)
        np.testing.assert_array_equal(ran(module, x, (0, before, 0, after), True), expected)


def test_pad_of_a_computed_operand():
    """The operand of the padding is computed by an op that can be fused, and its result is used by
    one."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"]),
        helper.make_node("Pad", ["a", "n"], ["b"], mode="reflect"),
        helper.make_node("Tile", ["b", "r"], ["c"]),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    constants = [helper.make_tensor("n", 7, [4], [1, 3, 2, 4]), helper.make_tensor("r", 7, [2], [2, 3])]
    inputs = [helper.make_tensor_value_info("x", 1, ["a", "b"])]
    graph = helper.make_graph(nodes, "repetition", inputs, [helper.make_empty_tensor_value_info("y")], constants)
    module = hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    for shape in ((4, 5), (3, 40)):
        x = numbers(*shape)
        expected = -np.tile(np.pad(x * x, [(1, 2), (3, 4)], "reflect"), (2, 3))
        np.testing.assert_array_equal(module.run({"x": x})["y"], expected)

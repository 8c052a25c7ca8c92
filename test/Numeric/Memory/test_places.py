# SPDX-License-Identifier: Apache-2.0
"""Vectorized kernels whose lanes have non-contiguous addresses: strided, reversed, folded at the
edges, or resampled. Vectors are full or partial."""

import functools
import time

import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper
from sessions import oracle

TARGETS = ["host", "x86-64-v3", "x86-64-v2"]
# Row lengths of the images: shorter than a vector, a few vectors, and many vectors, of which the
# inner ones contain no padding.
WIDTHS = [5, 32, 75]


def expect_as_onnxruntime(nodes, constants, x, target, dynamic, tolerance=1e-6):
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    shape = [f"d{i}" for i in range(x.ndim)] if dynamic else x.shape
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    results = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph(nodes, "places", [helper.make_tensor_value_info("x", kind, shape)], results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    want = oracle(model, {"x": x})[0]
    got = compiled(model, target).run({"x": x})["y"]
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.abs(want).max())


def numbers(*shape, dtype=np.float32):
    return (np.random.default_rng(2).standard_normal(shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.float16])
@pytest.mark.parametrize("target", TARGETS)
def test_steps(target, dtype):
    for width in WIDTHS:
        x = numbers(3, 4, width, dtype=dtype)
        for step in (2, 3, 5, -1, -2):
            start, end = (1, 1000) if step > 0 else (-1, -1000)
            ints = {"starts": [start], "ends": [end], "axes": [2], "steps": [step]}
            constants = {name: np.array(value, np.int64) for name, value in ints.items()}
            expect = functools.partial(expect_as_onnxruntime, [helper.make_node("Slice", ["x", *constants], ["y"])])
            expect(constants, x, target, dynamic=False)
        expect(constants, x, target, dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
def test_borders(mode, target, dynamic):
    for width in WIDTHS:
        for low, high in ((3, 0), (4, 2), (-1, 2)):
            if mode != "constant" and min(low, high) < 0:
                continue
            constants = {"pads": np.array([0, 1, low, 0, 2, high], np.int64)}
            x = numbers(2, 6, width)
            node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
            expect_as_onnxruntime([node], constants, x, target, dynamic)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("target", ["host", "x86-64-v4", "x86-64-v3", "x86-64-v2"])
def test_borders_of_wide_elements(target, dtype):
    """A vector of a wide element type takes several registers. In the last vector of a row, all
    lanes of one register may be padding. In a row of the padding, all lanes are padding."""
    x = numbers(2, 3, 20, dtype=dtype)
    borders = [(low, high) for low in (0, 4) for high in (1, 2, 3, 5)]
    model = helper.make_graph(
        [helper.make_node("Pad", ["x", f"pads{i}"], [f"y{i}"]) for i in range(len(borders))],
        "places",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_value_info(f"y{i}", onnx.TypeProto()) for i in range(len(borders))],
        [numpy_helper.from_array(np.array([0, 1, b, 0, 1, e]), f"pads{i}") for i, (b, e) in enumerate(borders)],
    )
    model = helper.make_model(model, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    got = compiled(model, target).run({"x": x})
    for i, border in enumerate(borders):
        np.testing.assert_array_equal(got[f"y{i}"], np.pad(x, [(0, 0), (1, 1), border]), str(border))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_repeats(target, dynamic):
    for width in (3, 8, 16, 32, 48, 50):
        node = helper.make_node("Tile", ["x", "repeats"], ["y"])
        x = numbers(3, width)
        expect_as_onnxruntime([node], {"repeats": np.array([2, 5], np.int64)}, x, target, dynamic)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("target", TARGETS[:2])
def test_resampling(target, mode, coordinates):
    for width in WIDTHS:
        x = numbers(2, 2, 9, width)
        for size in (2 * width, 3 * width - 1, width // 2 + 1, max(width // 5, 2)):
            constants = {"sizes": np.array([2, 2, 13, size], np.int64)}
            node = helper.make_node(
                "Resize",
                ["x", "", "", "sizes"],
                ["y"],
                mode=mode,
                coordinate_transformation_mode=coordinates,
                nearest_mode="floor" if coordinates == "asymmetric" else "round_prefer_floor",
            )
            expect_as_onnxruntime([node], constants, x, target, dynamic=False, tolerance=1e-4)


@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_weights_of_many(mode, coordinates, outside):
    """A Resize reduces the image by a large factor. Each result is the mean of more elements than
    the code generator unrolls."""
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "exclude_outside": outside}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], antialias=1, **attributes)
    begin = time.process_time()
    for dynamic in (False, True):
        constants = {"sizes": np.array([2, 1, 5, 3], np.int64)}
        expect_as_onnxruntime([node], constants, numbers(2, 1, 96, 70), "host", dynamic, tolerance=1e-5)
    assert time.process_time() - begin < 20  # mostly compile time; unrolled code took minutes


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_windows(op, target, dynamic):
    for kernel, stride, pads in ((2, 2, 0), (3, 2, 1), (7, 1, 3), (3, 4, 0)):
        for width in WIDTHS[1:]:
            node = helper.make_node(op, ["x"], ["y"], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pads] * 4)
            expect_as_onnxruntime([node], {}, numbers(1, 3, 40, width), target, dynamic)


@pytest.mark.parametrize("target", TARGETS)
def test_extremes_of_what_is_no_number(target):
    """The extreme of a window is NaN if the window contains a NaN, even next to infinity."""
    x = numbers(1, 1, 4, 64)
    x[0, 0, 1, ::7] = np.nan
    x[0, 0, 2, ::5] = np.inf
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])
    graph = helper.make_graph(
        [node],
        "extremes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    got = compiled(model, target).run({"x": x})["y"]
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))
    np.testing.assert_array_equal(got, windows.max(axis=(4, 5)))

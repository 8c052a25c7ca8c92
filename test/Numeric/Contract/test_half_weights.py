# SPDX-License-Identifier: Apache-2.0
"""GEMMs and convolutions whose kernels load float16 and bfloat16 weights from the file as they are.
Tests random sizes, with constant and dynamic rows, against sums in double precision. Tests the size
of the weights file."""

import hewn
import ml_dtypes
import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
# Distance between adjacent numbers from 1 to 2, by type.
STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def model_of(node, x_dims, w, element):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    graph = helper.make_graph(
        [node],
        "halves",
        [helper.make_tensor_value_info("x", element, x_dims)],
        [helper.make_tensor_value_info("y", element, None)],
        [onnx.numpy_helper.from_array(w, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def drawn_product(seed, type):
    """Draws a MatMul, or a Gemm with a transposed constant. Returns the node, the dims of x in the
    model, x, w, the exact result, and |x| @ |w|."""
    generator = np.random.default_rng(seed)
    rows = int(generator.choice([1, 2, 5, 14, 33, 129, 300]))
    depth, columns = int(generator.integers(1, 400)), int(generator.integers(1, 300))
    x = generator.standard_normal((rows, depth)).astype(TYPES[type])
    w = (generator.standard_normal((depth, columns)) / np.sqrt(depth)).astype(TYPES[type])
    wide, sizes = x.astype("d") @ w.astype("d"), np.abs(x.astype("d")) @ np.abs(w.astype("d"))
    dims = [rows if seed % 3 else "n", depth]
    if seed % 2:
        return helper.make_node("Gemm", ["x", "w"], ["y"], transB=1), dims, x, w.T.copy(), wide, sizes
    return helper.make_node("MatMul", ["x", "w"], ["y"]), dims, x, w, wide, sizes


def drawn_windows(seed, type):
    """Draws a convolution, mostly with 3x3 windows, which Winograd computes. Returns the same
    values as drawn_product."""
    generator = np.random.default_rng(seed)
    kernel = [3, 3] if seed % 2 else generator.choice([1, 2, 3, 5], 2).tolist()
    groups = 1 if seed % 4 else int(generator.choice([1, 2, 4, 8]))
    channels, features = groups * int(generator.integers(4, 48)), groups * int(generator.integers(4, 48))
    strides = [1, 1] if seed % 2 else generator.choice([1, 2], 2).tolist()
    size, pads = generator.integers(5, 30, 2).tolist(), generator.integers(0, 3, 4).tolist()
    x = generator.standard_normal((1, channels, *size)).astype(TYPES[type])
    w = (generator.standard_normal((features, channels // groups, *kernel)) * 0.1).astype(TYPES[type])
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=groups, kernel_shape=kernel, strides=strides, pads=pads)
    padded = np.pad(x.astype("d"), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    places = [(padded.shape[2 + d] - kernel[d]) // strides[d] + 1 for d in (0, 1)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))[:, :, :: strides[0], :: strides[1]]
    windows = windows.reshape(groups, channels // groups, *places, *kernel)
    filters = w.astype("d").reshape(groups, features // groups, channels // groups, *kernel)
    wide, sizes = (
        np.einsum("gchwij,gfcij->gfhw", a, b).reshape(1, features, *places)
        for a, b in ((windows, filters), (np.abs(windows), np.abs(filters)))
    )
    dims = [1, channels, *(["h", "w"] if seed % 3 == 0 else size)]
    return node, dims, x, w, wide, sizes


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("drawn", [drawn_product, drawn_windows])
@pytest.mark.parametrize("seed", range(8))
def test_sums(seed, drawn, type, target):
    """Each result is rounded to the type once. Winograd may add an error of one float16 step of the
    largest result."""
    node, dims, x, w, wide, sizes = drawn(seed, type)
    got = compiled(model_of(node, dims, w, TYPES[type]), target).run({"x": x})["y"]
    assert got.dtype == TYPES[type] and got.shape == wide.shape
    rounding = STEPS[type] * np.abs(wide) + 1e-6 * sizes + 1e-7
    if drawn is drawn_windows:
        rounding += STEPS["float16"] * np.abs(wide).max()
    assert np.all(np.abs(got.astype("d") - wide) <= rounding)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("rows", [1, 200, "n"])
def test_file_of_products(rows, type, target, tmp_path):
    w = np.random.default_rng(0).standard_normal((256, 512)).astype(TYPES[type])
    model = model_of(helper.make_node("MatMul", ["x", "w"], ["y"]), [rows, 256], w, TYPES[type])
    compiled(model, target, output=tmp_path / "m.so")
    assert (tmp_path / "m.so.weights").stat().st_size <= w.nbytes + 4096


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("scale, elements, bytes", [(0.1, 16, 2), (1e5, 16, 4), (0.1, 9, 2)])
def test_file_of_windows(scale, elements, bytes, type, tmp_path):
    """The weights file has float16 Winograd weights (16 elements per 9 weights) if their range
    allows it. Other weights keep their type."""
    if scale > 1 and type == "float16":
        scale = 1e4
    w = (np.random.default_rng(0).standard_normal((128, 128, 3, 3)) * scale).astype(TYPES[type])
    strides = [1, 1] if elements == 16 else [2, 2]
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3], strides=strides)
    model = model_of(node, [1, 128, 40, 40], w, TYPES[type])
    hewn.compile(model, target="x86-64-v3", output=tmp_path / "m.so")
    size = (tmp_path / "m.so.weights").stat().st_size
    assert abs(size - w.size // 9 * elements * bytes) <= 4096


@pytest.mark.parametrize("type", TYPES)
def test_file_for_several_machines(type, tmp_path):
    """A library may contain a target that does not convert the type when it loads weights. Then the
    weights file has float32 weights only, without a second copy for the other targets."""
    w = np.random.default_rng(0).standard_normal((256, 512)).astype(TYPES[type])
    model = model_of(helper.make_node("MatMul", ["x", "w"], ["y"]), [200, 256], w, TYPES[type])
    hewn.compile(model, target="x86-64-v2,x86-64-v3", output=tmp_path / "m.so")
    assert (tmp_path / "m.so.weights").stat().st_size <= 2 * w.nbytes + 4096
    hewn.compile(model, target="x86-64-v3,x86-64-v4", output=tmp_path / "n.so")
    assert (tmp_path / "n.so.weights").stat().st_size <= w.nbytes + 4096

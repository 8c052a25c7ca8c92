# SPDX-License-Identifier: Apache-2.0
"""Convolutions with zero padding folded into the kernel. The reference is a sum of shifted images
in float64. The geometries are random, with windows that are completely in the padding, and with
constant and dynamic sizes."""

import itertools

import numpy as np
import onnx
import pytest
from numeric import compiled
from onnx import TensorProto, helper

SEEDS = range(24)
SIZES = [0, 1, 2, 3, 5, 7, 12, 13, 14, 15, 27, 28, 29, 41, 64]


def drawn(seed):
    """Draws channels, features, groups, kernel, pads (begins, then ends), strides and dilations of
    a convolution over 1 to 3 dims."""
    generator = np.random.default_rng(seed)
    rank = int(generator.choice([1, 2, 2, 2, 3]))
    kernel = generator.choice([1, 2, 3, 3, 5] if rank < 3 else [1, 2, 3], rank).tolist()
    if seed % 8 == 0:
        kernel[-1] = 12  # the window has more positions than the kernel's code handles individually
    dilations = generator.choice([1, 1, 2, 6, 12, 36], rank).tolist()
    dilations[-1] = min(dilations[-1], 2) if seed % 8 == 0 else dilations[-1]
    strides = generator.choice([1, 1, 2, 3], rank).tolist()
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    pads = [int(generator.integers(0, r + 3)) for r in reach * 2]
    if seed % 2:  # "same" padding, as exporters write it
        pads = [r // 2 for r in reach] + [r - r // 2 for r in reach]
    channels, features, groups = [(16, 24, 1), (9, 17, 1), (32, 8, 2), (24, 24, 24), (16, 32, 16), (16, 16, 4)][
        seed % 6
    ]
    return channels, features, groups, kernel, pads, strides, dilations


def model_of(case, size, residual):
    channels, features, groups, kernel, pads, strides, dilations = case
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((features, channels // groups, *kernel)).astype(np.float32)
    nodes = [
        helper.make_node(
            "Conv",
            ["x", "w"],
            ["c"],
            group=groups,
            pads=pads,
            strides=strides,
            dilations=dilations,
            kernel_shape=kernel,
        ),
        helper.make_node("Add", ["c", "r"], ["y"]) if residual else helper.make_node("Relu", ["c"], ["y"]),
    ]
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", channels, *size])]
    if residual:
        info.append(
            helper.make_tensor_value_info("r", TensorProto.FLOAT, ["n", features, *(f"o{i}" for i in range(len(size)))])
        )
    graph = helper.make_graph(
        nodes,
        "border",
        info,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), weights


def lengths(case, size):
    """Returns the dims of the convolution's result, or None if the window is larger than the padded
    input."""
    _, _, _, kernel, pads, strides, dilations = case
    rank = len(size)
    rooms = [n + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1 for i, n in enumerate(size)]
    return [room // stride + 1 for room, stride in zip(rooms, strides)] if min(rooms) >= 0 else None


def expected(case, x, weights):
    """Computes the convolution in float64: for each window position, adds the shifted padded image
    times the weights."""
    _, features, groups, kernel, pads, strides, dilations = case
    size, rank = x.shape[2:], len(kernel)
    out = lengths(case, size)
    framed = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((pads[i], pads[rank + i]) for i in range(rank))])
    split = weights.astype(np.float64).reshape(groups, features // groups, x.shape[1] // groups, *kernel)
    y = np.zeros((x.shape[0], groups, features // groups, *out))
    for place in itertools.product(*(range(k) for k in kernel)):
        taps = tuple(slice(w * d, w * d + (o - 1) * s + 1, s) for w, d, o, s in zip(place, dilations, out, strides))
        part = framed[(slice(None), slice(None), *taps)]
        part = part.reshape(x.shape[0], groups, x.shape[1] // groups, *out)
        y += np.einsum("ngc...,gfc->ngf...", part, split[(slice(None), slice(None), slice(None), *place)])
    return y.reshape(x.shape[0], features, *out)


def fitting(case, seed, count):
    """Draws sizes for which the convolution has a result, possibly without elements. Draws small
    and large sizes equally often."""
    generator = np.random.default_rng(seed + 1000)
    rank = len(case[3])
    found = []
    for _ in range(200):
        size = generator.choice(SIZES[:8] if rank == 3 else SIZES, rank).tolist()
        if lengths(case, size) and np.prod(lengths(case, size)) <= 60000:
            found.append(size)
        if len(found) == count:
            break
    return found


def compare(module, case, size, weights, residual, batch=2):
    generator = np.random.default_rng(sum(size))
    feeds = {"x": generator.standard_normal((batch, case[0], *size)).astype(np.float32)}
    want = expected(case, feeds["x"], weights)
    if residual:
        feeds["r"] = generator.standard_normal(want.shape).astype(np.float32)
        want = want + feeds["r"]
    else:
        want = np.maximum(want, 0)
    (got,) = module.run(feeds).values()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"{case} {size}")


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_known_when_run(seed, target):
    case, residual = drawn(seed), seed % 3 == 0
    sizes = fitting(case, seed, 8)
    assert sizes
    model, weights = model_of(case, [f"d{i}" for i in range(len(case[3]))], residual)
    module = compiled(model, target)
    for i, size in enumerate(sizes):
        compare(module, case, size, weights, residual, batch=i % 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_known_while_compiling(seed):
    case, residual = drawn(seed), seed % 3 == 0
    for size in fitting(case, seed, 2):
        if 0 not in size:
            model, weights = model_of(case, size, residual)
            compare(compiled(model), case, size, weights, residual)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype):
    case = (16, 24, 1, [3, 3], [12, 12, 12, 12], [1, 1], [12, 12])
    model, weights = model_of(case, ["h", "w"], False)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = kind
    weights = weights.astype(dtype)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    module = compiled(model)
    for size in ([28, 28], [7, 15], [1, 1], [13, 4]):
        x = np.random.default_rng(3).standard_normal((1, 16, *size)).astype(dtype)
        want = np.maximum(expected(case, x, weights), 0)
        (got,) = module.run({"x": x}).values()
        np.testing.assert_allclose(
            got,
            want.astype(dtype),
            rtol=4e-3 if dtype == np.float16 else 1e-9,
            atol=1e-2 if dtype == np.float16 else 1e-9,
        )


def test_what_lies_behind_the_border_is_not_read():
    """The image is NaN except for a corner. Results whose window reads only the corner must not be
    NaN."""
    case = (16, 16, 1, [3, 3], [12, 12, 12, 12], [1, 1], [12, 12])
    model, weights = model_of(case, ["h", "w"], False)
    x = np.zeros((1, 16, 14, 30), np.float32)
    x[..., 20:] = np.nan
    (got,) = compiled(model).run({"x": x}).values()
    reached = np.isnan(expected(case, x, weights))
    np.testing.assert_array_equal(np.isnan(got) | (got == 0), True)
    assert not np.isnan(got[~reached]).any()


@pytest.mark.parametrize("kernel", [[11], [12], [16], [1, 12], [13, 2]])
@pytest.mark.parametrize("channels", [(1, 1, 1), (16, 24, 1), (24, 24, 24), (16, 32, 4)])
def test_sources_of_one_element(kernel, channels):
    """The kernel must index an input of one element with padding by the window position. It must
    not treat the element as a scalar that all positions share."""
    rank = len(kernel)
    for before, after in ((0, 0), (3, 40)):
        pads = [k - 1 + before for k in kernel] + [k - 1 + after for k in kernel]
        for size in ([1] * rank, [1] * (rank - 1) + [2], [3] * (rank - 1) + [1]):
            case = (*channels, kernel, pads, [1] * rank, [1] * rank)
            model, weights = model_of(case, size, residual=False)
            compare(compiled(model), case, size, weights, residual=False)

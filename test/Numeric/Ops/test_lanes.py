# SPDX-License-Identifier: Apache-2.0
"""Vectorized ops that need more than contiguous loads: quotients of 64-bit integers, strided
addresses, large windows, and short rows."""

import numpy as np
import pytest
from numeric import check, feeds_of, one_node, oracle, run

random = np.random.default_rng(13)
ALL = ("host", "x86-64-v3", "x86-64-v2")


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def truncated(x, y):
    """Returns x / y, truncated as in C, and also where C defines nothing: for division by zero, and
    for the smallest number divided by -1."""
    quotients = [0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)]
    return np.array([(q + 2**63) % 2**64 - 2**63 for q in quotients], np.int64)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("bits", [8, 32, 53, 54, 63])
def test_long_quotients(bits, target):
    """The kernel computes integer quotients of up to 53 bits by float64 division. The operands
    include n * y - 1 and n * y, between which the quotient changes."""
    most = 2**bits - 1
    y = random.integers(1, 2 ** max(bits // 2, 4), 150)
    near = (most // y) * y
    x = np.concatenate([near, near - 1, -near, 1 - near, random.integers(-most, most, 151), [most, -most, 5, -7]])
    y = np.concatenate([y, y, y, -y, random.integers(-most, most, 151), [most, 1, 0, -1]])
    if bits == 63:
        x, y = np.append(x, [-(2**63)] * 3), np.append(y, [-1, 1, 2**62])
    inputs = [x, y]
    (got,) = run(one_node("Div", inputs, opset=14), feeds_of(inputs), target=target)
    np.testing.assert_array_equal(got, truncated(x.tolist(), y.tolist()))


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("scale", [0.5, 0.75, 2.0, 3.0])
@pytest.mark.parametrize("shape", [(1, 3, 7, 13), (2, 2, 9, 37), (1, 1, 16, 100)])
@pytest.mark.parametrize("how", ["asymmetric", "align_corners", "half_pixel"])
def test_resampled_lines(how, shape, scale, target):
    sizes = np.array([*shape[:2], int(shape[2] * scale), int(shape[3] * scale)])
    for attributes in ({"mode": "nearest", "nearest_mode": "floor"}, {"mode": "linear"}):
        inputs = [floats(*shape), None, None, sizes]
        model = one_node("Resize", inputs, opset=19, constants=[3], coordinate_transformation_mode=how, **attributes)
        feeds = feeds_of(inputs, [3])
        check(run(model, feeds, target=target), oracle(model, feeds), rtol=1e-4, atol=1e-5)


# Each case of a pooling window has kernel, strides, dilations, pads.
WINDOWS = [
    ((5, 5), (1, 1), (1, 1), (2, 2, 2, 2)),
    ((7, 6), (1, 1), (1, 1), (3, 0, 1, 2)),
    ((9, 9), (2, 2), (1, 1), (4, 4, 4, 4)),
    ((5, 5), (1, 1), (2, 2), (4, 4, 3, 4)),
    ((3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1)),
    ((19, 21), (1, 1), (1, 1), (0, 0, 0, 0)),
]


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("kernel, strides, dilations, pads", WINDOWS)
def test_large_windows(op, kernel, strides, dilations, pads, target):
    inputs = [floats(2, 3, *(19, 21, 5)[: len(kernel)])]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}
    for ceil in (0, 1):
        model = one_node(op, inputs, opset=22, ceil_mode=ceil, **attributes)
        if op == "AveragePool":
            model.graph.node[0].attribute.extend(one_node(op, inputs, count_include_pad=ceil).graph.node[0].attribute)
        check(run(model, feeds_of(inputs), target=target), oracle(model, feeds_of(inputs)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_nan_is_the_largest(kernel, target):
    """MaxPool propagates NaN, as numpy does and onnxruntime does not."""
    x = floats(1, 2, 11, 23)
    x[0, 0, 3, 4] = x[0, 1, 10, 22] = np.nan
    (got,) = run(one_node("MaxPool", [x], opset=22, kernel_shape=[kernel, kernel]), feeds_of([x]), target=target)
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    np.testing.assert_array_equal(got, windows.max((-1, -2)))


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("count", [2, 3, 5, 7])
@pytest.mark.parametrize("shape", [(37,), (3, 16), (2, 5, 33)])
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8])
def test_lines_of_some_elements(kind, shape, count, target):
    inputs = [(floats(*shape, 1) * 50).astype(np.int64).astype(kind) for _ in range(count)]
    model = one_node("Concat", inputs, opset=13, axis=-1)
    check(run(model, feeds_of(inputs), target=target), [np.concatenate(inputs, -1)])


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, np.float16])
def test_long_runs(kind, target):
    """The kernel copies long contiguous runs by memcpy, in pieces."""

    def check_copies(op, inputs, constants, want, **attributes):
        model = one_node(op, inputs, opset=18, constants=constants, **attributes)
        check(run(model, feeds_of(inputs, constants), target=target), [want])

    x = (floats(3, 2, 1111, 33) * 50).astype(np.int64).astype(kind)
    check_copies("Tile", [x, np.array([2, 1, 1, 1])], [1], np.tile(x, (2, 1, 1, 1)))
    check_copies("Expand", [x[:, :1], np.array([3, 5, 1111, 33])], [1], np.repeat(x[:, :1], 5, axis=1))
    check_copies("Transpose", [x], [], x.transpose(1, 0, 2, 3), perm=[1, 0, 2, 3])
    check_copies("Slice", [x, *map(np.array, ([7], [1000], [2]))], [1, 2, 3], x[:, :, 7:1000])
    check_copies("Slice", [x, *map(np.array, ([-1], [-(2**31)], [0], [-1]))], [1, 2, 3, 4], x[::-1])

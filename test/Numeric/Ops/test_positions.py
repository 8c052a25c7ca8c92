# SPDX-License-Identifier: Apache-2.0
"""Positions of extremes (ArgMax, ArgMin, MaxPool indices) compared with numpy: ties, NaN,
infinities, and inputs that equal the initial value of the reduction."""

import numpy as np
import pytest
from numeric import compiled
from onnx import helper


def model_of(x, op, axis, **attributes):
    type_ = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node(op, ["x"], ["y"], axis=axis, **attributes)
    inputs = [helper.make_tensor_value_info("x", type_, x.shape)]
    graph = helper.make_graph([node], "positions", inputs, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def elements(generator, shape, dtype):
    x = generator.integers(0 if dtype == "uint8" else -3, 4, shape).astype(dtype)
    kind = generator.integers(0, 4)
    if x.dtype.kind != "f":
        if kind == 0:
            x[...] = generator.choice([np.iinfo(dtype).min, np.iinfo(dtype).max])
        return x
    if kind <= 1:
        x[generator.random(shape) < 0.2] = np.nan
    if kind >= 1:
        x[generator.random(shape) < 0.5] = -np.inf
    if kind == 3:
        x[...] = generator.choice([np.inf, -np.inf, np.nan])
    return x


def wanted(x, op, axis, last):
    """Returns the first position of an extreme by numpy, or the last one, by searching from the
    end."""
    find = np.argmax if op == "ArgMax" else np.argmin
    if not last:
        return np.expand_dims(find(x, axis=axis), axis)
    return np.expand_dims(x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis), axis)


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("seed", range(4))
def test_positions(seed, target):
    generator = np.random.default_rng(seed)
    for _ in range(12):
        shape = [int(generator.choice([1, 2, 3, 7, 16, 17, 40])) for _ in range(generator.integers(1, 4))]
        dtype = str(generator.choice(["float32", "float32", "float16", "float64", "int8", "uint8", "int32", "int64"]))
        x, op = elements(generator, shape, dtype), str(generator.choice(["ArgMax", "ArgMin"]))
        axis, last = int(generator.integers(0, len(shape))), int(generator.integers(0, 2))
        (got,) = compiled(model_of(x, op, axis, select_last_index=last), target).run({"x": x}).values()
        np.testing.assert_array_equal(got, wanted(x, op, axis, last), f"{op} {dtype} {shape} axis {axis} last {last}")


def pooled(x, kernel, strides, dilations, pads, column_major):
    """Returns the index in x of the largest element in each window. Of equal elements, the first
    one counts."""
    count, channels, *size = x.shape
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    out = [(s + pads[i] + pads[i + 2] - reach[i]) // strides[i] + 1 for i, s in enumerate(size)]
    places = np.zeros((count, channels, *out), np.int64)
    for n, c, i, j in np.ndindex(places.shape):
        taps = [
            (i * strides[0] - pads[0] + a * dilations[0], j * strides[1] - pads[1] + b * dilations[1])
            for a in range(kernel[0])
            for b in range(kernel[1])
        ]
        inside = [(r, s) for r, s in taps if 0 <= r < size[0] and 0 <= s < size[1]]
        r, s = max(inside, key=lambda at: x[n, c, at[0], at[1]])  # the first of equal elements
        flat = s * size[0] + r if column_major else r * size[1] + s
        places[n, c, i, j] = (n * channels + c) * size[0] * size[1] + flat
    return places


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_places_of_pools(dtype, target):
    """Some windows at the edge contain only the smallest value of the type, which is also the value
    of the padding."""
    generator = np.random.default_rng(5)
    for _ in range(10):
        kernel, strides, dilations = (tuple(int(v) for v in generator.integers(1, top, 2)) for top in (4, 3, 3))
        pads = [int(generator.integers(0, (k - 1) * d + 1)) for k, d in zip(kernel, dilations)] * 2
        pads = [min(p, k - 1) for p, k in zip(pads, kernel * 2)]
        shape = [2, int(generator.integers(1, 18)), *(int(v) for v in generator.integers(5, 9, 2))]
        least = -np.inf if dtype == "float32" else np.iinfo(dtype).min
        x = np.where(generator.random(shape) < 0.8, least, generator.integers(0, 3, shape)).astype(dtype)
        column_major = int(generator.integers(0, 2))
        attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}
        node = helper.make_node("MaxPool", ["x"], ["y", "i"], storage_order=column_major, **attributes)
        inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), shape)]
        outputs = [helper.make_empty_tensor_value_info(name) for name in "yi"]
        graph = helper.make_graph([node], "pool", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
        got = compiled(model, target).run({"x": x})
        want = pooled(x, kernel, strides, dilations, pads, column_major)
        np.testing.assert_array_equal(got["i"], want, str(attributes))

# SPDX-License-Identifier: Apache-2.0
"""Positions of extremes, against numpy: ties, NaNs, infinities, elements that are all the least there is."""

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
    """Where numpy has the first; of equal ones the last by looking from the end."""
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

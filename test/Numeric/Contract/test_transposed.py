# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions with random strides, dilations, kernels, groups and pads, compared with
onnxruntime."""

import random

import hewn
import numpy as np
import onnx
import pytest
from numeric import compiled, oracle
from onnx import TensorProto, helper


def model_of(attributes, weights, bias, shape, after=()):
    """Builds a ConvTranspose of x, followed by unary ops, or by binary ops with an initializer."""
    inputs = ["x", "w"] + (["b"] if bias is not None else [])
    nodes = [helper.make_node("ConvTranspose", inputs, ["y0"], **attributes)]
    arrays = {"w": weights} | ({"b": bias} if bias is not None else {})
    for i, (op, operand) in enumerate(after):
        more = [] if operand is None else [f"o{i}"]
        nodes.append(helper.make_node(op, [f"y{i}", *more], [f"y{i + 1}"]))
        if operand is not None:
            arrays[f"o{i}"] = operand
    graph = helper.make_graph(
        nodes,
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"y{len(after)}", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compare(model, feeds, **options):
    (got,) = compiled(model, **options).run(feeds).values()
    (want,) = oracle(model, feeds)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def case_of(seed):
    """Draws the attributes of a ConvTranspose, and sizes and channel counts that are valid for
    it."""
    choice = random.Random(seed)
    rank = choice.choice((1, 2, 2, 2, 3))
    while True:
        kernel = [choice.randint(1, 5 if rank < 3 else 3) for _ in range(rank)]
        strides = [choice.randint(1, 4 if rank < 3 else 2) for _ in range(rank)]
        dilations = [choice.randint(1, 3) for _ in range(rank)]
        size = [choice.randint(1, 9 if rank < 3 else 4) for _ in range(rank)]
        reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
        pads = [choice.randint(0, min(r + 1, 4)) for r in reach * 2]
        more = [choice.randint(0, s - 1) for s in strides]
        result = [
            (n - 1) * s + r + 1 + m - pads[i] - pads[rank + i]
            for i, (n, s, r, m) in enumerate(zip(size, strides, reach, more))
        ]
        if min(result) > 0:
            break
    groups = choice.choice((1, 1, 2, 4, 8))
    perGroup, features = choice.choice(((1, 1), (1, 1), (1, 2), (2, 2), (3, 1), (4, 4), (2, 8), (4, 3)))
    if groups == 1 and choice.random() < 0.5:
        perGroup, features = choice.choice(((8, 16), (16, 9), (7, 32)))
    attributes = {"group": groups, "strides": strides, "dilations": dilations, "kernel_shape": kernel}
    attributes |= {"pads": pads, "output_padding": more}
    if choice.random() < 0.15:
        # With output padding, or strides larger than the window, onnxruntime's SAME result has
        # another size than ONNX defines.
        same = not any(more) and all(r + 1 >= s for r, s in zip(reach, strides))
        del attributes["pads"]
        attributes["auto_pad"] = choice.choice(("SAME_UPPER", "SAME_LOWER") if same else ("VALID",))
    arrays = np.random.default_rng(seed)
    weights = arrays.standard_normal((groups * perGroup, features, *kernel)).astype(np.float32)
    bias = arrays.standard_normal(groups * features).astype(np.float32) if choice.random() < 0.7 else None
    batch = choice.choice((1, 1, 3))
    feeds = {"x": arrays.standard_normal((batch, groups * perGroup, *size)).astype(np.float32)}
    return attributes, weights, bias, feeds


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("seed", range(40))
def test_any_window(seed, dynamic):
    attributes, weights, bias, feeds = case_of(seed)
    shape = list(feeds["x"].shape)
    if dynamic:
        shape = ["n", shape[1], *(f"d{i}" for i in range(len(shape) - 2))]
    compare(model_of(attributes, weights, bias, shape), feeds)


@pytest.mark.parametrize("shape", [("n", 8, 7, 9), ("n", 8, "h", "w")], ids=["batch", "all"])
def test_batches_of_none_and_pictures_of_one_pixel(shape):
    weights = np.random.default_rng(0).standard_normal((8, 16, 3, 3)).astype(np.float32)
    model = model_of({"strides": [2, 2], "pads": [1, 1, 1, 1]}, weights, None, shape, [("Relu", None)])
    for given in [(0, 8, 7, 9), (3, 8, 7, 9)] + [(2, 8, 1, 1)] * (shape[2] == "h"):
        compare(model, {"x": np.random.default_rng(1).standard_normal(given).astype(np.float32)})
    with pytest.raises(hewn.RunError, match=r"input 'x': shape \[n, 8, .* expected, got \[1, 7, 7, 9\]"):
        compiled(model).run({"x": np.zeros((1, 7, 7, 9), np.float32)})


@pytest.mark.parametrize("name", ["strides", "dilations", "pads", "output_padding"])
@pytest.mark.parametrize("value", [2**31, 2**62, -(2**31)])
def test_numbers_that_no_window_has(name, value):
    count = 4 if name == "pads" else 2
    attributes = {"strides": [3, 3]} | {name: [value] * count}
    model = model_of(attributes, np.ones((4, 4, 3, 3), np.float32), None, ("n", 4, 7, 9))
    with pytest.raises(hewn.CompileError, match="ConvTranspose"):
        compiled(model)

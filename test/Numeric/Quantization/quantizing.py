# SPDX-License-Identifier: Apache-2.0
"""Builds small models and calibration samples, and finds the entry for a contraction in a
report."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Options that quantize on every target, even where float kernels are faster. For tests of numeric
# results.
ALWAYS = {"keep_float": False}


def model_of(nodes, shape, constants, outputs=("y",)):
    graph = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def weights(seed, *shape):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) / np.sqrt(np.prod(shape) / max(shape))).astype("f")


def product(shape=("n", 48), columns=24):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], shape, {"w": weights(0, 48, columns)})


def net(batch="n"):
    """Builds convolutions with padding and strides, a residual, a depthwise convolution, and a
    matmul at the end."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="second", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("HardSwish", ["c2"], ["r2"]),
        helper.make_node("Conv", ["r2", "wd"], ["cd"], name="depthwise", group=32, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["cd", "w3"], ["c3"], name="third"),
        helper.make_node("Add", ["c3", "r2"], ["a"]),
        helper.make_node("GlobalAveragePool", ["a"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "w4"], ["y"], name="last"),
    ]
    constants = {"w1": weights(1, 16, 3, 3, 3), "b1": weights(2, 16), "w2": weights(3, 32, 16, 3, 3)}
    constants |= {"wd": weights(4, 32, 1, 3, 3), "w3": weights(5, 32, 32, 1, 1), "w4": weights(6, 32, 20)}
    return model_of(nodes, [batch, 3, 12, 12], constants)


def samples(shape, count=6, seed=7):
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype("f") for _ in range(count)]


def layer(module, name):
    return next(one for one in module.report["layers"] if one["node"] == name)


def site(module, name):
    return next(one for one in module.report["quantization"]["sites"] if one["node"] == name)


def quantized(x, scale, zero):
    return np.clip(np.rint(x / np.float32(scale)) + zero, 0, 255)


def decibels(want, got):
    return 10 * np.log10(np.sum(np.square(want, dtype="d")) / np.sum(np.square(got - want, dtype="d")))


def drawn(sums, rows):
    """Returns the mean over rows per column. Each mean is shrunk towards zero by its standard error
    over the samples (James and Stein, 1961)."""
    sums, rows = np.array(sums, "d"), np.array(rows, "d")
    mean = sums.sum(axis=0) / rows.sum()
    error = np.square(sums - rows[:, None] * mean).sum(axis=0) * len(rows) / (len(rows) - 1) / rows.sum() ** 2
    return mean * max(0, 1 - error.sum() / np.square(mean).sum())

# SPDX-License-Identifier: Apache-2.0
"""Sensitivity search: the compiler finds the contractions whose rounding has the largest effect on
the outputs. It keeps them in float until the error bound is satisfied, and no more of them."""

import re

import hewn
import numpy as np
from onnx import helper
from quantizing import ALWAYS, layer, model_of, product, samples, weights

BARE = {"bias_correction": False, "smoothing": False, "activations": {"range": "minmax"}}
SIZE = 256


def two_branches(gain):
    """Builds two matmuls of one input. The output contains the first one's result, multiplied by
    `gain`."""
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], name="loud"),
        helper.make_node("MatMul", ["x", "w"], ["b"], name="quiet"),
        helper.make_node("Mul", ["a", "gain"], ["g"]),
        helper.make_node("Add", ["g", "b"], ["y"]),
    ]
    constants = {"v": weights(0, SIZE, SIZE), "w": weights(1, SIZE, SIZE), "gain": np.float32(gain)}
    return model_of(nodes, [64, SIZE], constants)


def test_what_does_most_to_the_outputs_goes_first():
    """Both matmuls of the model have the same rounding error. The sensitivity search returns the
    matmul with the larger effect on the output to float first."""
    data = samples((64, SIZE), 2)
    free = hewn.compile(two_branches(10), quantize=BARE | ALWAYS, calibration=data)
    bound = free.report["outputs"]["y"]["sqnr_db"] + 6
    held = hewn.compile(two_branches(10), quantize=BARE, calibration=data, min_sqnr=bound)
    assert held.report["returned_to_float"] == ["loud"] and layer(held, "quiet")["weights"] == "int8"
    told = re.match(
        r"in integers, which alone leave ([0-9.]+) dB in the outputs, the bound was not met", layer(held, "loud")["why"]
    )
    alone = hewn.compile(
        two_branches(10), quantize=BARE | {"rules": [{"node": "quiet", "keep_float": True}]}, calibration=data
    )
    assert abs(float(told[1]) - alone.report["outputs"]["y"]["sqnr_db"]) < 0.2
    assert held.report["outputs"]["y"]["sqnr_db"] >= bound


def cancelling(share=1):
    """Builds a model whose output is the difference of two similar matmuls. The difference is small
    compared with the rounding error of each matmul."""
    w = weights(0, SIZE, SIZE)
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], name="first"),
        helper.make_node("MatMul", ["x", "w"], ["b"], name="second"),
        helper.make_node("Sub", ["a", "b"], ["y"]),
    ]
    other = (w + share * (w * 0.001 + weights(1, SIZE, SIZE) * 0.01)).astype("f")
    return model_of(nodes, [64, SIZE], {"v": w, "w": other})


def test_integers_of_no_use_are_not_taken_unless_asked_for():
    """Without a bound from the user, the compiler requires at least 25 dB. Explicitly requested
    integers are used in any case."""
    data = samples((64, SIZE), 2)
    held = hewn.compile(cancelling(), quantize="int8", calibration=data).report
    assert held["outputs"]["y"]["sqnr_db"] >= 25 and held["returned_to_float"]
    asked = hewn.compile(cancelling(), quantize=ALWAYS, calibration=data).report
    assert asked["outputs"]["y"]["sqnr_db"] < 25 and "returned_to_float" not in asked
    again = hewn.compile(cancelling(), quantize=asked["quantization"], calibration=data).report
    assert "returned_to_float" not in again


def test_the_bound_that_nobody_said_has_a_margin():
    """The default bound has a margin, because other samples may have larger errors. An error bound
    that the user gives applies to the calibration samples without a margin."""
    data = [x * np.float32(size) for x, size in zip(samples((64, SIZE), 4), (1, 0.2, 0.2, 0.2), strict=True)]

    def of_all_integers(model):
        return hewn.compile(model, quantize=BARE | ALWAYS, calibration=data).report["outputs"]["y"]["sqnr_db"]

    once, above = of_all_integers(cancelling()), 0.0
    while (free := of_all_integers(model := cancelling(10 ** ((25 + above - once) / 20)))) < 25:
        above += 0.2
    assert above < 2 and free < 25.8
    said = hewn.compile(model, quantize=BARE, calibration=data, min_sqnr=25).report
    assert "returned_to_float" not in said
    unsaid = hewn.compile(model, quantize=BARE, calibration=data).report
    assert unsaid["returned_to_float"] and unsaid["outputs"]["y"]["sqnr_db"] > free


def test_numbers_too_small_for_a_scale_stay_floats():
    data = [x * np.float32(1e-32) for x in samples((8, 48))]
    module = hewn.compile(product(), quantize=ALWAYS, calibration=data)
    assert "too small for a scale" in layer(module, "fc")["why"]


def test_probabilities_are_held_to_more():
    """For a softmax output, the default bound is 30 dB instead of 25 dB: rows in which one class is
    certain would hide the errors of ambiguous rows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="fc")]
    constants = {"w": np.float32(0.6) * weights(0, SIZE, 16)}
    scores = model_of([*nodes, helper.make_node("Softmax", ["a"], ["y"])], [64, SIZE], constants)
    logits = model_of([*nodes, helper.make_node("Identity", ["a"], ["y"])], [64, SIZE], constants)
    data = samples((64, SIZE), 4)
    for x in data:
        x[0, 0] = 24  # an outlier that enlarges the range
    how = BARE | {"weights": {"rounding": "nearest"}}
    free = hewn.compile(scores, quantize=how | ALWAYS, calibration=data).report["outputs"]["y"]["sqnr_db"]
    assert 25 < free < 30
    assert hewn.compile(scores, quantize=how, calibration=data).report["returned_to_float"] == ["fc"]
    assert "returned_to_float" not in hewn.compile(logits, quantize=how, calibration=data).report

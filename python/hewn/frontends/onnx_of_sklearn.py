# SPDX-License-Identifier: Apache-2.0
"""Converts scikit-learn estimators and pipelines by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType

from . import expect_nothing_dynamic, failed, positional

ADVICE = (
    "See https://onnx.ai/sklearn-onnx for the estimators that skl2onnx supports, and how to register other converters. The steps of a "
    "pipeline can be compiled separately."
)


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> object:
    """Converts a fitted estimator.

    `example_inputs` is a table like the one passed to `fit`; by default, the input has rows of
    float32 features. The number of rows is dynamic. A classifier returns labels and an array of
    probabilities, with a column for each class in the order of `classes_`.
    """
    expect_nothing_dynamic("scikit-learn", dynamic_shapes, "the number of rows is always dynamic")
    if example_inputs is None:
        width = getattr(model, "n_features_in_", None)
        if width is None:
            raise TypeError(
                "the number of features of this estimator is unknown (is it fitted?): pass example_inputs=X"
            )
        given: dict[str, Any] = {"initial_types": [("X", FloatTensorType([None, int(width)]))]}
    else:
        (table,) = positional(example_inputs)
        given = {"X": table[:1] if isinstance(table, np.ndarray) else table}
    # Return a tensor instead of a map for each row.
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    try:
        return to_onnx(model, options=options, **given)
    except Exception as problem:
        raise failed("skl2onnx cannot convert this estimator", problem, ADVICE) from problem

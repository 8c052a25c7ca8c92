# SPDX-License-Identifier: Apache-2.0
"""Estimators and pipelines of scikit-learn: by skl2onnx."""

from __future__ import annotations

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType

from . import expect_nothing_dynamic, failed, positional

ADVICE = (
    "https://onnx.ai/sklearn-onnx lists the estimators that skl2onnx has, and how converters for others are registered. A pipeline can be "
    "compiled in parts."
)


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> object:
    """A fitted estimator; `example_inputs` is a table as `fit` was given it, or is left out: then rows of float32 features. Rows stay
    open. A classifier gives labels and an array of probabilities, a column for each class in the order of `classes_`."""
    expect_nothing_dynamic("scikit-learn", dynamic_shapes, "rows stay open always")
    if example_inputs is None:
        width = getattr(model, "n_features_in_", None)
        if width is None:
            raise TypeError(
                "this estimator does not tell how many features it takes (is it fitted?): give example_inputs=X"
            )
        given = {"initial_types": [("X", FloatTensorType([None, int(width)]))]}
    else:
        (table,) = positional(example_inputs)
        given = {"X": table[:1] if isinstance(table, np.ndarray) else table}
    # A map for each row is what no tensor holds.
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    try:
        return to_onnx(model, options=options, **given)
    except Exception as problem:
        raise failed("skl2onnx can't convert this estimator", problem, ADVICE) from problem

# SPDX-License-Identifier: Apache-2.0
"""Converts Keras models by Model.export(format="onnx").

Keras uses tf2onnx or, with the torch backend, torch.onnx.export.
"""

from __future__ import annotations

import pathlib
from typing import Any

from . import expect_nothing_dynamic, failed, positional

ADVICE = (
    "To reproduce without hewn: model.export('model.onnx', format='onnx'). KERAS_BACKEND=tensorflow (tf2onnx) and =torch "
    "(torch.onnx) support different ops. A model converted in another way can be compiled by hewn.compile(path)."
)


def convert(model: Any, folder: str, example_inputs: object, dynamic_shapes: object) -> str:
    """Converts a model.

    Example inputs are only necessary for a model that was never called or built.
    """
    expect_nothing_dynamic("Keras", dynamic_shapes, "use None for dynamic dims in its inputs")
    path = pathlib.Path(folder) / "model.onnx"
    try:
        if example_inputs is not None:
            model(*positional(example_inputs))
        elif getattr(model, "inputs", None):
            import keras

            zeros = [keras.ops.zeros([1 if d is None else d for d in x.shape], x.dtype) for x in model.inputs]
            model(zeros if len(zeros) > 1 else zeros[0])
        model.export(path, format="onnx", verbose=False)
    except Exception as problem:
        raise failed("Keras cannot export this model", problem, ADVICE) from problem
    return str(path)

# SPDX-License-Identifier: Apache-2.0
"""Models of Keras: by Model.export(format="onnx"), which asks tf2onnx, or, where Keras computes by torch, torch.onnx.export."""

from __future__ import annotations

import pathlib

from . import expect_nothing_dynamic, failed, positional

ADVICE = (
    "model.export('model.onnx', format='onnx') says the same without hewn; under KERAS_BACKEND=tensorflow (tf2onnx) and =torch "
    "(torch.onnx) it takes different ops. An ONNX file made in another way compiles as hewn.compile(path)."
)


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> str:
    """Example inputs only for a model that was never called or built: others know their own."""
    expect_nothing_dynamic("Keras", dynamic_shapes, "open dims are those that are None in its inputs")
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
        raise failed("Keras can't export this model", problem, ADVICE) from problem
    return str(path)

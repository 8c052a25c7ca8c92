# SPDX-License-Identifier: Apache-2.0
"""Converts jax functions, and modules of flax.nnx and equinox, by jax2onnx."""

from __future__ import annotations

from collections.abc import Mapping

from jax2onnx import to_onnx

from . import expect_nothing_dynamic, failed, leaves, positional

ADVICE = (
    "See https://github.com/enpasos/jax2onnx for the primitives that jax2onnx supports. If a function takes its parameters as "
    "arguments, bind them: functools.partial(apply, parameters)."
)


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> object:
    """Converts a function.

    Example inputs are arrays, jax.ShapeDtypeStructs, or shapes; a dim of a shape can be a name:
    ("batch", 28, 28).
    """
    expect_nothing_dynamic("jax", dynamic_shapes, 'use names for dynamic dims in example_inputs: [("batch", 28, 28)]')
    if example_inputs is None or isinstance(example_inputs, Mapping):
        raise TypeError(
            "a jax function requires example inputs, in the order of its arguments: hewn.compile(f, example_inputs=(x,)), or float32 "
            'shapes with names for dynamic dims: example_inputs=[("batch", 28, 28)]'
        )
    inputs = positional(example_inputs)
    if inputs and all(isinstance(x, str | int) for x in inputs):
        inputs = (tuple(inputs),)  # the example is one shape, not a list of shapes
    wide = any(str(getattr(leaf, "dtype", "")) == "float64" for leaf in leaves(inputs))
    try:
        return to_onnx(model, list(inputs), enable_double_precision=wide)
    except Exception as problem:
        raise failed("jax2onnx cannot convert this function", problem, ADVICE) from problem

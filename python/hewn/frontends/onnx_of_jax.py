# SPDX-License-Identifier: Apache-2.0
"""Functions of jax, modules of flax.nnx and of equinox: by jax2onnx."""

from __future__ import annotations

from collections.abc import Mapping

from jax2onnx import to_onnx

from . import expect_nothing_dynamic, failed, leaves, positional

ADVICE = (
    "jax2onnx converts primitives one by one: https://github.com/enpasos/jax2onnx lists those that it has. A function that takes its "
    "parameters as arguments may be closed over them: functools.partial(apply, parameters)."
)


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> object:
    """Example inputs are arrays, jax.ShapeDtypeStructs, or shapes, whose dims may be names: ("batch", 28, 28)."""
    expect_nothing_dynamic("jax", dynamic_shapes, 'open dims are names in example_inputs: [("batch", 28, 28)]')
    if example_inputs is None or isinstance(example_inputs, Mapping):
        raise TypeError(
            "a jax function is traced on arrays like those that it will get, in their order: hewn.compile(f, example_inputs=(x,)), or on "
            'shapes of float32 with names for open dims: example_inputs=[("batch", 28, 28)]'
        )
    inputs = positional(example_inputs)
    if inputs and all(isinstance(x, str | int) for x in inputs):
        inputs = (tuple(inputs),)  # one shape
    wide = any(str(getattr(leaf, "dtype", "")) == "float64" for leaf in leaves(inputs))
    try:
        return to_onnx(model, list(inputs), enable_double_precision=wide)
    except Exception as problem:
        raise failed("jax2onnx can't convert this function", problem, ADVICE) from problem

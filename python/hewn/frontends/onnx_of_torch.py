# SPDX-License-Identifier: Apache-2.0
"""Converts torch models by torch.onnx.export(dynamo=True)."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from . import failed, positional

ADVICE = (
    "torch.onnx.export(model, example_inputs, dynamo=True, report=True) shows the cause. Remove code that torch.export cannot trace, or "
    "use torch.compile(model, backend='hewn'), which compiles the graphs around it. A model converted in another way can be compiled by "
    "hewn.compile(path)."
)


@contextlib.contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Sets the module to inference mode (no dropout, fixed statistics of norms).

    Restores the mode of each submodule afterwards.
    """
    training = [submodule for submodule in module.modules() if submodule.training]
    for submodule in training:
        submodule.training = False
    try:
        yield
    finally:
        for submodule in training:
            submodule.training = True


class Function(torch.nn.Module):
    """Wraps a function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function


def written(program: torch.onnx.ONNXProgram, path: pathlib.Path) -> str:
    """Writes the exported ONNX program to a file, and its weights to a second file in the same folder."""
    program.save(path, external_data=True)
    return str(path)


def quietly_exported(*args: object, **options: object) -> torch.onnx.ONNXProgram:
    """Calls torch.onnx.export without progress output and without warnings about torch internals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        return torch.onnx.export(*args, dynamo=True, verbose=False, **options)


def _expect_state_kept(program: torch.export.ExportedProgram) -> None:
    """Warns if the model changes its state, because a compiled model has no state."""
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        warnings.warn(
            f"the model writes to {', '.join(changed)}, but the compiled model does not: each run starts with the exported values. "
            "torch.compile(model, backend='hewn') preserves such writes",
            stacklevel=6,
        )


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> str:
    """Converts a module or function with example inputs, or an exported program.

    The example inputs are a tuple of arguments, a dict by name, or a single argument.
    """
    path = pathlib.Path(folder) / "model.onnx"
    mode: contextlib.AbstractContextManager[None]
    if isinstance(model, torch.export.ExportedProgram):
        if example_inputs is not None or dynamic_shapes is not None:
            raise TypeError(
                "an ExportedProgram already has inputs and dynamic shapes: remove example_inputs, dynamic_shapes"
            )
        exported, args, options, mode = model, (), {}, contextlib.nullcontext()
    else:
        if example_inputs is None:
            raise TypeError(
                "a torch.nn.Module requires example inputs: hewn.compile(model, example_inputs=(x,)), and for dynamic dims "
                "dynamic_shapes=, as in torch.export"
            )
        exported = getattr(model, "_orig_mod", model)  # unwraps torch.compile
        exported = exported if isinstance(exported, torch.nn.Module) else Function(exported)
        named = isinstance(example_inputs, Mapping)
        args = () if named else positional(example_inputs)
        options = {
            "kwargs": dict(example_inputs) if isinstance(example_inputs, Mapping) else None,
            "dynamic_shapes": dynamic_shapes,
        }
        mode = evaluating(exported)
    try:
        with torch.no_grad(), mode:
            program = quietly_exported(exported, args, **options)
    except Exception as problem:
        raise failed("torch.onnx.export cannot export this model", problem, ADVICE) from problem
    _expect_state_kept(program.exported_program)
    return written(program, path)

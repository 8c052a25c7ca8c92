# SPDX-License-Identifier: Apache-2.0
"""Models of torch: by torch.onnx.export(dynamo=True)."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Iterator, Mapping

import torch

from . import failed, positional

ADVICE = (
    "torch.onnx.export(model, example_inputs, dynamo=True, report=True) shows where it stops. What torch.export can't trace can be left out "
    "of the model, or the graphs around it compiled by torch.compile(model, backend='hewn'); an ONNX file made in another way "
    "compiles as hewn.compile(path)."
)


@contextlib.contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """The module as it is at inference: dropout off, statistics of norms as they are. Each submodule's mode is its own again afterwards."""
    training = [submodule for submodule in module.modules() if submodule.training]
    for submodule in training:
        submodule.training = False
    try:
        yield
    finally:
        for submodule in training:
            submodule.training = True


class Function(torch.nn.Module):
    """A plain function on tensors."""

    def __init__(self, function) -> None:
        super().__init__()
        self.forward = function


def written(program: torch.onnx.ONNXProgram, path: pathlib.Path) -> str:
    """The program as a file; its weights lie in a second one beside it."""
    program.save(path, external_data=True)
    return str(path)


def quietly_exported(*args: object, **options: object) -> torch.onnx.ONNXProgram:
    """torch.onnx.export without its progress on the terminal, and without warnings about torch's own insides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        return torch.onnx.export(*args, dynamo=True, verbose=False, **options)


def _expect_state_kept(program: torch.export.ExportedProgram) -> None:
    """A compiled model keeps nothing from run to run."""
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        warnings.warn(
            f"the model writes into {', '.join(changed)} when it runs: the compiled one does not, each run starts from what was there when "
            "it was exported. torch.compile(model, backend='hewn') keeps such writes",
            stacklevel=6,
        )


def convert(model: object, folder: str, example_inputs: object, dynamic_shapes: object) -> str:
    """A module or function with example inputs (a tuple of arguments, a dict by name, or the only one), or an exported program."""
    path = pathlib.Path(folder) / "model.onnx"
    if isinstance(model, torch.export.ExportedProgram):
        if example_inputs is not None or dynamic_shapes is not None:
            raise TypeError(
                "an ExportedProgram has its inputs and dynamic shapes already: leave out example_inputs, dynamic_shapes"
            )
        exported, args, options, mode = model, (), {}, contextlib.nullcontext()
    else:
        if example_inputs is None:
            raise TypeError(
                "a torch.nn.Module is traced on inputs like those that it will get: hewn.compile(model, example_inputs=(x,)), "
                "with dynamic_shapes=, as torch.export has it, for dims that stay open"
            )
        exported = getattr(model, "_orig_mod", model)  # what torch.compile wraps
        exported = exported if isinstance(exported, torch.nn.Module) else Function(exported)
        named = isinstance(example_inputs, Mapping)
        args = () if named else positional(example_inputs)
        options = {"kwargs": dict(example_inputs) if named else None, "dynamic_shapes": dynamic_shapes}
        mode = evaluating(exported)
    try:
        with torch.no_grad(), mode:
            program = quietly_exported(exported, args, **options)
    except Exception as problem:
        raise failed("torch.onnx.export can't export this model", problem, ADVICE) from problem
    _expect_state_kept(program.exported_program)
    return written(program, path)

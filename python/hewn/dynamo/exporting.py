# SPDX-License-Identifier: Apache-2.0
"""Exports a graph captured by dynamo to ONNX, by torch.export and torch.onnx.export.

Parameters are inputs of the model like all arguments of the graph, so that the export reads no
weights; `running` converts them to constants.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import onnx
import torch
from torch._guards import tracing
from torch._subclasses import FakeTensor
from torch.export.graph_signature import (
    ConstantArgument,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.utils._python_dispatch import _disable_current_modes

from ..frontends.onnx_of_torch import quietly_exported


class Unsupported(Exception):
    """Raised for a graph that cannot be exported. PyTorch then runs the graph."""


class NeedsFunctionalization(Exception):
    """Raised for a graph that writes to its arguments or returns aliases of them.

    AOTAutograd has to remove these writes and aliases before the export.
    """


@dataclasses.dataclass(frozen=True)
class Output:
    """A result of a graph: the ONNX model's output `name`, converted to `kind`, or a constant if `name` is None."""

    name: str | None
    kind: type = torch.Tensor
    constant: object = None


@dataclasses.dataclass(frozen=True)
class Exported:
    """The model, and for each of its inputs the index of the graph's argument."""

    model: onnx.ModelProto
    inputs: dict[str, int]
    outputs: list[Output]


def example_value(node: torch.fx.Node) -> object:
    """Returns the tracer's example of a value: a fake tensor, or a symbolic or plain number."""
    return node.meta.get("example_value", node.meta.get("val"))


def _symbol(value: object) -> object:
    """Returns the symbol of an int or a size, or None for a number or an expression."""
    expression = value.node.expr if isinstance(value, torch.SymInt) else None
    return expression if expression is not None and expression.is_Symbol else None


def _number(value: object) -> object:
    """Returns the value of a symbolic number in the traced call, without adding a guard."""
    return value.node.hint if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) else value


def expect_plain(value: object) -> None:
    """Raises Unsupported for tensors that a compiled model cannot read."""
    if not isinstance(value, torch.Tensor):
        return
    if value.device.type != "cpu":
        raise Unsupported(f"a tensor is on {value.device}, but compiled graphs run on the CPU")
    if value.layout != torch.strided or value.is_quantized:
        raise Unsupported(f"a tensor is {value.layout}{', quantized' * value.is_quantized}")
    if value.dtype.is_complex:
        raise Unsupported(f"a tensor is {value.dtype}")
    if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor):
        raise Unsupported(f"a tensor is a {type(value).__module__}.{type(value).__qualname__}")


def _stand_in(value: object) -> object:
    """Returns a stand-in for an argument, with which the graph is traced and whose elements are never read.

    Replaces inference tensors and AOTAutograd's fake tensors by plain ones.
    """
    if not isinstance(value, torch.Tensor):
        return _number(value)
    if isinstance(value, FakeTensor) or value.is_inference():
        sizes, strides = ([_number(n) for n in numbers] for numbers in (value.shape, value.stride()))
        return torch.empty_strided(sizes, strides, dtype=value.dtype)
    return value.detach()


def _open_dims(value: object) -> object:
    """Returns torch.export's specification of dims that are dynamic in dynamo.

    The export determines if they stay dynamic.
    """
    if isinstance(value, torch.SymInt):
        return torch.export.Dim.AUTO
    if not isinstance(value, torch.Tensor):
        return None
    return {d: torch.export.Dim.AUTO for d, size in enumerate(value.shape) if isinstance(size, torch.SymInt)} or None


def with_sizes_of_tensors(graph_module: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, list[int]]:
    """Removes int arguments that are sizes of tensor arguments; the graph reads the sizes of the tensors instead.

    Also returns the indices of the remaining arguments.
    """
    module = torch.fx.GraphModule(graph_module, copy.deepcopy(graph_module.graph))
    placeholders = list(module.graph.find_nodes(op="placeholder"))
    last: Any = placeholders[-1] if placeholders else None
    left: list[int] = []
    found: dict[Any, tuple[Any, int]] = {}
    for node in placeholders:
        value = example_value(node)
        for d, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if (symbol := _symbol(size)) is not None:
                found.setdefault(symbol, (node, d))
    for position, node in enumerate(placeholders):
        symbol = _symbol(example_value(node))
        if symbol not in found:
            left.append(position)
            continue
        with module.graph.inserting_after(last):
            tensor, d = found[symbol]
            node.replace_all_uses_with(module.graph.call_function(torch.ops.aten.sym_size.int, (tensor, d)))
        if node is last:
            last = node.prev
        module.graph.erase_node(node)
    module.recompile()
    return module, left


def _expect_no_aliases(graph_module: torch.fx.GraphModule) -> None:
    """Raises NeedsFunctionalization if a result shares memory with an argument or with another result."""

    def storages(nodes: Sequence[object]) -> Iterator[int]:
        for node in nodes:
            value = example_value(node) if isinstance(node, torch.fx.Node) else None
            if isinstance(value, torch.Tensor) and value.layout == torch.strided:
                yield value.untyped_storage()._cdata

    seen = set(storages(graph_module.graph.find_nodes(op="placeholder")))
    (results,) = graph_module.graph.output_node().args
    for storage in storages(results if isinstance(results, list | tuple) else [results]):
        if storage in seen:
            raise NeedsFunctionalization("a result shares memory with an argument or another result")
        seen.add(storage)


@contextlib.contextmanager
def _apart_from_dynamo() -> Iterator[None]:
    """Context manager that suspends dynamo's tracing, so that torch.export can trace a graph."""
    with tracing(None), _disable_current_modes(), torch.inference_mode(False), torch.no_grad():
        yield


KINDS = {TensorArgument: torch.Tensor, SymIntArgument: int, SymFloatArgument: float, SymBoolArgument: bool}


def exported(graph_module: torch.fx.GraphModule, *, functional: bool) -> Exported:
    """Exports a graph.

    `functional`: AOTAutograd has already removed writes and aliases. Raises NeedsFunctionalization
    if it has to, and Unsupported with the exporter's message if the export fails.
    """
    for node in graph_module.graph.find_nodes(op="placeholder"):
        expect_plain(example_value(node))
    if not functional:
        _expect_no_aliases(graph_module)
    with _apart_from_dynamo():
        module, left = with_sizes_of_tensors(graph_module)
        values = [example_value(node) for node in module.graph.find_nodes(op="placeholder")]
        # All arguments of the exported graph are one tuple, so that the shapes do not depend on the
        # names of its placeholders.
        shapes = tuple(_open_dims(value) for value in values)
        try:
            program = torch.export.export(module, tuple(map(_stand_in, values)), dynamic_shapes=shapes, strict=False)
        except Exception as problem:
            raise Unsupported(f"torch.export: {_first_lines(problem)}") from problem
        signature = program.graph_signature
        if signature.user_inputs_to_mutate or signature.buffers_to_mutate:
            if functional:
                raise Unsupported("the graph writes to its arguments")
            raise NeedsFunctionalization("the graph writes to its arguments")
        try:
            onnx_program = quietly_exported(program)
        except Exception as problem:
            raise Unsupported(f"torch.onnx.export: {_first_lines(problem)}") from problem
    return _with_names(onnx_program, signature, left)


def _with_names(onnx_program: torch.onnx.ONNXProgram, signature: Any, positions: list[int]) -> Exported:
    graph = onnx_program.model.graph
    specs = [(p, s) for p, s in zip(positions, signature.input_specs[-len(positions) :] if positions else [])]
    taken = [position for position, spec in specs if not isinstance(spec.arg, ConstantArgument)]
    if len(taken) != len(graph.inputs):
        raise Unsupported(f"the exporter created {len(graph.inputs)} inputs for {len(taken)} arguments")
    inputs = {}
    for position, value in zip(taken, graph.inputs):
        value.name = f"argument_{position}"
        inputs[value.name] = position
    outputs, values = [], list(graph.outputs)
    named: dict[str, list[int]] = {}
    for spec in signature.output_specs:
        if isinstance(spec.arg, ConstantArgument):
            outputs.append(Output(None, constant=spec.arg.value))
            continue
        value = values.pop(0)
        named.setdefault(value.name, value)
        outputs.append(Output(value.name, KINDS[type(spec.arg)]))
    graph.outputs[:] = list(named.values())
    return Exported(onnx_program.model_proto, inputs, outputs)


def _first_lines(problem: BaseException, count: int = 3) -> str:
    """Returns the first lines of the innermost message; the full one is the exception's cause."""
    innermost = problem
    while innermost.__cause__ is not None:
        innermost = innermost.__cause__
    lines = [line.strip() for line in str(innermost).splitlines() if line.strip()]
    return f"{type(innermost).__name__}: {' '.join(lines[:count])}"[:600]

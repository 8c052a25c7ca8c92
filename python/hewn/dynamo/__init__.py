# SPDX-License-Identifier: Apache-2.0
"""Backend for torch.compile(model, backend="hewn"), for inference.

Imports torch. hewn does not import this package: torch does, by the entry point, or a program that
passes `hewn.dynamo.backend` to torch.compile.
"""

from __future__ import annotations

import collections
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..frontends import is_there

if not is_there("torch"):
    raise ModuleNotFoundError(
        "hewn.dynamo requires torch, which is not installed: pip install 'hewn-compiler[torch]'", name="torch"
    )

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

import hewn

from .exporting import Exported, NeedsFunctionalization, Unsupported, exported
from .running import Graph

__all__ = ["FallbackWarning", "backend", "counts"]

log = logging.getLogger(__name__)


class FallbackWarning(UserWarning):
    """A graph, or a run of a graph, falls back to eager PyTorch, with the reason."""


# Counts of this process: graphs from dynamo ("graphs"), compiled modules ("compiled"), graphs
# processed by AOTAutograd ("functionalized"), graphs and runs that fell back to eager PyTorch
# ("fallbacks").
counts: collections.Counter[str] = collections.Counter()

_OWN = {"parameters": "freeze", "fallback": True}
_PASSED_ON = {
    "threads",
    "target",
    "precision",
    "quantize",
    "optimize",
    "cache_dir",
    "remarks",
    "limits",
    "custom_ops",
    "tuning",
}


def _expect_options(options: Mapping[str, object], mode: str | None) -> None:
    if mode not in (None, "default"):
        raise ValueError(f"mode={mode!r} is only supported by torch's own backend; pass options={{...}} to hewn")
    if unknown := sorted(options.keys() - _OWN.keys() - _PASSED_ON):
        raise ValueError(
            f"unknown options: {', '.join(unknown)}; supported: {', '.join(sorted(_OWN.keys() | _PASSED_ON))}"
        )
    if options.get("parameters", "freeze") not in ("freeze", "lift"):
        raise ValueError("the option parameters must be 'freeze' or 'lift'")


class _Compiler:
    """Compiles a graph, or falls back to eager PyTorch."""

    def __init__(self, eager: Callable[..., Any], options: Mapping[str, object]) -> None:
        self._eager, self._options = eager, {**_OWN, **options}
        self._told: set[str] = set()

    def fall_back(self, reason: str) -> Callable[..., Any]:
        counts["fallbacks"] += 1
        if not self._options["fallback"]:
            raise RuntimeError(f"hewn cannot compile this graph: {reason}")
        if reason not in self._told:
            self._told.add(reason)
            text = f"falling back to eager PyTorch for a graph: {reason}"
            log.info(text)
            warnings.warn(text, FallbackWarning, stacklevel=3)
        return self._eager

    def _module(self, model: object) -> hewn.Module:
        counts["compiled"] += 1
        passed_on = {name: value for name, value in self._options.items() if name in _PASSED_ON}
        return hewn.compile(model, **{"threads": torch.get_num_threads(), **passed_on})

    def graph(self, made: Exported, static: Sequence[int], arguments: Sequence[object] | None) -> Callable[..., Any]:
        """Returns the graph as a callable.

        Compiles it now if its arguments are known, else in the first call.
        """
        lift = self._options["parameters"] == "lift"
        graph = Graph(made, () if lift else static, self._module, lambda reason, given: self.fall_back(reason)(*given))
        if arguments is not None:
            graph.prepare(arguments)
        return graph


def _static(graph_module: torch.fx.GraphModule) -> list[int]:
    """Returns the indices of arguments that are parameters or buffers of modules."""
    nodes = enumerate(graph_module.graph.find_nodes(op="placeholder"))
    return [i for i, node in nodes if node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")]


def _trains(example_inputs: Sequence[object]) -> bool:
    tensors = (x for x in example_inputs if isinstance(x, torch.Tensor))
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _functionalized(
    graph_module: torch.fx.GraphModule, example_inputs: Sequence[object], options: Mapping[str, Any]
) -> Callable[..., Any]:
    """Compiles the graph through AOTAutograd.

    AOTAutograd removes writes and aliases before the export, and restores them in the returned
    callable.
    """
    counts["functionalized"] += 1

    def compile(aten: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., Any]:
        compiler = _Compiler(aten, options)
        # Parameters that the graph writes to are not compiled as constants.
        found = TracingContext.get().fw_metadata
        static = [i for i in found.static_input_indices or () if not found.input_info[i].mutates_data]
        try:
            return compiler.graph(exported(aten, functional=True), static, None)
        except (Unsupported, hewn.CompileError) as problem:
            return compiler.fall_back(str(problem))

    compiled: Callable[..., Any] = aot_autograd(fw_compiler=compile, inference_compiler=compile)(
        graph_module, example_inputs
    )
    return compiled


def backend(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[object],
    *,
    options: Mapping[str, object] | None = None,
    mode: str | None = None,
    name: str | None = None,
) -> Callable[..., Any]:
    """Called by torch.compile for each captured graph.

    Returns a function that runs the graph's compiled code, or the original graph with a
    FallbackWarning that has the reason.

    `options` of torch.compile: the options of hewn.compile that do not name a file of one model
    (threads, by default the number of torch's threads; target, precision, quantize, optimize,
    cache_dir, remarks, limits, custom_ops, tuning); parameters: "freeze" makes the modules'
    parameters and buffers constants, packed for the target, and recompiles when they change, "lift"
    reads them from torch's memory; fallback: False raises an error instead of a warning.
    """
    options = options or {}
    _expect_options(options, mode)
    counts["graphs"] += 1
    compiler = _Compiler(graph_module.forward, options)
    if _trains(example_inputs):
        return compiler.fall_back(
            "inputs require grad, but compiled graphs have no backward: call the model under torch.no_grad() or "
            "torch.inference_mode()"
        )
    try:
        return compiler.graph(exported(graph_module, functional=False), _static(graph_module), example_inputs)
    except NeedsFunctionalization as reason:
        log.info("using AOTAutograd: %s", reason)
    except (Unsupported, hewn.CompileError) as problem:
        return compiler.fall_back(str(problem))
    return _functionalized(graph_module, example_inputs, options)

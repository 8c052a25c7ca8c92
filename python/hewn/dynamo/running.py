# SPDX-License-Identifier: Apache-2.0
"""Compiles an exported graph for its parameters, and runs it on tensors."""

from __future__ import annotations

import pathlib
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import onnx
import torch

import hewn

from .._tensors import array_of, tensor_of
from .exporting import Exported

# Maximum number of parameter sets for which a graph is specialized. A graph with more (layers of
# the same class, or weights that change between runs) takes its parameters as inputs from then on.
MOST_FROZEN = 32
# Maximum number of recompilations of a graph because of writes to its parameters. After that, the
# parameters are inputs of the compiled model.
MOST_WRITTEN = 4
ALIGNMENT = 64
DIRECT = (torch.float32, torch.float16, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8, torch.int8)


def frozen(model: onnx.ModelProto, weights: dict[str, torch.Tensor], folder: pathlib.Path) -> str:
    """Writes the model with some inputs as constants, whose data are in a second file.

    Returns the path.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    types = {value.name: value.type.tensor_type.elem_type for value in made.graph.input}
    left = [value for value in made.graph.input if value.name not in weights]
    del made.graph.input[:]
    made.graph.input.extend(left)
    with (folder / "weights").open("wb") as file:
        for name, weight in weights.items():
            offset = -(-file.tell() // ALIGNMENT) * ALIGNMENT
            file.seek(offset)
            array = array_of(weight.contiguous())
            array.reshape(-1).view("u1").tofile(file)
            tensor = made.graph.initializer.add(name=name, dims=weight.shape, data_type=types[name])
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in {"location": "weights", "offset": offset, "length": array.nbytes}.items():
                tensor.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return str(path)


class Frozen:
    """A module with constant parameters, and the state that identifies them.

    Parameters are equal if they are the same tensors, at the same addresses, not written since.
    """

    def __init__(self, module: hewn.Module, state: tuple[Any, ...], parameters: Sequence[torch.Tensor]) -> None:
        self.module, self.state, self.alive = module, state, True
        self._watched = [weakref.ref(parameter, self._end) for parameter in parameters]

    def _end(self, _: object) -> None:
        self.alive = False  # a parameter was freed, and a new tensor may get the same id


def state_of(parameters: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    """Returns the identities, addresses and versions of parameters. torch increments the version in each write."""
    counted = tuple(-1 if p.is_inference() else p._version for p in parameters)
    return tuple(map(id, parameters)), tuple(p.data_ptr() for p in parameters), counted


class Graph:
    """A callable that replaces a graph of dynamo.

    `static` are the indices of arguments that are parameters and buffers; `compile` compiles a
    model to a module; `refused` computes the result if a run fails, and gets the reason.
    """

    def __init__(
        self,
        exported: Exported,
        static: Sequence[int],
        compile: Callable[[object], hewn.Module],
        refused: Callable[[str, Sequence[object]], tuple[Any, ...]],
    ) -> None:
        self._exported, self._static, self._compile, self._refused = exported, list(static), compile, refused
        self._names = {position: name for name, position in exported.inputs.items()}
        self._frozen: list[Frozen] = []
        self._written = 0
        self._lifted: hewn.Module | None = None
        self._last: Frozen | None = None
        self._making = threading.Lock()

    def prepare(self, arguments: Sequence[object]) -> None:
        """Compiles the graph for the parameters in these arguments. Raises CompileError."""
        self._module_for(arguments)

    def _module_for(self, arguments: Sequence[object]) -> hewn.Module:
        if not self._static:
            return self._lifted or self._lift()
        parameters = [arguments[position] for position in self._static]
        state, last = state_of(parameters), self._last
        if last is not None and last.alive and last.state == state:
            return last.module
        with self._making:
            self._frozen = [known for known in self._frozen if known.alive]
            known = next((known for known in self._frozen if known.state == state), None)
            if known is None:
                # Drop the modules that were compiled for these parameters before the last write:
                # they contain the old values.
                valid = [known for known in self._frozen if known.state[0] != state[0]]
                self._written += len(valid) < len(self._frozen)
                self._frozen = valid
                if self._written > MOST_WRITTEN or len(self._frozen) >= MOST_FROZEN:
                    return self._lifted or self._lift()
                known = Frozen(self._freeze(parameters), state, parameters)
                self._frozen.append(known)
            self._last = known
        return known.module

    def _freeze(self, parameters: Sequence[torch.Tensor]) -> hewn.Module:
        weights = {self._names[p]: w for p, w in zip(self._static, parameters) if p in self._names}
        with tempfile.TemporaryDirectory(prefix="hewn-graph-") as folder:
            return self._compile(frozen(self._exported.model, weights, pathlib.Path(folder)))

    def _lift(self) -> hewn.Module:
        self._lifted = self._compile(self._exported.model.SerializeToString())
        return self._lifted

    def __call__(self, *arguments: object) -> tuple[Any, ...]:
        """Runs the graph on tensors, symbolic sizes and constants, and returns its results."""
        try:
            module = self._module_for(arguments)
            feeds = {t.name: _array(arguments[self._exported.inputs[t.name]]) for t in module.inputs}
            found = module.run(feeds)
        except (hewn.RunError, hewn.CompileError) as problem:
            return self._refused(str(problem), arguments)
        results = []
        for output in self._exported.outputs:
            if output.name is None:
                results.append(output.constant)
            elif output.kind is torch.Tensor:
                results.append(tensor_of(found[output.name]))
            else:
                results.append(output.kind(found[output.name]))
        return tuple(results)


def _array(value: object) -> object:
    """Returns a tensor as a contiguous array; ints unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    dense = value.detach().contiguous()
    if dense.is_neg():
        dense = dense.resolve_neg()
    return dense.numpy() if dense.dtype in DIRECT else array_of(dense)

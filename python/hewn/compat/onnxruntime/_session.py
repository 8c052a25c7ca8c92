# SPDX-License-Identifier: Apache-2.0
"""InferenceSession: compiles a model on construction, with onnxruntime's interface for runs."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import CompileError, Module, RunError
from ... import compile as compile_model
from . import _interface, _providers
from ._feeds import Feeds
from ._interface import Dim, Interface, Value
from ._options import RunOptions, SessionOptions
from ._profile import Profile
from ._values import IOBinding, OrtValue
from .capi import onnxruntime_pybind11_state as errors

# Arguments of InferenceSession that are ignored.
_IGNORED = {"disabled_optimizers", "enable_fallback", "read_config_from_model"}


class NodeArg:
    """An input or output: name, type ("tensor(float)"), and dims, each a size, a name, or None."""

    def __init__(self, name: str, type: str, shape: list[Dim]) -> None:
        self.name, self.type, self.shape = name, type, shape

    def __repr__(self) -> str:
        """Returns the text that onnxruntime prints."""
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """Metadata of the model file."""

    def __init__(self, found: Interface) -> None:
        self.custom_metadata_map = dict(found.metadata)
        self.description = found.description
        self.domain = found.domain
        self.graph_description = found.graph_description
        self.graph_name = found.graph_name
        self.producer_name = found.producer_name
        self.version = found.version


def _read(model: str | bytes, told: str) -> Interface:
    if (isinstance(model, str) and model.endswith(".ort")) or (isinstance(model, bytes) and model[4:8] == b"ORTM"):
        raise errors.NotImplemented.told(
            f"{told}: onnxruntime's own format is not supported; pass the original .onnx file"
        )
    try:
        found = _interface.read(model)
    except FileNotFoundError:
        raise errors.NoSuchFile.told(f"{told} failed:File doesn't exist") from None
    except (_interface.NotProtobuf, OSError) as problem:
        raise errors.InvalidProtobuf.told(f"{told} failed:Protobuf parsing failed. {problem}") from problem
    if not found.has_graph:
        raise errors.InvalidArgument.told(f"{told} failed:No graph was found in the protobuf.")
    return found


def _refusal(problem: CompileError, told: str) -> Exception:
    """Returns the exception for a model that cannot be compiled.

    The exception is InvalidGraph if ONNX has no op of a node's type, else Fail.
    """
    refused = [d for d in problem.diagnostics if not d.is_warning]
    unknown = any(d.op and not d.domain and d.reason == "ONNX has no such op" for d in refused)
    kind = errors.InvalidGraph if unknown else errors.Fail
    return kind.told(f"{told} failed:" + "\n".join(d.text.removeprefix("error: ") for d in refused))


def _shape(declared: list[Dim] | None, compiled: tuple[Any, ...] | None, names: Mapping[str, str]) -> list[Dim]:
    """Returns the dims that a session reports.

    A dim is a size known to the compiler, else the declared dim, else a name of an input's dim.
    """
    if declared is None:
        declared = [None] * len(compiled or ())
    if compiled is None or len(compiled) != len(declared):
        return declared
    return [c if isinstance(c, int) else d or names.get(c) for d, c in zip(declared, compiled)]


class InferenceSession:
    """Compiles a model, given as a path or bytes, and runs it.

    Each kernel is divided among `sess_options.intra_op_num_threads` threads.

    Compiled models are cached (see `SessionOptions.add_session_config_entry`), so that a second
    session of a model does not compile. Several threads can use a session; their runs are
    serialized.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        **kwargs: object,
    ) -> None:
        if isinstance(path_or_bytes, (str, os.PathLike)):
            model: str | bytes = os.fspath(path_or_bytes)
            told = f"Load model from {os.fspath(path_or_bytes)}"
        elif isinstance(path_or_bytes, bytes):
            model, told = path_or_bytes, "Load model"
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options must be SessionOptions, got {type(sess_options).__name__}")
        for name in kwargs.keys() - _IGNORED:
            warnings.warn(f"InferenceSession: '{name}' is ignored", RuntimeWarning, stacklevel=2)
        self._options = sess_options or SessionOptions()
        self._options._warn(stacklevel=2)
        self._profile = Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        self._falls_back = bool(kwargs.get("enable_fallback", True))
        self._check_providers(providers, provider_options, stacklevel=2)
        self._start(model, told)

    def _check_providers(self, providers: object, options: object, stacklevel: int) -> None:
        try:
            _providers.check(providers, options, stacklevel + 1)
        except ValueError as problem:
            if not self._falls_back:
                raise
            warnings.warn(f"{problem} Falling back to {_providers.CPU}.", UserWarning, stacklevel=stacklevel + 1)

    def _start(self, model: str | bytes, told: str) -> None:
        found = _read(model, told)
        try:
            self._module: Module = compile_model(
                model, dims=self._bound_dims(found), **self._options._compile_options()
            )
        except CompileError as problem:
            raise _refusal(problem, told) from problem
        except RunError as problem:
            raise errors.Fail.told(f"{told} failed:{problem}") from problem
        given = {t.name: t.shape if t.kind == "tensor" else None for t in self._module.inputs}
        # The compiler normalizes names of dims, and names unnamed dims.
        names = {
            symbol: declared
            for value in found.inputs
            for symbol, declared in zip(given.get(value.name) or (), value.shape or ())
            if isinstance(symbol, str) and isinstance(declared, str)
        }
        shapes = [
            _shape(value.shape, given.get(value.name), {}) for value in found.inputs
        ]  # [] for other values than tensors
        made = {tensor.name: None if tensor.cases else tensor.shape for tensor in self._module.outputs}
        self._inputs = [NodeArg(v.name, v.type, shape) for v, shape in zip(found.inputs, shapes)]
        self._outputs = [
            NodeArg(v.name, v.type, _shape(v.shape, made.get(v.name), names) if v.type.startswith("tensor") else [])
            for v in found.outputs
        ]
        self._has_maps = any("map(" in value.type for value in found.outputs)
        self._words = {value.name: value.type for value in found.outputs}
        self._overridable = [NodeArg(v.name, v.type, v.shape or []) for v in found.overridable]
        self._output_names = [each.name for each in self._outputs]
        self._known_outputs = frozenset(self._output_names)
        self._meta = ModelMetadata(found)
        self._feeds = Feeds(
            found.inputs,
            [shape if v.shape is not None else None for v, shape in zip(found.inputs, shapes)],
            [given.get(v.name) for v in found.inputs],
        )

    def _bound_dims(self, found: Interface) -> dict[str, int]:
        """Returns the dims bound by the options, by their names in the model.

        Ignores unknown names, like onnxruntime.
        """
        options = self._options
        dims: dict[str, int] = {}
        for value in found.inputs:
            for dim, denoted in zip(value.shape or (), value.denotations):
                if isinstance(dim, str):
                    size = options._dims.get(dim, options._denoted.get(denoted))
                    if size is not None and size >= 0:
                        dims[dim] = size
        return dims

    def get_session_options(self) -> SessionOptions:
        """Returns the options of the session."""
        return self._options

    def get_inputs(self) -> list[NodeArg]:
        """Returns the inputs of a run."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        """Returns the outputs in the model's order."""
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Returns the inputs with an initializer. They are constants: a run cannot set them."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        """Returns the metadata of the model file."""
        return self._meta

    def get_providers(self) -> list[str]:
        """Returns the providers of the session: the CPU."""
        return [_providers.CPU]

    def get_provider_options(self) -> dict[str, dict[str, Any]]:
        """Returns the options of each execution provider, which are empty."""
        return {_providers.CPU: {}}

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None
    ) -> None:
        """Checks the names of execution providers, like the constructor.

        The session continues to use the CPU.
        """
        self._check_providers(providers, provider_options, stacklevel=2)

    def disable_fallback(self) -> None:
        """Makes invalid provider arguments an error; there are no other fallbacks."""
        self._falls_back = False

    def enable_fallback(self) -> None:
        """Makes invalid provider arguments a warning."""
        self._falls_back = True

    def _run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: RunOptions | None,
        out: Mapping[str, np.ndarray] | None = None,
    ) -> list[Any]:
        self._feeds.check_names(input_feed)
        if not output_names:
            output_names = self._output_names
        elif isinstance(output_names, str) or not all(isinstance(name, str) for name in output_names):
            raise TypeError(f"run(): output_names must be a list of names, got {output_names!r}")
        if run_options is not None:
            if not isinstance(run_options, RunOptions):
                raise TypeError(f"run(): run_options must be RunOptions, got {type(run_options).__name__}")
            if run_options.terminate:
                raise errors.Fail.told("Exiting due to terminate flag being set to true.")
        if self._overridable:
            self._refuse_overrides(input_feed)
        feeds = self._feeds.arrays(input_feed)
        if not self._known_outputs.issuperset(output_names):
            unknown = next(name for name in output_names if name not in self._known_outputs)
            raise errors.InvalidArgument.told(f"Invalid output name:{unknown}")
        try:
            begin = time.monotonic_ns() if self._profile else 0
            # Only the requested maps are converted to dicts.
            results = self._module.run(feeds, output_names if self._has_maps else None, out)
            if self._profile:
                self._profile.record(begin)
        except RunError as problem:
            # onnxruntime raises InvalidArgument for an index out of range, and Fail for other
            # errors of a run.
            is_index = any(part in str(problem) for part in ("is outside of a dim", "valid value, "))
            kind = errors.InvalidArgument if is_index else errors.Fail
            raise kind.told(str(problem)) from problem
        return [results[name] for name in output_names]

    def _refuse_overrides(self, input_feed: Mapping[str, object]) -> None:
        if given := [each.name for each in self._overridable if each.name in input_feed]:
            told = f"inputs that have an initializer are constants of the compiled model: {', '.join(given)}"
            raise errors.NotImplemented.told(f"{told}; remove the initializer from the model to make it an input")

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Runs on arrays (or lists, OrtValues, tensors with DLPack) by name.

        Returns the outputs `output_names` in this order; all outputs for None or [].

        Tensors are arrays, sequences are lists of arrays, strings are arrays of objects. Raises
        ValueError if an input is missing, InvalidArgument for an invalid name, type or shape, and
        Fail if the run failed.
        """
        return self._run(output_names, input_feed, run_options)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Like `run`, with OrtValues as inputs and outputs."""
        results = self._run(output_names, input_dict_ort_values, run_options)
        return [self._value(name, each) for name, each in zip(output_names or self._output_names, results)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        callback: Callable[[list[Any], object, str], None],
        user_data: object,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs the model in a thread, which then calls `callback`.

        The arguments of `callback` are the results, `user_data`, and the error message ("" without
        an error).
        """
        self._feeds.check_names(input_feed)

        def work() -> None:
            results, told = [], ""
            try:
                results = self._run(output_names, input_feed, run_options)
            except Exception as problem:
                told = str(problem)
            callback(results, user_data, told)

        threading.Thread(target=work, daemon=True).start()

    def io_binding(self) -> IOBinding:
        """Returns an object that binds inputs and outputs to memory, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on the bound inputs.

        Writes outputs that are bound to memory in place. Raises RuntimeError if the run fails.
        """
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        wanted = iobinding._wanted
        if not wanted:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        out = {name: array for name, array in wanted.items() if array is not None}
        try:
            results = self._run(list(wanted), iobinding._inputs, run_options, out)
        except (ValueError, errors._StatusError) as problem:
            raise RuntimeError(f"Error in execution: {problem}") from problem
        iobinding._results = [self._value(name, each) for name, each in zip(wanted, results)]

    def _value(self, name: str, result: Any) -> OrtValue:
        """Returns an output as an OrtValue.

        A list of dicts keeps its declared type, which its elements do not determine.
        """
        return OrtValue(result, word=self._words[name] if "map(" in self._words[name] else "")

    def end_profiling(self) -> str:
        """Writes the profile, which has the time of each run, and returns the name of the file.

        Returns "" without `enable_profiling`, and at later calls. For kernels, use `hewn profile`.
        """
        return self._profile.end() if self._profile else ""

    def get_profiling_start_time_ns(self) -> int:
        """Returns the time at which the profile starts, or 0 if there is none."""
        return self._profile.start_ns if self._profile else 0


Session = InferenceSession
__all__ = ["InferenceSession", "ModelMetadata", "NodeArg", "Session", "Value"]

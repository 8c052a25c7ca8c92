# SPDX-License-Identifier: Apache-2.0
"""Compile ONNX models ahead of time and run them.

module = hewn.compile("model.onnx", dims={"batch": 1})
result = module.run({"x": array})["y"]
"""

from __future__ import annotations

import dataclasses
import json
import numbers
import os
import pathlib
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from . import _abi, _device, _dlpack, _hewn, _tensors, libraries
from ._conversion import ConversionError
from ._custom import CustomOps, raised
from ._interface import Tensor, signature, tensors_of
from ._maps import MapError, Maps, folded, plain
from ._ranks import LocalRanks, NcclRanks, ranks_of
from .commands import arguments as _arguments
from .commands import check, merge_tunings, profile, reduce, tune
from .commands.program import ToolError

__all__ = [
    "CompileError",
    "ConversionError",
    "Diagnostic",
    "LocalRanks",
    "Module",
    "NcclRanks",
    "RunError",
    "Tensor",
    "ToolError",
    "__version__",
    "check",
    "compile",
    "load",
    "merge_tunings",
    "profile",
    "reduce",
    "tune",
]
__version__ = _abi.version


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler, about a node of the model if `node` is not empty."""

    node: str
    op: str
    domain: str
    opset: int
    reason: str
    is_warning: bool
    text: str


class CompileError(Exception):
    """The model cannot be compiled. `diagnostics` lists all errors and warnings."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        errors = [d.text.removeprefix("error: ") for d in diagnostics if not d.is_warning]
        super().__init__("\n".join(errors) or "the model cannot be compiled")

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        """Pickles all diagnostics."""
        return CompileError, (self.diagnostics,)  # pickles all diagnostics


class RunError(Exception):
    """A run was rejected or failed: invalid inputs, out of memory, an index out of range."""


# No output buffers: the run allocates all outputs.
_NOWHERE: list[Any] = []


def _numbers(value: object, dtype: np.dtype) -> np.ndarray:
    """Converts Python numbers, or nested lists of them, to the type of an input.

    Python numbers have no bit width, so only fractions are rejected, for integers.
    """
    array = np.asarray(value)
    if array.dtype.kind in "fc" and dtype.kind in "iub":
        raise TypeError(f"got fractions, but the model expects {dtype}")
    return array.astype(dtype)


def _release(model_holder: list[Any], folder: str | None) -> None:
    model_holder.clear()
    if folder:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _expect_threads(threads: object) -> None:
    if not isinstance(threads, numbers.Integral) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads must be a positive integer, got {threads!r}")


def _expect_library(path: str | os.PathLike[str]) -> None:
    """Rejects paths of models, for which the system's loader would only report an invalid ELF header."""
    if pathlib.Path(os.fsdecode(path)).suffix in (".onnx", ".onnxtxt"):
        raise RunError(f"'{os.fsdecode(path)}' is a model, not a library: use hewn.compile to compile and load it")


def _model_type(path: str | os.PathLike[str]) -> type:
    """Returns the class that loads and runs the file: a native library, or a WebAssembly module."""
    if not libraries.is_module(path):
        return _hewn.Model
    from . import _wasm  # imported here because native libraries don't require it

    return _wasm.Model


class _Closed:
    """Replaces the model of a closed module, so that each use of the module raises RunError."""

    def __getattr__(self, name: str) -> Any:
        raise RunError("this module is closed")


class Module:
    """A compiled and loaded model.

    Runs of a module are serialized; load it several times for concurrent runs.

    A module is a context manager; `close` releases its library and memory. A module whose library
    is a permanent file (`output`, or `hewn.load`) can be pickled: as the path and the load options.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        threads: int = 1,
        device: int = 0,
        cache_dir: str | os.PathLike[str] | None = None,
        verify: bool = False,
        copy_weights: bool = False,
        communicator: object = None,
        weights: object = None,
        _folder: str | None = None,
        _custom: CustomOps | None = None,
    ) -> None:
        _expect_threads(threads)
        _expect_library(path)
        try:
            cache = os.fsdecode(cache_dir) if cache_dir else ""
            ranks = ranks_of(communicator)
            place = os.path.abspath(path)  # noqa: PTH100 (Path.resolve follows symbolic links)
            model = _model_type(path)(place, threads, device, cache, verify, copy_weights, ranks, weights)
        except RuntimeError as problem:
            raise RunError(str(problem)) from None
        # Report of the quantization, if `compile` quantized: "sqnr_db" by output, layers, bytes,
        # the quantization.
        self.report: dict[str, Any] | None = None
        self._options = (place, threads, device, cache_dir, verify, copy_weights)
        self._has_ranks = ranks is not None
        self._has_weights = weights is not None
        self._is_temporary = _folder is not None
        self._held = [model, _custom]  # the model calls functions of _custom
        self._calls_python = bool(_custom and _custom.functions)
        self._model: _hewn.Model = model  # or a _wasm.Model, or _Closed
        inputs, outputs = tensors_of(model)
        self.inputs, self.outputs = folded(inputs), folded(outputs)
        self._inputs, self._outputs = plain(inputs), plain(outputs)  # a map is two tensors
        self._maps = Maps(self.inputs, self.outputs)
        self._has_maps = bool(self._maps)
        self._names = {t.name for t in self.inputs}
        # Fast path of `run` for models with only numeric tensors, which nearly all are.
        tensors = (*self._inputs, *self._outputs)
        self._has_device = model.has_device
        self._only_numbers = all(t.kind == "tensor" and t.dtype.isbuiltin == 1 and t.dtype != object for t in tensors)
        self._wanted = [(t.name, t.dtype, t) for t in self._inputs]
        self._turn = threading.Lock()
        self._release = weakref.finalize(self, _release, self._held, _folder)

    def close(self) -> None:
        """Releases the library, the memory of its context and temporary files.

        Returned arrays stay valid. Waits for a running run. Closing a closed module has no effect.
        """
        with self._turn:
            self._model = cast("_hewn.Model", _Closed())
            self._release()

    def __enter__(self) -> Module:
        """Returns the module itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the module."""
        self.close()

    def __repr__(self) -> str:
        """Returns the signature, target and number of threads."""
        if isinstance(self._model, _Closed):
            return "<hewn.Module, closed>"
        threads = self._options[1]
        counted = f"{threads} thread{'s' * (threads != 1)}"
        return f"<hewn.Module {self.name}({signature(self.inputs)}) -> ({signature(self.outputs)}), {self.variant}, {counted}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path and the load options; raises TypeError if they do not describe the module."""
        if self._is_temporary:
            raise TypeError("the library of this module is temporary: compile it with output=PATH to pickle it")
        if self._has_ranks:
            raise TypeError("this module is a rank of a partitioned model, and its communicator cannot be pickled")
        if self._has_weights:
            raise TypeError("the weights of this module are in memory of this process, so it cannot be pickled")
        if self._held[1:] and self._calls_python:
            raise TypeError("this module calls Python functions, which cannot be pickled")
        return Module, self._options

    @property
    def name(self) -> str:
        """Name of the model in C: the prefix of the functions in generated headers."""
        return self._model.name

    @property
    def cases(self) -> dict[str, str | None]:
        """Conditions on dims for which the library has specialized code.

        Each maps to None, or to the reason why the model cannot run in this case. Empty if there is
        only one case.
        """
        return {condition: refusal for condition, refusal, _ in self._model.cases}

    @property
    def variants(self) -> list[str]:
        """Targets for which the library has code, ordered from the most to the least specialized."""
        return self._model.variants

    @property
    def variant(self) -> str:
        """The element of `variants` that this machine runs."""
        return self._model.variant

    @property
    def metadata(self) -> dict[str, str]:
        """The model's metadata by key (docs/reference/python.md).

        The keys are those of its `metadata_props`, and "onnx.producer_name" and others.
        """
        return dict(self._model.metadata)

    @property
    def moved_bytes(self) -> int:
        """Bytes that this rank of a partitioned model read from, wrote to and received from other ranks in all runs."""
        return self._model.moved_bytes

    def __call__(self, *arrays: object, **named: object) -> Any:
        """Runs on arrays in the order of `inputs`, or by name.

        Returns the output, or a tuple of several outputs.
        """
        if len(arrays) > len(self.inputs):
            count = f"{len(self.inputs)} input{'s' * (len(self.inputs) != 1)}"
            raise RunError(f"got {len(arrays)} arrays, but the model has {count}")
        feeds = {tensor.name: array for tensor, array in zip(self.inputs, arrays)}
        if twice := sorted(feeds.keys() & named.keys()):
            raise RunError(f"inputs given by position and by name: {', '.join(twice)}")
        results = tuple(self.run(feeds | named).values())
        return results[0] if len(results) == 1 else results

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        out: Mapping[str, object] | None = None,
        stream: object = None,
    ) -> dict[str, Any]:
        """Runs on arrays by name (numpy arrays, or objects with DLPack).

        Returns the outputs by name, as numpy arrays, or as torch tensors if an input is one.

        `outputs` names the outputs to return, in this order. `out` has arrays for outputs, by name
        (numpy arrays, or objects with DLPack, including torch's bfloat16). They must be writable,
        dense, of the output's type and shape, and must not overlap the inputs. The run writes them
        in place and returns them.

        Sequences are lists of arrays, an absent optional value is None, strings are arrays of str.
        Maps are dicts, and sequences of maps lists of dicts. `outputs` and `out` may also name the
        two arrays of an output `y` that is a map, or a sequence of maps: "y_keys" and "y_values".

        An exception of a signal handler, such as KeyboardInterrupt, ends a run on the main thread
        at its next kernel.

        A model for a GPU also accepts tensors on the device, as inputs and in `out`. If one of them
        is a torch or CuPy tensor, the outputs are new tensors of that package on its device, except
        those whose size depends on data. For other packages, outputs are host arrays, unless `out`
        has a tensor. `stream` is the stream on which the run is enqueued (of torch or CuPy, or the
        address of a driver stream): results on the device are valid after preceding work in that
        stream. By default it is the package's current stream. If no tensor is on the device, the
        module uses its own stream, and the run waits for it.
        """
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise TypeError(f"run expects arrays by name, as in run({{'x': array}}), got {type(feeds).__name__}")
        if feeds.keys() != self._names:
            missing, extra = self._names - feeds.keys(), feeds.keys() - self._names
            told = [f"missing inputs: {', '.join(sorted(missing))}"] * bool(missing)
            told += [f"no such inputs: {', '.join(sorted(extra))}"] * bool(extra)
            told += [f"the model's inputs are: {', '.join(t.name for t in self.inputs)}"] * bool(extra)
            raise RunError("; ".join(told))
        if out is not None and not isinstance(out, Mapping):
            raise TypeError(f"out expects arrays by name, as in out={{'y': array}}, got {type(out).__name__}")
        if self._has_maps:
            try:
                feeds = self._maps.fed(feeds, out or ())
            except MapError as problem:
                raise RunError(str(problem)) from None
        if out:
            out = {name: value for name, value in out.items() if value is not None}
        if self._has_device:
            return self._run_on_device(feeds, outputs, out, stream)
        if stream is not None:
            raise RunError(f"stream requires a model for a GPU; this module runs on {self.variant}")
        if only_numbers := self._only_numbers:
            arrays = []
            for name, dtype, tensor in self._wanted:
                value = feeds[name]
                ready = type(value) is np.ndarray and value.dtype is dtype and value.flags.c_contiguous
                arrays.append(value if ready else self._numbers(tensor, value))
        else:
            arrays = [self._feed(tensor, feeds[name]) for name, _, tensor in self._wanted]
        of_torch = any(map(_tensors.is_torch, feeds.values()))
        into = self._into(out, arrays) if out else _NOWHERE
        if self._calls_python:
            results = self._run_with_python(arrays, into)
        else:
            try:
                with self._turn:
                    results = self._model.run(arrays, into)
            except RuntimeError as problem:
                raise RunError(str(problem)) from None
        if not out and only_numbers:
            found = {t.name: data.view(t.dtype).reshape(shape) for t, (data, shape) in zip(self._outputs, results)}
        else:
            given = out or {}
            found = {
                t.name: given[t.name] if t.name in given else self._result(t, result)
                for t, result in zip(self._outputs, results)
            }
        if of_torch:
            found = {name: _tensors.tensor_of(value) for name, value in found.items()}
        return found if outputs is None and not self._has_maps else self._chosen(found, outputs)

    def _run_on_device(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None,
        out: Mapping[str, object] | None,
        stream: object,
    ) -> dict[str, Any]:
        """Implements `run` of a model for a GPU, with tensors on the host or on the device."""
        out = dict(out or {})
        self._expect_outputs(out)
        first = _device.first_on_device(feeds, out)
        if stream is not None:
            handle = _device.handle_of(stream)
        elif first is not None:
            handle = _device.stream_of(first)
        else:
            handle = 0
        arrays = [self._fed_on_device(tensor, feeds[tensor.name], handle) for tensor in self._inputs]
        given = dict(out)
        if first is not None:
            self._allocate(given, first, handle, arrays)
        into = self._into_on_device(given, arrays, handle)

        def handed(values: list[Any]) -> list[Any]:
            return [value.handed if isinstance(value, _device.DeviceTensor) else value for value in values]

        results = self._run_with_python(handed(arrays), handed(into), handle)
        found = {
            t.name: given[t.name] if t.name in given else self._result(t, result)
            for t, result in zip(self._outputs, results)
        }
        if any(map(_tensors.is_torch, feeds.values())):
            found = {name: _tensors.tensor_of(value) for name, value in found.items()}
        return found if outputs is None and not self._has_maps else self._chosen(found, outputs)

    def _fed_on_device(self, tensor: Tensor, value: object, handle: int) -> object:
        """Returns the tensor for an input, on the host or on the device."""
        if not _device.is_on_device(value):
            return self._feed(tensor, value)
        return self._opened_on_device(tensor, value, handle, to_write=False)

    @staticmethod
    def _opened_on_device(tensor: Tensor, value: object, handle: int, to_write: bool) -> _device.DeviceTensor:
        what, verb = ("out", "returns") if to_write else ("input", "expects")
        if tensor.kind != "tensor" or tensor.dtype == object:
            raise RunError(f"{what} '{tensor.name}': only numeric tensors can be on a device")
        try:
            opened = _device.opened(value, handle, to_write)
        except (BufferError, TypeError, ValueError, RuntimeError) as problem:
            raise RunError(f"{what} '{tensor.name}': {problem}") from None
        if opened.dtype != tensor.dtype:
            raise RunError(f"{what} '{tensor.name}' is {opened.dtype}, but the model {verb} {tensor.dtype}")
        return opened

    def _allocate(self, given: dict[str, Any], first: object, handle: int, arrays: list[Any]) -> None:
        """Allocates a tensor on the device of `first` for each output of known shape that has none."""
        shapes = self._model.output_shapes([getattr(array, "shape", None) for array in arrays])
        for tensor, shape in zip(self._outputs, shapes):
            if tensor.name in given or shape is None or tensor.dtype == object:
                continue
            if (made := _device.allocated(first, handle, shape, tensor.dtype)) is not None:
                given[tensor.name] = made

    def _into_on_device(self, given: Mapping[str, object], arrays: list[Any], handle: int) -> list[Any]:
        """Returns the output buffers for the extension: for each output a tensor on the device, an array, or None."""
        fed = [array for array in arrays if isinstance(array, _device.DeviceTensor)]
        on_host = [array for array in arrays if not isinstance(array, _device.DeviceTensor)]
        into = self._into({n: v for n, v in given.items() if not _device.is_on_device(v)}, on_host)
        for i, tensor in enumerate(self._outputs):
            value = given.get(tensor.name)
            if value is None or not _device.is_on_device(value):
                continue
            opened = self._opened_on_device(tensor, value, handle, to_write=True)
            if any(map(opened.overlaps, fed)):
                raise RunError(f"out '{tensor.name}' shares memory with an input")
            into[i] = opened
        return into

    async def run_async(self, feeds: Mapping[str, object], **options: Any) -> dict[str, Any]:
        """Awaits `run` in a thread, without blocking the event loop.

        Runs of a module are still serialized.
        """
        import asyncio  # its import takes longer than that of this package

        return await asyncio.to_thread(self.run, feeds, **options)

    def _chosen(self, found: dict[str, Any], outputs: Sequence[str] | None) -> dict[str, Any]:
        names = [t.name for t in self.outputs] if outputs is None else outputs
        names = [names] if isinstance(names, str) else list(names)
        self._expect_outputs(names)
        return self._maps.found(found, names)

    def _expect_outputs(self, names: Iterable[str]) -> None:
        if unknown := sorted(set(names) - {t.name for t in self.outputs} - self._maps.parts):
            known = ", ".join(t.name for t in self.outputs)
            raise RunError(f"no such outputs: {', '.join(unknown)}; the model's outputs are: {known}")

    def _into(self, out: Mapping[str, object], arrays: list[Any]) -> list[Any]:
        """Returns the output buffers for the extension: for each output an array, or None."""
        self._expect_outputs(out)
        into = []
        for tensor in self._outputs:
            array: Any = out.get(tensor.name)
            if array is not None:
                array = array if isinstance(array, np.ndarray) else self._borrowed(tensor, array)
                self._expect_writable(tensor, array)
                if any(np.may_share_memory(array, a) for a in arrays if isinstance(a, np.ndarray)):
                    raise RunError(f"out '{tensor.name}' shares memory with an input")
            is_native = array is None or array.dtype.isbuiltin == 1
            into.append(array if is_native else array.view(f"u{array.itemsize}"))
        return into

    @staticmethod
    def _borrowed(tensor: Tensor, value: object) -> Any:
        try:
            value = _tensors.array_of(value)
            is_foreign = not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__")
            return _dlpack.array_of(value) if is_foreign else value
        except (BufferError, TypeError, ValueError, RuntimeError) as problem:
            raise RunError(f"out '{tensor.name}': {problem}") from None

    @staticmethod
    def _expect_writable(tensor: Tensor, array: object) -> None:
        if tensor.kind != "tensor" or tensor.dtype == object:
            raise RunError(f"out '{tensor.name}': only numeric tensors can be written in place")
        if not isinstance(array, np.ndarray):
            raise RunError(f"out '{tensor.name}' is {type(array).__name__}, not a NumPy array or a tensor with DLPack")
        if array.dtype != tensor.dtype:
            raise RunError(f"out '{tensor.name}' is {array.dtype}, but the model returns {tensor.dtype}")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise RunError(f"out '{tensor.name}' must be dense, row-major and writable")

    def _run_with_python(self, arrays: list[Any], into: list[Any], stream: int | None = None) -> list[Any]:
        """Runs a model on a stream, or a model with custom ops that are Python functions.

        If such a function raises an exception, it is the cause of the RunError.
        """
        with raised() as cause_of:
            try:
                with self._turn:
                    if stream is not None:
                        self._model.set_stream(stream)
                    return self._model.run(arrays, into)
            except RuntimeError as problem:
                cause = cause_of()
                if isinstance(cause, KeyboardInterrupt):
                    raise cause from None
                raise RunError(str(problem)) from cause

    @staticmethod
    def _result(tensor: Tensor, result: Any) -> np.ndarray | list[Any] | None:
        if result is None:
            return None
        if isinstance(result, list):
            return [Module._result(tensor, item) for item in result]
        data, shape = result
        if tensor.dtype == object:
            array = np.empty(len(data), object)
            array[:] = data
            return array.reshape(shape)
        numbers: np.ndarray = data.view(tensor.dtype).reshape(shape)
        return numbers

    @classmethod
    def _feed(cls, tensor: Tensor, value: object) -> object:
        if tensor.kind == "tensor":
            return cls._array(tensor, value)
        if value is None and tensor.kind.startswith("optional"):
            return None
        if tensor.kind == "optional":
            return cls._array(tensor, value)
        if not isinstance(value, (list, tuple)):
            raise RunError(f"input '{tensor.name}' is {type(value).__name__}, but the model expects a list of arrays")
        return [cls._array(tensor, item) for item in value]

    @staticmethod
    def _strings(value: object) -> tuple[list[Any], tuple[int, ...]]:
        """Returns the elements, which the extension checks and encodes, and the shape."""
        array = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else object)
        return array.ravel().tolist(), array.shape

    @staticmethod
    def _array(tensor: Tensor, value: object) -> object:
        return Module._strings(value) if tensor.dtype == object else Module._numbers(tensor, value)

    @staticmethod
    def _numbers(tensor: Tensor, value: object) -> np.ndarray:
        try:
            if isinstance(value, np.ndarray):
                array = value
            elif _tensors.is_torch(value):
                array = _tensors.array_of(value)
            elif hasattr(value, "__dlpack__"):
                array = _dlpack.array_of(value)
            else:
                array = _numbers(value, tensor.dtype)
        except (BufferError, TypeError, ValueError, RuntimeError) as problem:
            raise RunError(f"input '{tensor.name}': {problem}") from None
        if array.dtype != tensor.dtype:
            raise RunError(f"input '{tensor.name}' is {array.dtype}, but the model expects {tensor.dtype}")
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array).reshape(array.shape)
        # numpy only exports types that are not built in as integers of the same size.
        return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")


def _compile_and_report(
    model: object,
    output: str | os.PathLike[str] | None = None,
    *,
    emit: str | None = None,
    target: str | Sequence[str] = "host",
    dims: Mapping[str, int | tuple[int, int] | str] | None = None,
    limits: Mapping[str, int] | None = None,
    precision: str = "highest",
    quantize: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    calibration: object = None,
    min_sqnr: float | None = None,
    max_error: float | None = None,
    optimize: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    remarks: str | os.PathLike[str] | None = None,
    transient: bool = False,
    custom: CustomOps | None = None,
    tuning: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    dim_names: str = "lenient",
) -> tuple[str, dict[str, Any] | None]:
    """Compiles a model to a file without loading it.

    `emit` is a stage to stop at; its text is returned if there is no output file. Also returns the
    report of the quantization. `transient`: the file is temporary.
    """
    from .commands import calibration as _calibration  # imported here because loading a library does not need it

    path = data = None
    if isinstance(model, (str, os.PathLike)):
        path = os.fsdecode(model)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
    elif hasattr(model, "SerializeToString"):
        data = model.SerializeToString()
    else:
        raise TypeError(f"model must be a path, bytes or a ModelProto, got {type(model).__name__}")
    if quantize is None and (calibration is not None or min_sqnr is not None or max_error is not None):
        raise ValueError("calibration, min_sqnr and max_error require quantize, for example quantize='int8'")
    ok, messages, text, report = _hewn.compile(
        path=path,
        bytes=data,
        output=os.fsdecode(output) if output else None,
        emit=emit,
        target=target if isinstance(target, str) else ",".join(target),
        dims=_arguments.bindings(dims),
        limits=[f"{name}={value}" for name, value in (limits or {}).items()],
        precision=precision,
        quantize=_arguments.quantization(quantize),
        optimize=optimize,
        cache_dir=os.fsdecode(cache_dir) if cache_dir else "",
        remarks=os.fsdecode(remarks) if remarks else "",
        transient=transient,
        custom_ops=custom.texts if custom else [],
        custom_functions=custom.addresses if custom else [],
        next_sample=_calibration.samples(calibration),
        least_decibels=_arguments.bound("min_sqnr", min_sqnr, 200),
        largest_error=_arguments.bound("max_error", max_error, sys.float_info.max),
        tunings=_arguments.paths(tuning),
        dim_names=dim_names,
    )
    told = [
        Diagnostic(node, op, domain, opset, _arguments.in_python(reason), is_warning, _arguments.in_python(text))
        for node, op, domain, opset, reason, is_warning, text in messages
    ]
    if not ok:
        raise CompileError(told)
    for diagnostic in told:
        if diagnostic.is_warning:
            warnings.warn(diagnostic.text.removeprefix("warning: "), stacklevel=3)
    return text, json.loads(report) if report else None


def _compile(model: object, output: str | os.PathLike[str] | None = None, **options: Any) -> str:
    """Compiles a model to a file.

    Returns the text of the stage at which `emit` stops the compilation.
    """
    return _compile_and_report(model, output, **options)[0]


def _load_compiled(
    artifact: str,
    threads: int,
    device: int,
    cache_dir: str | os.PathLike[str] | None,
    folder: str | None,
    custom: CustomOps | None,
) -> Module:
    """Loads a library that `compile` wrote: to `folder` if it is temporary."""
    try:
        return Module(artifact, threads, device, cache_dir=cache_dir, _folder=folder, _custom=custom)
    except RunError as problem:
        if folder:
            raise
        raise RunError(f"'{artifact}' was written, but can't be loaded here: {problem}") from None


def compile(
    model: object,
    *,
    example_inputs: object = None,
    dynamic_shapes: object = None,
    target: str | Sequence[str] = "host",
    precision: str = "highest",
    dims: Mapping[str, int | tuple[int, int] | str] | None = None,
    quantize: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    calibration: object = None,
    min_sqnr: float | None = None,
    max_error: float | None = None,
    threads: int = 1,
    device: int = 0,
    output: str | os.PathLike[str] | None = None,
    optimize: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    remarks: str | os.PathLike[str] | None = None,
    limits: Mapping[str, int] | None = None,
    custom_ops: str
    | os.PathLike[str]
    | Mapping[str, Any]
    | Sequence[str | os.PathLike[str] | Mapping[str, Any]]
    | None = None,
    tuning: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    dim_names: str = "lenient",
) -> Module:
    """Compiles a model and loads it; `output` is the path of the library (by default temporary).

    `model` is ONNX (a path, bytes, or an onnx.ModelProto), or a model that its framework's
    converter exports to ONNX: a torch.nn.Module or torch function, traced on `example_inputs` (a
    tuple of arguments, a dict by name, or a single argument) with `dynamic_shapes` as in
    torch.export; a torch.export.ExportedProgram; a jax function or a flax.nnx module, with
    `example_inputs`; a Keras model; a fitted scikit-learn estimator. Each framework requires an
    extra: pip install 'hewn-compiler[torch]', [jax], [keras], [sklearn]; otherwise
    ModuleNotFoundError is raised. Errors of the converter are raised as ConversionError
    (docs/python/torch.md).

    `target` is one target or several; the library has code for each. "portable" selects the common
    x86 targets; "wasm32" requires the extra [wasm]. `device` is the number of the GPU that loads a
    model for GPUs. `dims` binds symbolic dims: to a number, to a range (low, high), or by
    text such as "1,128,1..512": a range preceded by sizes that get specialized code. `dim_names` is
    about dims of inputs for which the model declares the same name: "lenient" requires equal sizes
    only if an op of the model does, with a warning; "strict" requires them always. `cache_dir`
    caches artifacts and kernels for later compilations, and the machine code of the GPU driver.
    `remarks` is a file for missed optimizations (fusion, layout, in-place execution, integer
    arithmetic) by node, with reasons: JSON if its name ends in .json, else YAML. `limits` bounds
    what a model file can expand to (nodes, nesting, bytes, folding), see `hewn help compile`.
    `quantize` computes contractions in integers, or only stores their weights in a smaller type:
    "int8", "int4", "codebook16", "codebook256", "float16", "bfloat16", "float8", or a file or dict
    that describes the scheme (docs/quantization.md). `calibration` determines the ranges of
    activations: a folder of .npz and .npy files, or an iterable of feeds, which is read once;
    without it, only weights are quantized. With `min_sqnr` (in decibels) or `max_error` (of any
    element), contractions stay in float32 until every output satisfies the bound. The module's
    `report` has the resulting accuracy and size.
    `tuning` is a file (or several) of schedules measured by `hewn tune`, which replace the
    compiler's choice for matching kernels and machines (docs/tutorials/tuning.md).
    `custom_ops` adds ops: files, or dicts with the same contents (docs/custom-ops.md). In a dict,
    `function` and `shape_function` can be Python functions, for experiments: they take arrays and
    attributes and return arrays. Such a module cannot have an `output`.
    """
    from . import frontends

    _expect_threads(threads)
    custom = CustomOps(custom_ops)
    if output and custom.functions:
        raise ValueError("a library cannot contain Python functions: implement custom ops in C to use `output`")
    extension = libraries.extension_of(target)
    if output and pathlib.Path(os.fsdecode(output)).suffix != extension:
        why = f"output must be a library ({extension}), got {os.fsdecode(output)!r}: use `hewn compile` for .a and .o"
        raise CompileError([Diagnostic("", "", "", 0, why, False, why)])
    folder = None if output else _arguments.temporary_folder()
    artifact = os.fsdecode(output) if output else f"{folder}/model{extension}"
    try:
        with frontends.as_onnx(model, example_inputs, dynamic_shapes) as onnx_model:
            _, report = _compile_and_report(
                onnx_model,
                artifact,
                target=target,
                dims=dims,
                limits=limits,
                precision=precision,
                quantize=quantize,
                calibration=calibration,
                min_sqnr=min_sqnr,
                max_error=max_error,
                optimize=optimize,
                cache_dir=cache_dir,
                remarks=remarks,
                transient=folder is not None,
                custom=custom,
                tuning=tuning,
                dim_names=dim_names,
            )
        module = _load_compiled(artifact, threads, device, cache_dir, folder, custom)
        module.report = report
        return module
    except BaseException:
        _release([], folder)
        raise


def load(
    path: str | os.PathLike[str],
    threads: int = 1,
    *,
    device: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
    verify: bool = False,
    copy_weights: bool = False,
    communicator: object = None,
    weights: object = None,
) -> Module:
    """Loads a compiled library; its weights file must be in the same folder.

    Loading runs the library's code: only load trusted files. A WebAssembly module (.wasm) is loaded
    into wasmtime, and may be untrusted (docs/reference/python.md).

    `verify` checks the weights against their checksum, which reads all of them. `copy_weights`
    reads the weights into memory instead of mapping the file, so that they cannot change while the
    model is loaded.

    `weights` is the content of the weights file in memory, instead of the file: a contiguous buffer
    at an address that is a multiple of 64, such as an mmap.mmap. The module uses it in place and
    holds a reference to it. It must not change while the module is open.

    `communicator` connects the ranks of a partitioned model (`hewn compile --partition`): a
    communicator of mpi4py, such as MPI.COMM_WORLD, hewn.LocalRanks for processes of one machine,
    hewn.NcclRanks for GPUs, or an object with the methods in hewn/_ranks.py. All ranks load the
    model and run it at the same time on inputs of the same shapes; each rank gets all outputs.

    For models for a GPU, `device` is its number, and `cache_dir` caches the machine code of the
    driver.
    """
    return Module(path, threads, device, cache_dir, verify, copy_weights, communicator, weights)

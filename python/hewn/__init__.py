# SPDX-License-Identifier: Apache-2.0
"""Compile ONNX models ahead of time and run them.

module = hewn.compile("model.onnx", dims={"batch": 1})
result = module.run({"x": array})["y"]
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import numbers
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _calibration, _device, _dlpack, _hewn, _tensors, frontends
from ._custom import CustomOps, raised
from ._dtypes import dtype_of as _dtype
from ._ranks import LocalRanks, NcclRanks, ranks_of
from .frontends import ConversionError

__all__ = [
    "CompileError",
    "ConversionError",
    "Diagnostic",
    "LocalRanks",
    "Module",
    "NcclRanks",
    "RunError",
    "Tensor",
    "__version__",
    "compile",
    "load",
]
__version__ = _hewn.version()


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One thing that the compiler has to say, about a node of the model where `node` is not empty."""

    node: str
    op: str
    domain: str
    opset: int
    reason: str
    is_warning: bool
    text: str


class CompileError(Exception):
    """The model cannot be compiled. `diagnostics` has every reason."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        errors = [d.text.removeprefix("error: ") for d in diagnostics if not d.is_warning]
        super().__init__("\n".join(errors) or "the model cannot be compiled")

    def __reduce__(self):
        return CompileError, (self.diagnostics,)  # whole, from one process to another


class RunError(Exception):
    """A run was refused or failed: inputs that do not fit, no memory, an index out of range."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output: symbols in the shape are names, formulas of them text, None is a dim that only a run tells.

    Where the rank of an output depends on the values of symbols, `shape` has the most dims, and `cases` all shapes:
    {"n = 1": ("m",), "n != 1": ("n", "m")}.

    Strings are of dtype object. `kind` is "tensor", "sequence" (a list of arrays), "optional" (an array or None) or
    "optional sequence"; dtype and shape are then those of the arrays, shape None where they may be of any rank.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int | str | None, ...] | None
    kind: str = "tensor"
    cases: Mapping[str, tuple[int | str | None, ...]] = dataclasses.field(default_factory=dict)


# Outputs are allocated by the run.
_NOWHERE: list = []
_KINDS = ("tensor", "sequence", "optional", "optional sequence")


def _numbers(value: object, dtype: np.dtype) -> np.ndarray:
    """Python's numbers, and lists of them: these have no width of their own, so only fractions can be lost."""
    array = np.asarray(value)
    if array.dtype.kind in "fc" and dtype.kind in "iub":
        raise TypeError(f"these are fractions, the model wants {dtype}")
    return array.astype(dtype)


def _told(shape: tuple[int | str | None, ...] | None) -> str:
    return "(any rank)" if shape is None else f"({', '.join('?' if d is None else str(d) for d in shape)})"


def _signature(tensors: Sequence[Tensor]) -> str:
    return ", ".join(
        f"{t.name}: {'' if t.kind == 'tensor' else t.kind + ' of '}{t.dtype}{_told(t.shape)}" for t in tensors
    )


def _release(model_holder: list, folder: str | None) -> None:
    model_holder.clear()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _expect_threads(threads: object) -> None:
    if not isinstance(threads, numbers.Integral) or isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads is a whole number from 1 on, not {threads!r}")


def _expect_library(path: str | os.PathLike[str]) -> None:
    """What is loaded by mistake is a model, of which the system's loader says that its ELF header is wrong."""
    if pathlib.Path(os.fsdecode(path)).suffix in (".onnx", ".onnxtxt"):
        raise RunError(f"'{os.fsdecode(path)}' is a model and no library: hewn.compile compiles and loads it")


class _Closed:
    """What stands in a module where its model was."""

    def __getattr__(self, name: str) -> object:
        raise RunError("this module is closed")


class Module:
    """A compiled model, loaded. Runs of one module take turns; load it again to run at the same time.

    A module is a context manager; `close` gives its library and memory back. Where its library is a file that was asked for (`output`, or
    `hewn.load`) it can be pickled, by that path and the options of loading.
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
        _folder: str | None = None,
        _custom: CustomOps | None = None,
    ) -> None:
        _expect_threads(threads)
        _expect_library(path)
        try:
            cache = os.fsdecode(cache_dir) if cache_dir else ""
            ranks = ranks_of(communicator)
            model = _hewn.Model(os.path.abspath(path), threads, device, cache, verify, copy_weights, ranks)
        except RuntimeError as problem:
            raise RunError(str(problem)) from None
        # What quantizing cost and brought, where `compile` did that: by output its "sqnr_db", layers, bytes, the quantization itself.
        self.report: dict | None = None
        self._options = (os.path.abspath(path), threads, device, cache_dir, verify, copy_weights)
        self._has_ranks = ranks is not None
        self._is_temporary = _folder is not None
        self._held = [model, _custom]  # whose functions the model calls
        self._calls_python = bool(_custom and _custom.functions)
        self._model = model
        self.inputs = [Tensor(name, _dtype(c, bits), shape, _KINDS[k]) for name, c, bits, shape, k in model.inputs]
        self.outputs = []
        for number, (name, code, bits, shape, kind) in enumerate(model.outputs):
            shapes = {condition: outputs[number][3] for condition, _, outputs in model.cases if outputs}
            unlike = shape is not None and any(len(own) != len(shape) for own in shapes.values())
            self.outputs.append(Tensor(name, _dtype(code, bits), shape, _KINDS[kind], shapes if unlike else {}))
        self._names = {t.name for t in self.inputs}
        # Tensors of numbers, which nearly all models have alone, are handed over without a look at what else there is.
        tensors = (*self.inputs, *self.outputs)
        self._has_device = model.has_device
        self._only_numbers = all(t.kind == "tensor" and t.dtype.isbuiltin == 1 and t.dtype != object for t in tensors)
        self._wanted = [(t.name, t.dtype, t) for t in self.inputs]
        self._turn = threading.Lock()
        self._release = weakref.finalize(self, _release, self._held, _folder)

    def close(self) -> None:
        """Gives back the library, the memory of its context and, of a module that `compile` keeps no library of, its files. Arrays that
        runs returned stay. Waits for a run that is under way; closing twice is one close."""
        with self._turn:
            self._model = _Closed()
            self._release()

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if isinstance(self._model, _Closed):
            return "<hewn.Module, closed>"
        threads = self._options[1]
        counted = f"{threads} thread{'s' * (threads != 1)}"
        return f"<hewn.Module {self.name}({_signature(self.inputs)}) -> ({_signature(self.outputs)}), {self.variant}, {counted}>"

    def __reduce__(self) -> tuple:
        if self._is_temporary:
            raise TypeError(
                "this module's library goes away with its process: compile it with output=PATH to pickle it"
            )
        if self._has_ranks:
            raise TypeError(
                "this module is one rank of several, and what it reaches the others by is this process's own"
            )
        if self._held[1:] and self._calls_python:
            raise TypeError("this module calls Python functions, which are this process's own")
        return Module, self._options

    @property
    def name(self) -> str:
        """The model's name in C."""
        return self._model.name

    @property
    def cases(self) -> dict[str, str | None]:
        """Conditions on dims for which there is code of its own, and where the model can't be run, why: {} is one case."""
        return {condition: refusal for condition, refusal, _ in self._model.cases}

    @property
    def variants(self) -> list[str]:
        """The targets that the library has code for, the best first."""
        return self._model.variants

    @property
    def variant(self) -> str:
        """The one of `variants` that this machine runs."""
        return self._model.variant

    @property
    def moved_bytes(self) -> int:
        """Of one rank of a model that is split: the bytes that it has read of other ranks, written to them and received, in all runs."""
        return self._model.moved_bytes

    def __call__(self, *arrays: object, **named: object) -> Any:
        """Runs on arrays in the order of `inputs`, or by name, and returns the output, or where there are several a tuple of them."""
        if len(arrays) > len(self.inputs):
            raise RunError(f"{len(arrays)} arrays, the model has {len(self.inputs)} inputs")
        feeds = {tensor.name: array for tensor, array in zip(self.inputs, arrays)}
        if twice := sorted(feeds.keys() & named.keys()):
            raise RunError(f"given twice, by position and by name: {', '.join(twice)}")
        results = tuple(self.run(feeds | named).values())
        return results[0] if len(results) == 1 else results

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        out: Mapping[str, object] | None = None,
        stream: object = None,
    ) -> dict[str, Any]:
        """Runs on arrays by name (numpy, or anything with DLPack) and returns the outputs by name: arrays of numpy's, or tensors of
        torch's where an input is one.

        `outputs` names those to return, in this order. `out` gives arrays for outputs, by name (numpy, or anything with DLPack: torch's
        bfloat16 too): writable, dense, of the output's type and shape; the run writes them where they are, without a copy, and returns them.
        They must not overlap the inputs.

        Sequences are lists of arrays, an optional value that is not there is None, strings are arrays of str.

        A model for a GPU takes tensors on the device as well, and there `out` too. Where one is of torch's or CuPy's, outputs are new tensors of
        that package on its device, but those whose size only the run tells; other packages' get arrays of the host, unless `out` has one.
        `stream` is the stream of the device that the run goes to (torch's, CuPy's, or the driver's address of one), behind what it holds:
        results that stay on the device are there when the stream has come to them. Without it that is the package's current stream, and
        where no tensor is on the device, a stream of the module's own, which the run waits for.
        """
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise TypeError(f"run takes arrays by name, as in run({{'x': array}}), not {type(feeds).__name__}")
        if feeds.keys() != self._names:
            missing, extra = self._names - feeds.keys(), feeds.keys() - self._names
            told = [f"missing inputs: {', '.join(sorted(missing))}"] * bool(missing)
            told += [f"no such inputs: {', '.join(sorted(extra))}"] * bool(extra)
            raise RunError("; ".join(told))
        if out:
            out = {name: value for name, value in out.items() if value is not None}
        if self._has_device:
            return self._run_on_device(feeds, outputs, out, stream)
        if stream is not None:
            raise RunError(f"a stream is a device's, and this module runs on {self.variant}")
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
            found = {t.name: data.view(t.dtype).reshape(shape) for t, (data, shape) in zip(self.outputs, results)}
        else:
            given = out or {}
            found = {
                t.name: given[t.name] if t.name in given else self._result(t, result)
                for t, result in zip(self.outputs, results)
            }
        if of_torch:
            found = {name: _tensors.tensor_of(value) for name, value in found.items()}
        return found if outputs is None else self._chosen(found, outputs)

    def _run_on_device(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None,
        out: Mapping[str, object] | None,
        stream: object,
    ) -> dict[str, Any]:
        """`run` of a model for a GPU, whose tensors are on the host or on the device."""
        out = dict(out or {})
        self._expect_outputs(out)
        first = _device.first_on_device(feeds, out)
        if stream is None:
            handle = 0 if first is None else _device.stream_of(first)
        else:
            handle = _device.handle_of(stream)
        arrays = [self._fed_on_device(tensor, feeds[tensor.name], handle) for tensor in self.inputs]
        given = dict(out)
        if first is not None:
            self._allocate(given, first, handle, arrays)
        into = self._into_on_device(given, arrays, handle)

        def handed(values: list) -> list:
            return [value.handed if isinstance(value, _device.DeviceTensor) else value for value in values]

        results = self._run_with_python(handed(arrays), handed(into), handle)
        found = {
            t.name: given[t.name] if t.name in given else self._result(t, result)
            for t, result in zip(self.outputs, results)
        }
        if any(map(_tensors.is_torch, feeds.values())):
            found = {name: _tensors.tensor_of(value) for name, value in found.items()}
        return found if outputs is None else self._chosen(found, outputs)

    def _fed_on_device(self, tensor: Tensor, value: object, handle: int) -> object:
        """What is given for an input: where it lies."""
        if not _device.is_on_device(value):
            return self._feed(tensor, value)
        return self._opened_on_device(tensor, value, handle, to_write=False)

    @staticmethod
    def _opened_on_device(tensor: Tensor, value: object, handle: int, to_write: bool) -> _device.DeviceTensor:
        what, verb = ("out", "gives") if to_write else ("input", "wants")
        if tensor.kind != "tensor" or tensor.dtype == object:
            raise RunError(f"{what} '{tensor.name}': only tensors of numbers can be on a device")
        try:
            opened = _device.opened(value, handle, to_write)
        except (BufferError, TypeError, ValueError, RuntimeError) as problem:
            raise RunError(f"{what} '{tensor.name}': {problem}") from None
        if opened.dtype != tensor.dtype:
            raise RunError(f"{what} '{tensor.name}' is {opened.dtype}, the model {verb} {tensor.dtype}")
        return opened

    def _allocate(self, given: dict, first: object, handle: int, arrays: list) -> None:
        """Adds a tensor beside `first` for each output that has none and whose shape is known."""
        shapes = self._model.output_shapes([getattr(array, "shape", None) for array in arrays])
        for tensor, shape in zip(self.outputs, shapes):
            if tensor.name in given or shape is None or tensor.dtype == object:
                continue
            if (made := _device.allocated(first, handle, shape, tensor.dtype)) is not None:
                given[tensor.name] = made

    def _into_on_device(self, given: Mapping[str, object], arrays: list, handle: int) -> list:
        """What the extension writes into, one for each output: a tensor on the device, an array, or None."""
        fed = [array for array in arrays if isinstance(array, _device.DeviceTensor)]
        on_host = [array for array in arrays if not isinstance(array, _device.DeviceTensor)]
        into = self._into({n: v for n, v in given.items() if not _device.is_on_device(v)}, on_host)
        for i, tensor in enumerate(self.outputs):
            value = given.get(tensor.name)
            if value is None or not _device.is_on_device(value):
                continue
            opened = self._opened_on_device(tensor, value, handle, to_write=True)
            if any(map(opened.overlaps, fed)):
                raise RunError(f"out '{tensor.name}' shares memory with an input")
            into[i] = opened
        return into

    async def run_async(self, feeds: Mapping[str, object], **options: object) -> dict[str, Any]:
        """`run` in a thread, to be awaited: the event loop goes on meanwhile. Runs of one module still take turns."""
        return await asyncio.to_thread(self.run, feeds, **options)

    def _chosen(self, found: dict, outputs: Sequence[str]) -> dict:
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        self._expect_outputs(names)
        return {name: found[name] for name in names}

    def _expect_outputs(self, names: Sequence[str]) -> None:
        if unknown := sorted(set(names) - {t.name for t in self.outputs}):
            raise RunError(f"no such outputs: {', '.join(unknown)}")

    def _into(self, out: Mapping[str, object], arrays: list) -> list:
        """What the extension writes into, one for each output: an array, or None."""
        self._expect_outputs(out)
        into = []
        for tensor in self.outputs:
            array = out.get(tensor.name)
            if array is not None:
                array = array if isinstance(array, np.ndarray) else self._borrowed(tensor, array)
                self._expect_writable(tensor, array)
                if any(np.may_share_memory(array, a) for a in arrays if isinstance(a, np.ndarray)):
                    raise RunError(f"out '{tensor.name}' shares memory with an input")
            native = array is None or array.dtype.isbuiltin == 1
            into.append(array if native else array.view(f"u{array.itemsize}"))
        return into

    @staticmethod
    def _borrowed(tensor: Tensor, value: object) -> object:
        try:
            value = _tensors.array_of(value)
            is_foreign = not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__")
            return _dlpack.array_of(value) if is_foreign else value
        except (BufferError, TypeError, ValueError, RuntimeError) as problem:
            raise RunError(f"out '{tensor.name}': {problem}") from None

    @staticmethod
    def _expect_writable(tensor: Tensor, array: object) -> None:
        if tensor.kind != "tensor" or tensor.dtype == object:
            raise RunError(f"out '{tensor.name}': only tensors of numbers are written where they are")
        if not isinstance(array, np.ndarray):
            raise RunError(f"out '{tensor.name}' is {type(array).__name__}, not a NumPy array or a tensor with DLPack")
        if array.dtype != tensor.dtype:
            raise RunError(f"out '{tensor.name}' is {array.dtype}, the model gives {tensor.dtype}")
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise RunError(f"out '{tensor.name}' must be dense, row-major and writable")

    def _run_with_python(self, arrays: list, into: list, stream: int | None = None) -> list:
        """The same of a model that calls Python functions, where what one of them raises is the error's cause, or of one that has a stream."""
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
    def _result(tensor: Tensor, result: object) -> np.ndarray | list | None:
        if result is None:
            return None
        if isinstance(result, list):
            return [Module._result(tensor, item) for item in result]
        data, shape = result
        if tensor.dtype == object:
            array = np.empty(len(data), object)
            array[:] = data
            return array.reshape(shape)
        return data.view(tensor.dtype).reshape(shape)

    @classmethod
    def _feed(cls, tensor: Tensor, value: object) -> object:
        if tensor.kind == "tensor":
            return cls._array(tensor, value)
        if value is None and tensor.kind.startswith("optional"):
            return None
        if tensor.kind == "optional":
            return cls._array(tensor, value)
        if not isinstance(value, (list, tuple)):
            raise RunError(f"input '{tensor.name}' is {type(value).__name__}, the model wants a list of arrays")
        return [cls._array(tensor, item) for item in value]

    @staticmethod
    def _strings(tensor: Tensor, value: object) -> tuple[list[bytes], tuple[int, ...]]:
        array = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else object)
        texts = []
        for item in array.ravel().tolist():
            if not isinstance(item, (str, bytes)):
                raise RunError(f"input '{tensor.name}' holds {type(item).__name__}, the model wants strings")
            try:
                text = item.encode(errors="surrogateescape") if isinstance(item, str) else item
            except UnicodeEncodeError as problem:
                raise RunError(f"input '{tensor.name}': {problem}") from None
            if b"\0" in text:
                raise RunError(f"input '{tensor.name}' has a string with a zero byte in it")
            texts.append(text)
        return texts, array.shape

    @staticmethod
    def _array(tensor: Tensor, value: object) -> object:
        return Module._strings(tensor, value) if tensor.dtype == object else Module._numbers(tensor, value)

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
            raise RunError(f"input '{tensor.name}' is {array.dtype}, the model wants {tensor.dtype}")
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array).reshape(array.shape)
        # What numpy itself does not know it hands to nobody but as bytes.
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
    quantize: str | os.PathLike[str] | Mapping | None = None,
    calibration: object = None,
    min_sqnr: float | None = None,
    max_error: float | None = None,
    optimize: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    remarks: str | os.PathLike[str] | None = None,
    transient: bool = False,
    custom: CustomOps | None = None,
    tuning: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> tuple[str, dict | None]:
    """Compiles a model to a file and loads nothing. `emit` is a stage to stop at, whose text is returned where there is no file; beside it
    what quantizing has to report. `transient`: the file goes away with this process."""
    path = data = None
    if isinstance(model, (str, os.PathLike)):
        path = os.fsdecode(model)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
    elif hasattr(model, "SerializeToString"):
        data = model.SerializeToString()
    else:
        raise TypeError(f"a model is a path, bytes or a ModelProto, not {type(model).__name__}")
    if dims is not None and not isinstance(dims, Mapping):
        raise TypeError(f"dims are given by name, as in dims={{'batch': 1}}, not as {type(dims).__name__}")
    bindings = []
    for name, value in (dims or {}).items():
        bindings.append(f"{name}={value[0]}..{value[1]}" if isinstance(value, tuple) else f"{name}={value}")
    if quantize is None and (calibration is not None or min_sqnr is not None or max_error is not None):
        raise ValueError("calibration, min_sqnr and max_error are for a model that is quantized: quantize='int8'")
    ok, messages, text, report = _hewn.compile(
        path=path,
        bytes=data,
        output=os.fsdecode(output) if output else None,
        emit=emit,
        target=target if isinstance(target, str) else ",".join(target),
        dims=bindings,
        limits=[f"{name}={value}" for name, value in (limits or {}).items()],
        precision=precision,
        quantize=_quantization(quantize),
        optimize=optimize,
        cache_dir=os.fsdecode(cache_dir) if cache_dir else "",
        remarks=os.fsdecode(remarks) if remarks else "",
        transient=transient,
        custom_ops=custom.texts if custom else [],
        custom_functions=custom.addresses if custom else [],
        next_sample=_calibration.samples(calibration),
        least_decibels=_bound("min_sqnr", min_sqnr, 200),
        largest_error=_bound("max_error", max_error, sys.float_info.max),
        tunings=_paths(tuning),
    )
    if not ok:
        raise CompileError([Diagnostic(*m) for m in messages])
    for diagnostic in (Diagnostic(*message) for message in messages):
        if diagnostic.is_warning:
            warnings.warn(diagnostic.text.removeprefix("warning: "), stacklevel=3)
    return text, json.loads(report) if report else None


def _compile(model: object, output: str | os.PathLike[str] | None = None, **options: object) -> str:
    """The same without a report."""
    return _compile_and_report(model, output, **options)[0]


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> list[str]:
    one = isinstance(given, (str, os.PathLike))
    return [os.fsdecode(path) for path in ([given] if one else given or [])]


def _bound(name: str, value: float | None, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value <= most):
        raise ValueError(f"{name} is a number above 0 and up to {most:g}")
    return float(value or 0.0)


def _quantization(quantize: str | os.PathLike[str] | Mapping | None) -> str:
    """A name, a file or a dict, as text."""
    if quantize is None:
        return ""
    if isinstance(quantize, Mapping):
        try:
            return json.dumps(dict(quantize), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"quantize holds what no JSON has: {error}") from error
    if not isinstance(quantize, (str, bytes, os.PathLike)):
        raise TypeError(f"quantize is a name, as 'int8', a file or a dict, not {type(quantize).__name__}")
    if not os.fsdecode(quantize):
        raise ValueError("quantize is a name, as 'int8', a file or a dict, and is empty")
    return os.fsdecode(quantize)


def compile(
    model: object,
    *,
    example_inputs: object = None,
    dynamic_shapes: object = None,
    target: str | Sequence[str] = "host",
    precision: str = "highest",
    dims: Mapping[str, int | tuple[int, int] | str] | None = None,
    quantize: str | os.PathLike[str] | Mapping | None = None,
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
    custom_ops: str | os.PathLike[str] | Mapping | Sequence[str | os.PathLike[str] | Mapping] | None = None,
    tuning: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
) -> Module:
    """Compiles a model and loads it; `output` keeps the library at that path.

    A model is ONNX (a path, bytes, or an onnx.ModelProto), or what its framework's own converter makes ONNX of: a torch.nn.Module or a
    function of torch's, traced on `example_inputs` (a tuple of arguments, a dict by name, or the only one) with `dynamic_shapes` as
    torch.export has them; a torch.export.ExportedProgram; a jax function or a module of flax.nnx, with `example_inputs`; a Keras model; a
    fitted scikit-learn estimator. Each wants an extra: pip install 'hewn-compiler[torch]', [jax], [keras], [sklearn]; without it
    ModuleNotFoundError says so. What the converter refuses is a ConversionError (docs/python/torch.md).

    `target` is a machine, or several, each with code of its own in the library; "portable" stands for the usual ones.
    `device` is the number of the GPU that a model for one is loaded on.
    `dims` binds symbolic dims: a number, or (low, high), or as text "1,128,1..512": a range, and sizes in front of it that get
    code of their own. `cache_dir` keeps artifacts and kernels for later compiles, and what a GPU's driver makes of them.
    `remarks` is a file for what was not fused, laid out, done in place or by integers, and why, by node: JSON where its name ends in
    .json, else YAML. `limits` bound what a model may ask for beyond what its file has, as `hewn help compile` tells: nodes, nesting, bytes,
    folding.

    `quantize` computes contractions on integers, or keeps their weights in few bits: "int8", "int4", "codebook16", "codebook256", "float16",
    "bfloat16", "float8", or a file or a dict that describes it (docs/quantization.md). `calibration` shows the ranges of activations: a folder of .npz and .npy files, or an iterable of feeds, which is
    read once; without it weights alone are quantized. With `min_sqnr`, in decibels, or `max_error`, of any element, as many contractions
    stay in float32 as it takes for every output. What that costs and brings is in the module's `report`.

    `tuning` is a file of schedules that `hewn tune` has measured, or several; they take the place of the compiler's own choice for the
    kernels and machines that they are of (docs/tutorials/tuning.md).

    `custom_ops` give ops that hewn does not have: files, or dicts as these have them (docs/custom-ops.md). In a dict `function` and
    `shape_function` may be Python functions, to try things out: arrays and attributes in, arrays out. Such a module is this process's
    own, so it has no `output`.
    """
    _expect_threads(threads)
    custom = CustomOps(custom_ops)
    if output and custom.functions:
        raise ValueError("a library can't hold Python functions: give custom ops in C where it is kept by `output`")
    if output and pathlib.Path(os.fsdecode(output)).suffix != ".so":
        why = f"output is a library (.so), which is loaded, not {os.fsdecode(output)!r}: `hewn compile` makes .a and .o"
        raise CompileError([Diagnostic("", "", "", 0, why, False, why)])
    folder = None if output else tempfile.mkdtemp(prefix="hewn-")
    artifact = os.fsdecode(output) if output else str(pathlib.Path(folder) / "model.so")
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
            )
        module = Module(artifact, threads, device, cache_dir=cache_dir, _folder=folder, _custom=custom)
        module.report = report
        return module
    except BaseException:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
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
) -> Module:
    """Loads a library that hewn has compiled; its weights file lies beside it. Loading runs its code: load what you trust.

    `verify` compares the weights with their checksum, which reads all of them. `copy_weights` reads them into memory, where
    nobody can change or shorten them, instead of mapping the file.

    Of a model that is split (`hewn compile --partition`) `communicator` is how this rank reaches the others: one of mpi4py's, such as
    MPI.COMM_WORLD, hewn.LocalRanks of processes of one machine, hewn.NcclRanks of GPUs, or an object of your own (hewn/_ranks.py). All ranks load it, and run it
    on inputs of the same shapes, at the same time; each gets all outputs.

    Of models for a GPU: `device` is its number, `cache_dir` keeps what the driver makes of their code for the next process.
    """
    return Module(path, threads, device, cache_dir, verify, copy_weights, communicator)

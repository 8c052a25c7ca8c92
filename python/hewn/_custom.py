# SPDX-License-Identifier: Apache-2.0
"""Custom ops: definitions as text for the compiler, and Python functions that replace C functions.

include/hewn/custom.h declares the C functions.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import math
import operator
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._dlpack import DLTensor
from ._dtypes import dtype_of


class _Attribute(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("count", ctypes.c_int64),
        ("i", ctypes.c_int64),
        ("f", ctypes.c_double),
        ("s", ctypes.POINTER(ctypes.c_char)),
        ("ints", ctypes.POINTER(ctypes.c_int64)),
        ("floats", ctypes.POINTER(ctypes.c_float)),
        ("strings", ctypes.POINTER(ctypes.c_char_p)),
        ("tensor", ctypes.POINTER(DLTensor)),
    )


class _Services(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        (
            "fail",
            ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64),
        ),
        ("scratch", ctypes.c_void_p),
        ("keep", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
    )


class _Call(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("node", ctypes.c_char_p),
        ("num_inputs", ctypes.c_int32),
        ("num_outputs", ctypes.c_int32),
        ("num_attributes", ctypes.c_int32),
        ("num_sizes", ctypes.c_int32),
        ("inputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("outputs", ctypes.POINTER(ctypes.POINTER(DLTensor))),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("services", ctypes.POINTER(_Services)),
    )


class _Raised(threading.local):
    """The first exception of a Python function in the current run of this thread.

    Functions are called on the thread that runs the model.
    """

    first: BaseException | None = None


_RAISED = _Raised()


@contextlib.contextmanager
def raised() -> Iterator[Callable[[], BaseException | None]]:
    """Context manager for a run of a model with Python functions.

    Yields a function that returns the first exception of these functions, or None. Runs can be
    nested, if a Python function runs another model.
    """
    before, _RAISED.first = _RAISED.first, None
    try:
        yield lambda: _RAISED.first
    finally:
        _RAISED.first = before


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_NUMBERS = itertools.count()


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _shape(tensor: DLTensor) -> tuple[int, ...]:
    return tuple(tensor.shape[: tensor.ndim])


def _load(tensor: DLTensor) -> np.ndarray:
    """Returns a copy of an input of a custom op.

    The memory of the input is only valid during the call of the op.
    """
    dtype, shape = dtype_of(tensor.code, tensor.bits), _shape(tensor)
    count = math.prod(shape)
    if dtype.kind == "O":  # strings have dtype object
        pointers = ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_char_p))
        array = np.empty(count, object)
        array[:] = [_text(pointers[i] or b"") for i in range(count)]
        return array.reshape(shape)
    data = np.frombuffer(ctypes.string_at(tensor.data, count * dtype.itemsize), np.uint8)
    return data.copy().view(dtype).reshape(shape)


def _store(call: _Call, pointer: int, tensor: DLTensor, array: np.ndarray) -> None:
    if array.dtype.kind != "O":
        ctypes.memmove(tensor.data, np.ascontiguousarray(array).tobytes(), array.nbytes)
        return
    pointers = ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_void_p))
    for i, item in enumerate(array.ravel().tolist()):
        data = item.encode(errors="surrogateescape") + b"\0"
        if b"\0" in data[:-1]:
            raise ValueError("a string contains a zero byte")
        memory = call.services.contents.keep(pointer, len(data))
        if not memory:
            raise MemoryError
        ctypes.memmove(memory, data, len(data))
        pointers[i] = memory


def _attribute(given: _Attribute) -> object:
    match given.kind:
        case 1:
            return given.i
        case 2:
            return given.f
        case 3:
            return _text(given.s[: given.count])
        case 4:
            return given.ints[: given.count]
        case 5:
            return given.floats[: given.count]
        case 6:
            return [_text(s) for s in given.strings[: given.count]]
        case 7:
            return _load(given.tensor.contents)
    return None


class _PythonOp:
    """Wraps the Python function of a custom op as a C function, whose symbol the op's definition names."""

    def __init__(self, definition: Mapping[str, Any], function: Callable[..., Any], tells: bool) -> None:
        self.function, self.tells = function, tells
        self.names = self._names(definition, "attributes")
        self.sizes = self._names(definition, "sizes")
        self.counts = bool(self.sizes) and "shape_function" not in definition
        self.dims = [output.get("dims", ()) for output in self._objects(definition, "outputs")]
        self.symbol = f"python_function_{next(_NUMBERS)}"
        self.callback = _FUNCTION(self.call)

    # Entries of an op's definition that are not mappings are skipped here: the compiler reports
    # them, with the op and the key.
    @staticmethod
    def _objects(definition: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        listed = definition.get(key, ())
        return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, (list, tuple)) else []

    @classmethod
    def _names(cls, definition: Mapping[str, Any], key: str) -> list[str]:
        return [str(one.get("name")) for one in cls._objects(definition, key)]

    def call(self, pointer: int) -> int:
        call = _Call.from_address(pointer)
        try:
            self.run(call, pointer)
        except BaseException as problem:  # an exception must not leave a C function
            if _RAISED.first is None:
                _RAISED.first = problem
            try:
                told = f"{type(problem).__name__}: {problem}".replace("{", "{ ").replace("\0", "\\0")
            except Exception:  # its __str__ failed
                told = type(problem).__name__
            return int(call.services.contents.fail(pointer, told.encode(errors="surrogateescape"), 0, 0))
        return 0

    def run(self, call: _Call, pointer: int) -> None:
        inputs = [_load(t.contents) if t else None for t in call.inputs[: call.num_inputs]]
        attributes = {name: _attribute(call.attributes[i]) for i, name in enumerate(self.names)}
        results = self.function(*inputs, **attributes)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        wanted = call.num_sizes if self.tells else call.num_outputs
        if len(results) != wanted:
            raise ValueError(f"the function returned {len(results)} results, but its definition has {wanted}")
        if self.tells:
            for i, size in enumerate(results):
                size = operator.index(size)
                if not 0 <= size < 2**63:
                    raise ValueError(f"size '{self.sizes[i]}' is {size}")
                call.sizes[i] = size
            return
        told: dict[str, int] = {}
        for i, result in enumerate(results):
            self.give(told, call, pointer, i, result)

    def give(self, told: dict[str, int], call: _Call, pointer: int, i: int, result: object) -> None:
        tensor = call.outputs[i].contents
        dtype, room = dtype_of(tensor.code, tensor.bits), _shape(tensor)
        array = np.asarray(result, dtype=object if dtype.kind == "O" else None)
        if array.dtype != dtype:
            raise TypeError(f"result {i} is {array.dtype}, but its definition has {dtype}")
        if array.ndim != len(room):
            raise ValueError(f"result {i} has {array.ndim} dims, but its definition has {len(room)}")
        names = [None] * (len(room) - len(self.dims[i])) + list(self.dims[i]) if self.counts else [None] * len(room)
        for d, (size, most, name) in enumerate(zip(array.shape, room, names[-len(room) :] if room else ())):
            if name in self.sizes:
                if size > most:
                    raise ValueError(f"result {i} has size {size} in dim {d}, above the maximum {most}")
                if told.setdefault(name, size) != size:
                    raise ValueError(
                        f"result {i} has size {size} in dim {d}, but '{name}' is {told[name]} in another dim"
                    )
                call.sizes[self.sizes.index(name)] = size
            elif size != most:
                raise ValueError(f"result {i} has size {size} in dim {d}, but its definition has {most}")
        _store(call, pointer, tensor, array)


class CustomOps:
    """The custom ops of a module: definitions for the compiler, and Python functions.

    The functions must live as long as the module.
    """

    def __init__(self, given: Any) -> None:
        self.texts: list[str] = []
        self.functions: list[_PythonOp] = []
        for one in [] if given is None else given if self._is_list(given) else [given]:
            if isinstance(one, (str, os.PathLike)):
                self.texts.append(os.fsdecode(one))
            elif isinstance(one, Mapping):
                self.texts.append(self._dump(one))
            else:
                raise TypeError(
                    f"custom_ops must be paths, or dicts with the contents of a file, got {type(one).__name__}"
                )

    @staticmethod
    def _is_list(given: object) -> bool:
        return isinstance(given, Sequence) and not isinstance(given, (str, bytes))

    def _dump(self, given: Mapping[str, Any]) -> str:
        ops = []
        if not isinstance(given.get("ops", ()), (list, tuple)):
            return json.dumps(given)
        for op in given.get("ops", ()):
            named = dict(op) if isinstance(op, Mapping) else op
            for key in ("function", "shape_function"):
                if isinstance(named, dict) and callable(named.get(key)):
                    function = _PythonOp(op, named[key], key == "shape_function")
                    self.functions.append(function)
                    named[key] = function.symbol
            ops.append(named)
        return json.dumps({**given, "ops": ops})

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The symbol and the address of each Python function."""
        return [(f.symbol, ctypes.cast(f.callback, ctypes.c_void_p).value or 0) for f in self.functions]

# SPDX-License-Identifier: Apache-2.0
"""Models that are WebAssembly modules (`hewn compile --target=wasm32`).

`Model` has the interface of `_hewn.Model`, which runs native libraries.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._dtypes import dlpack_of
from ._guest import ContextOptions, DLTensor, Frame, Guest, Pointer, SequenceStruct, Status
from ._interface import KINDS

_SECTION = "hewn"  # the custom section with the description of the model as JSON
_CPU, _STRING, _HANDLE_BITS = 1, 3, 64  # of DLPack: the device, the type code and the bits of handles
_VERIFY_WEIGHTS = 1  # HEWN_VERIFY_WEIGHTS
_WEIGHTS_ALIGNMENT = 64
_BY_HANDLE = ("sequence", "optional", "optional sequence")  # kinds that are passed as the handle of a struct


def _described(content: bytes) -> dict[str, Any]:
    """Returns the JSON of the custom section of a valid module."""
    at = 8  # after the magic bytes and the version

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            value |= (content[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < 0x80:
                return value

    while at < len(content):
        kind, size = number(), number()
        end = at + size
        if kind == 0:
            length = number()
            if content[at : at + length] == _SECTION.encode():
                found: dict[str, Any] = json.loads(content[at + length : end])
                return found
        at = end
    raise RuntimeError(f"the module has no custom section '{_SECTION}': it is no model of hewn")


def _interface_of(tensors: list[Any]) -> list[tuple[Any, ...]]:
    """Returns the inputs or outputs as `_hewn.Model` describes them."""
    found = []
    for tensor in tensors:
        name, shape = tensor["name"], tensor["shape"]
        dims = None if shape is None else tuple(shape)
        if not isinstance(name, str) or not all(d is None or isinstance(d, int | str) for d in dims or ()):
            raise ValueError("a name or shape of another type")
        found.append((name, *dlpack_of(tensor["type"]), dims, KINDS.index(tensor["kind"])))
    return found


def _encoded(item: object, name: str) -> bytes:
    """Returns the bytes of an element of a string tensor, with a zero byte at the end."""
    if not isinstance(item, str | bytes):
        raise RuntimeError(f"input '{name}' has {type(item).__name__} elements, but the model expects strings")
    try:
        text = item.encode("utf-8", "surrogateescape") if isinstance(item, str) else item
    except UnicodeEncodeError as problem:
        raise RuntimeError(f"input '{name}': {problem}") from None
    if b"\0" in text:
        raise RuntimeError(f"input '{name}' has a string that contains a zero byte")
    return text + b"\0"


class Model:
    """A loaded module and its context.

    `cache_dir` and `device` are of models for GPUs, and `copy_weights` has no effect: the weights
    are always copied to the module's memory. All failures raise RuntimeError.
    """

    has_device = False
    moved_bytes = 0

    def __init__(
        self,
        path: str,
        threads: int,
        device: int,
        cache_dir: str,
        verify: bool,
        copy_weights: bool,
        communicator: object = None,
        weights: object = None,
    ) -> None:
        if threads != 1:
            raise RuntimeError(f"a WebAssembly module runs on one thread, got threads={threads}")
        if communicator is not None:
            raise RuntimeError("a WebAssembly module cannot communicate with other ranks")
        try:
            content = pathlib.Path(path).read_bytes()
        except OSError as problem:
            raise RuntimeError(f"cannot load '{path}': {problem.strerror}") from None
        if content[:4] != b"\0asm":
            raise RuntimeError(f"cannot load '{path}': not a WebAssembly module")
        try:
            self._guest = Guest(content)
            self._read(content)
            self._open(path, verify, weights)
        except RuntimeError as problem:
            raise RuntimeError(f"cannot load '{path}': {problem}") from None

    def _read(self, content: bytes) -> None:
        try:
            found = _described(content)
            self.inputs, self.outputs = _interface_of(found["inputs"]), _interface_of(found["outputs"])
            self.name, self.variants, self.ranks = str(found["name"]), list(map(str, found["variants"])), 0
            self.cases = [(c["condition"], c["refusal"], _interface_of(c["outputs"])) for c in found["cases"]]
            self.metadata = sorted(found["metadata"].items())
            self.variant = self.variants[0]
            self._weights_file = found["weights"] and found["weights"]["file"]
        except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as problem:
            raise RuntimeError(f"the custom section '{_SECTION}' is damaged: {problem!r}") from None

    def _open(self, path: str, verify: bool, weights: Any) -> None:
        """Creates the context, which lives as long as the module's memory."""
        guest = self._guest
        self._descriptor, self._status = guest.address(self.name), guest.allocate(ctypes.sizeof(Status))
        options = ContextOptions(size=ctypes.sizeof(ContextOptions), flags=_VERIFY_WEIGHTS if verify else 0)
        if weights is not None:
            content = memoryview(weights).cast("B")
            self._reserve_weights(content.nbytes, options)[:] = content
        elif self._weights_file is not None:
            self._load_weights(path, options)
        with guest.frame() as frame:
            place = frame.reserve(ctypes.sizeof(Pointer))
            self._call("hewn_context_create", self._descriptor, frame.put(options), place)
            self._context = guest.struct(Pointer, place).value

    def _load_weights(self, path: str, options: ContextOptions) -> None:
        """Copies the weights file, which is in the folder of the module or of a link to it."""
        name = str(self._weights_file)
        if pathlib.Path(name).name != name:
            raise RuntimeError(f"the weights file '{name}' is not in the folder of the module")
        files = [p.parent / name for p in (pathlib.Path(path).resolve(), pathlib.Path(path))]
        try:
            with next(filter(pathlib.Path.exists, files), files[0]).open("rb") as file:
                file.readinto(self._reserve_weights(os.fstat(file.fileno()).st_size, options).data)
        except OSError as problem:
            raise RuntimeError(f"cannot read the weights file '{files[0]}': {problem.strerror}") from None

    def _reserve_weights(self, size: int, options: ContextOptions) -> np.ndarray:
        """Returns memory of the module for the content of the weights file."""
        options.weights, options.weights_bytes = self._guest.allocate(max(size, 1), _WEIGHTS_ALIGNMENT), size
        return self._guest.view(options.weights, size)

    def _call(self, name: str, *arguments: int) -> None:
        """Calls a function that returns a status."""
        self._guest.call(name, self._status, *arguments)
        status = self._guest.struct(Status, self._status)
        if status.code != 0:
            raise RuntimeError(self._guest.text(status.message).decode("utf-8", "backslashreplace"))

    def run(self, arrays: Sequence[object], into: Sequence[np.ndarray | None] = ()) -> list[object]:
        """Runs the model on arrays as `_hewn.Model.run` does.

        Each input is an array, a tuple (list of strings, shape), a list of them or None.
        """
        if len(arrays) != len(self.inputs):
            raise RuntimeError("expected an array for each input")
        guest, given = self._guest, into if len(into) == len(self.outputs) else [None] * len(self.outputs)
        with guest.frame() as frame:
            fed = [self._feed(frame, info, array) for info, array in zip(self.inputs, arrays)]
            wanted = [self._wanted(frame, info, array) for info, array in zip(self.outputs, given)]
            inputs = frame.put((DLTensor * len(fed))(*fed))
            outputs = frame.put((DLTensor * len(wanted))(*wanted))
            self._call("hewn_run_counted", self._descriptor, self._context, inputs, len(fed), outputs, len(wanted))
            made = guest.struct(DLTensor * len(wanted), outputs)
            try:
                return [self._result(info, tensor, array) for info, tensor, array in zip(self.outputs, made, given)]
            finally:
                for before, after in zip(wanted, made):
                    if before.data == 0 and after.data != 0:
                        guest.call("hewn_output_release", self._context, after.data)

    def _feed(self, frame: Frame, info: tuple[Any, ...], given: Any) -> DLTensor:
        """Copies an input to the module's memory."""
        name, code, bits, _, kind = info
        if KINDS[kind] not in _BY_HANDLE:
            return self._tensor(frame, name, code, bits, given)
        handle = 0
        if given is not None:
            items = [given] if KINDS[kind] == "optional" else given
            tensors = [self._tensor(frame, name, code, bits, item) for item in items]
            elements = frame.put((DLTensor * len(tensors))(*tensors))
            handle = frame.put(SequenceStruct(len(tensors), elements))
        return self._tensor(frame, name, _STRING, _HANDLE_BITS, np.array(handle, np.uint64))

    @staticmethod
    def _tensor(frame: Frame, name: str, code: int, bits: int, given: Any) -> DLTensor:
        if isinstance(given, tuple):  # strings
            items, shape = given
            texts = [_encoded(item, name) for item in items]
            starts = np.cumsum([0, *map(len, texts)], dtype=np.uint64)[: len(texts)]
            data = frame.put(starts + np.uint64(frame.put(b"".join(texts))))
        else:
            data, shape = frame.put(given), given.shape
        dims = frame.put(np.array(shape, np.int64))
        return DLTensor(data=data, device_type=_CPU, ndim=len(shape), code=code, bits=bits, lanes=1, shape=dims)

    @staticmethod
    def _wanted(frame: Frame, info: tuple[Any, ...], array: np.ndarray | None) -> DLTensor:
        """Returns the tensor of an output before the run: with memory if the caller has an array for it.

        Otherwise the run allocates the memory.
        """
        _, code, bits, shape, _ = info
        if array is None:
            return DLTensor(device_type=_CPU, shape=frame.reserve(8 * len(shape or ())))
        data, dims = frame.reserve(array.nbytes), frame.put(np.array(array.shape, np.int64))
        return DLTensor(data=data, device_type=_CPU, ndim=array.ndim, code=code, bits=bits, lanes=1, shape=dims)

    def _result(self, info: tuple[Any, ...], tensor: DLTensor, array: np.ndarray | None) -> object:
        """Copies an output from the module's memory: to `array` if there is one.

        Returns (bytes, shape), (list of strings, shape), a list of them, or None.
        """
        _, code, bits, shape, kind = info
        if KINDS[kind] not in _BY_HANDLE:
            data, dims = self._taken(tensor, code, bits, len(shape))
            if array is None:
                return data, dims
            if data.size > array.nbytes:
                raise RuntimeError(f"output '{info[0]}': the module returned the shape {dims}, which is too large")
            array.reshape(-1).view(np.uint8)[: data.size] = data
            return None
        handle = self._guest.struct(ctypes.c_uint64, tensor.data).value
        if handle == 0:
            return [] if KINDS[kind] == "sequence" else None
        found = self._guest.struct(SequenceStruct, handle)
        size = found.length * ctypes.sizeof(DLTensor)
        self._guest.view(found.elements, size)  # checks the length
        elements = self._guest.struct(DLTensor * found.length, found.elements)
        items = [self._taken(element, code, bits) for element in elements]
        if KINDS[kind] == "optional" and not items:
            raise RuntimeError(f"output '{info[0]}': the module returned an optional value without a tensor")
        return items[0] if KINDS[kind] == "optional" else items

    def _taken(self, tensor: DLTensor, code: int, bits: int, rank: int | None = None) -> tuple[Any, tuple[int, ...]]:
        """Returns a copy of a tensor, of at most `rank` dims."""
        if tensor.ndim < 0 or (rank is not None and tensor.ndim > rank):
            raise RuntimeError(f"the module returned a tensor with {tensor.ndim} dims")
        shape = tuple(self._guest.view(tensor.shape, 8 * tensor.ndim).view(np.int64).tolist())
        if min(shape, default=0) < 0:
            raise RuntimeError(f"the module returned a tensor of shape {shape}")
        size = math.prod(shape) * ((bits + 7) // 8)
        data = self._guest.view(tensor.data + tensor.byte_offset if size else 0, size)
        if code != _STRING:
            return data.copy(), shape
        handles = data.view(np.uint64).tolist()
        texts = [self._guest.text(handle) if handle else b"" for handle in handles]
        return [text.decode("utf-8", "surrogateescape") for text in texts], shape

# SPDX-License-Identifier: Apache-2.0
"""WebAssembly modules in PyPI's wasmtime: memory, functions, and C structs of hewn's runtime.

A module is untrusted: it cannot leave its memory, and each access to the memory is checked.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import re
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

_WASI = "wasi_snapshot_preview1"
_ALIGNMENT = 16
# Exported functions that this file calls: the number of their arguments and of their results, all
# of which are 32-bit integers. A status is returned through the first argument.
_FUNCTIONS = {
    "hewn_context_create": (4, 0),
    "hewn_run_counted": (7, 0),
    "hewn_output_release": (2, 0),
    "hewn_wasm_allocate": (2, 1),
    "hewn_wasm_release": (1, 0),
}

# The C structs of dlpack.h and hewn/runtime.h with the layout of wasm32: pointers and size_t have
# 32 bits.
Pointer = Size = ctypes.c_uint32
#: A structure, array or number of ctypes.
CData = TypeVar("CData", ctypes.LittleEndianStructure, ctypes.Array[Any], ctypes.c_uint64, ctypes.c_uint32)


class Status(ctypes.LittleEndianStructure):
    """Layout of hewn_status in a module's memory."""

    _fields_ = (("code", ctypes.c_int32), ("message", Pointer))


class DLTensor(ctypes.LittleEndianStructure):
    """Layout of DLPack's DLTensor in a module's memory."""

    _fields_ = (
        ("data", Pointer),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", Pointer),
        ("strides", Pointer),
        ("byte_offset", ctypes.c_uint64),
    )


class SequenceStruct(ctypes.LittleEndianStructure):
    """Layout of a sequence of tensors in a module's memory."""

    _fields_ = (("length", ctypes.c_int64), ("elements", Pointer))


class ContextOptions(ctypes.LittleEndianStructure):
    """Layout of hewn_context_options in a module's memory."""

    _fields_ = (
        ("size", Size),
        ("threads", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("arena", Pointer),
        ("arena_bytes", Size),
        ("allocator", Pointer * 3),
        ("thread_hook", Pointer * 2),
        ("trace_hook", Pointer * 2),
        ("weights_path", Pointer),
        ("device", ctypes.c_int32),
        ("reserved_device", ctypes.c_uint32),
        ("device_stream", Pointer),
        ("device_context", Pointer),
        ("device_cache", Pointer),
        ("device_cache_bytes", ctypes.c_uint64),
        ("communicator", Pointer),
        ("device_hook", Pointer * 2),
        ("transfer_hook", Pointer * 2),
        ("weights", Pointer),
        ("weights_bytes", Size),
        ("cancel_hook", Pointer * 2),
    )


_PROCESS = os.getpid()


def _wasmtime() -> Any:
    """Returns the package wasmtime.

    Raises ModuleNotFoundError with the command that installs it if it is missing.
    """
    try:
        import wasmtime
    except ImportError as problem:
        raise ModuleNotFoundError(
            "running WebAssembly modules requires wasmtime, which is not installed: pip install 'hewn-compiler[wasm]'",
            name="wasmtime",
        ) from problem
    return wasmtime


@functools.cache
def _engine(is_forked: bool) -> Any:
    """Returns the engine that compiles all modules of this process.

    The threads that compile do not exist in a forked process.
    """
    config = _wasmtime().Config()
    config.parallel_compilation = not is_forked
    engine = _wasmtime().Engine(config)
    atexit.register(engine.close)  # before the modules are cleared that its destructor uses
    return engine


def _reason(problem: Exception) -> str:
    """Returns the message of an error of wasmtime as one line, without the backtrace."""
    lines = [re.sub(r"^\d+: ", "", line.strip()) for line in str(problem).strip().splitlines()] or [""]
    causes = lines[lines.index("Caused by:") + 1 :] if "Caused by:" in lines else []
    return ": ".join([lines[0]] * (not lines[0].startswith("error while executing")) + causes[-1:])


class Guest:
    """An instance of a module: its memory and its functions.

    Raises RuntimeError if the file is no valid module, imports functions other than WASI's, or
    lacks an export.
    """

    def __init__(self, content: bytes) -> None:
        package, engine = _wasmtime(), _engine(os.getpid() != _PROCESS)
        self._errors = (package.WasmtimeError, package.Trap)
        self._failure = ""  # the reason why the module cannot be called any more
        self._store = package.Store(engine)
        weakref.finalize(self, self._store.close)  # also before Python exits, as for the engine
        try:
            module = package.Module(engine, content)
            linker = package.Linker(engine)
            if unknown := [f"{i.module}.{i.name}" for i in module.imports if i.module != _WASI]:
                raise RuntimeError(f"the module imports {unknown[0]}, but its host only has functions of WASI")
            if module.imports:  # without files, arguments and environment variables
                linker.define_wasi()
                self._store.set_wasi(package.WasiConfig())
            self._exports = linker.instantiate(self._store, module).exports(self._store)
        except self._errors as problem:
            raise RuntimeError(_reason(problem)) from None
        self._memory = self._export("memory", package.Memory)
        self._functions = {}
        for name, (arguments, results) in _FUNCTIONS.items():
            function = self._export(name, package.Func)
            found = function.type(self._store)
            if [str(t) for t in (*found.params, *found.results)] != ["i32"] * (arguments + results):
                raise RuntimeError(f"the export '{name}' has another type than the function of hewn's runtime")
            self._functions[name] = function

    def _export(self, name: str, kind: type) -> Any:
        found = self._exports.get(name)
        if not isinstance(found, kind):
            raise RuntimeError(f"the module has no {kind.__name__.lower()} '{name}': it is no model of hewn")
        return found

    def address(self, name: str) -> int:
        """Returns the value of an exported global: the address of data."""
        value = self._export(name, _wasmtime().Global).value(self._store)
        if not isinstance(value, int):
            raise RuntimeError(f"the global '{name}' is no address")
        return value & 0xFFFFFFFF

    def call(self, name: str, *arguments: int) -> int:
        """Calls an exported function with 32-bit integers; returns 0 if it has no result.

        After a trap, all calls fail, because the state of the model is undefined.
        """
        if self._failure:
            raise RuntimeError(f"an earlier call of the module failed ({self._failure}): load the module again")
        try:
            signed = [a - (1 << 32) if a >= 1 << 31 else a for a in arguments]
            return (self._functions[name](self._store, *signed) or 0) & 0xFFFFFFFF
        except self._errors as problem:
            self._failure = _reason(problem)
            raise RuntimeError(f"the WebAssembly module failed: {self._failure}") from None

    def view(self, address: int, size: int) -> np.ndarray:
        """Returns bytes of the memory, in place.

        A call may move the memory: the view is only valid until the next one. Raises RuntimeError
        if they are not within the memory.
        """
        if address < 0 or size < 0 or address + size > self._memory.data_len(self._store):
            raise RuntimeError(f"the module refers to {size} bytes at {address:#x}, outside of its memory")
        if size == 0:
            return np.empty(0, np.uint8)
        return np.frombuffer(self._memory.get_buffer_ptr(self._store, size, address), np.uint8)

    def struct(self, kind: type[CData], address: int) -> CData:
        """Returns a copy of the structure at `address`."""
        return kind.from_buffer_copy(self.view(address, ctypes.sizeof(kind)).data)

    def text(self, address: int) -> bytes:
        """Returns the bytes before the next zero byte."""
        size, limit = 64, self._memory.data_len(self._store) - address
        while True:
            part = self.view(address, min(size, limit)).tobytes()
            if (end := part.find(0)) >= 0:
                return part[:end]
            if size >= limit:
                raise RuntimeError(f"the module refers to a text at {address:#x} that has no end")
            size *= 8

    def allocate(self, size: int, alignment: int = _ALIGNMENT) -> int:
        """Returns the address of new memory, which may move the memory."""
        address = self.call("hewn_wasm_allocate", size, alignment) if size < 1 << 32 else 0
        if address == 0:
            raise RuntimeError(f"the memory of the WebAssembly module has no {size} bytes left")
        return address

    @contextlib.contextmanager
    def frame(self) -> Iterator[Frame]:
        """Yields an allocator whose memory is released at the end."""
        frame = Frame(self)
        try:
            yield frame
        finally:
            for address in reversed([] if self._failure else frame.held):
                self.call("hewn_wasm_release", address)


class Frame:
    """Memory of the module that the host uses for one call."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.held: list[int] = []

    def reserve(self, size: int) -> int:
        """Allocates `size` bytes until the end of the frame and returns their address."""
        self.held.append(self._guest.allocate(max(size, 1)))
        return self.held[-1]

    def put(self, data: Any) -> int:
        """Copies an array, bytes or a struct to the memory, and returns its address."""
        content = data.reshape(-1).view(np.uint8).data if isinstance(data, np.ndarray) else memoryview(bytes(data))
        address = self.reserve(content.nbytes)
        self._guest.view(address, content.nbytes)[:] = content
        return address

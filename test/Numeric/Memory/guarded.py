# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled model with guard pages around every buffer.

`compile_apart` allocates each value of the program separately instead of in the arena. `Guarded`
runs such a library with an allocator whose blocks end, or begin, at an inaccessible page. It fills
new memory with a pattern. Inputs are in such blocks too. An access out of bounds ends the process,
so callers run this in a child process.
"""

import ctypes
import mmap
import os
import re
import tempfile

import hewn
import numpy as np
from interface import ALLOCATE, RELEASE, DLTensor, Options, Status

PAGE = mmap.PAGESIZE
LARGEST = 1 << 28  # limit of one allocation in bytes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Blocks:
    """Allocates memory between guard pages. If `at_end`, a block ends at a guard page, as closely
    as its alignment allows; otherwise it begins after one."""

    def __init__(self, at_end=True, poison=0xA5):
        self.at_end, self.poison, self.live = at_end, poison, {}

    def take(self, size, alignment):
        room = max(1, -(-size // PAGE)) * PAGE
        base = libc.mmap(
            None, room + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
        )
        if base in (None, ctypes.c_void_p(-1).value):
            return None
        libc.mprotect(base, PAGE, 0)
        libc.mprotect(base + PAGE + room, PAGE, 0)
        ctypes.memset(base + PAGE, self.poison, room)
        start = base + PAGE + ((room - size) // alignment * alignment if self.at_end else 0)
        self.live[start] = (base, room, size)
        return start

    def give(self, start):
        base, room, size = self.live.pop(start)
        around = ctypes.string_at(base + PAGE, start - base - PAGE) + ctypes.string_at(
            start + size, base + PAGE + room - start - size
        )
        assert around == bytes([self.poison]) * len(around), "memory beside a buffer was written"
        libc.munmap(base, room + 2 * PAGE)

    def give_all(self):
        for start in list(self.live):
            self.give(start)


CPU = 1  # DLPack's device type
OUT_OF_MEMORY = 2


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def code_of(dtype):
    return 6 if dtype == np.bool_ else {"i": 0, "u": 1, "f": 2}[dtype.kind]


def compile_apart(model, folder, change=lambda text: text):
    """Compiles a model (an onnx.ModelProto) to a library that allocates each value separately.
    Raises hewn.CompileError. `change` edits the text of the plan before code generation."""
    text = hewn._compile(model, emit="plan")
    places = re.compile(r"plan\.places = \[[^\]]*\]")
    apart = places.sub(lambda m: re.sub(r'"arena", [^>]*', '"dynamic", 0 : i64', m[0]), text)
    assert '"arena"' not in "".join(places.findall(apart))
    handle, path = tempfile.mkstemp(suffix=".mlir", dir=folder)
    with os.fdopen(handle, "w") as file:
        file.write(change(apart))
    library = path.replace(".mlir", ".so")
    hewn._compile(path, library)
    return library


class Guarded:
    def __init__(self, library, outputs):
        """Loads a library. `outputs` lists (dtype, rank) of the outputs of its model."""
        self.library, self.outputs = ctypes.CDLL(library), outputs
        self.model = ctypes.addressof(ctypes.c_byte.in_dll(self.library, "hewn_model_main"))
        for name in ("hewn_context_create", "hewn_run"):
            getattr(self.library, name).restype = Status
        self.library.hewn_context_destroy.restype = None
        self.library.hewn_output_release.restype = None

    def run(self, arrays, at_end=True, poison=0xA5):
        blocks = Blocks(at_end, poison)
        allocate = ALLOCATE(lambda user, size, alignment: blocks.take(size, alignment) if size <= LARGEST else None)
        release = RELEASE(lambda user, start: blocks.give(start))
        options = Options(size=ctypes.sizeof(Options), allocate=allocate, release=release)
        context = ctypes.c_void_p()
        status = self.library.hewn_context_create(
            ctypes.c_void_p(self.model), ctypes.byref(options), ctypes.byref(context)
        )
        try:
            if status.code:
                raise Refused(status.code, status.message.decode(errors="replace"))
            return self._run(context, blocks, arrays)
        finally:
            self.library.hewn_context_destroy(context)
            blocks.give_all()

    def _run(self, context, blocks, arrays):
        inputs, outputs, kept = (DLTensor * len(arrays))(), (DLTensor * len(self.outputs))(), []
        for tensor, array in zip(inputs, arrays):
            start = blocks.take(array.nbytes, array.itemsize)
            ctypes.memmove(start, array.ctypes.data, array.nbytes)
            kept.append((ctypes.c_int64 * max(1, array.ndim))(*array.shape))
            self._fill(tensor, start, array.dtype, array.ndim, kept[-1])
        for tensor, (dtype, rank) in zip(outputs, self.outputs):
            kept.append((ctypes.c_int64 * max(1, rank))())
            self._fill(tensor, None, dtype, rank, kept[-1])
        status = self.library.hewn_run(ctypes.c_void_p(self.model), context, inputs, outputs)
        if status.code:
            raise Refused(status.code, status.message.decode(errors="replace"))
        results = []
        for tensor, (dtype, _) in zip(outputs, self.outputs):
            shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
            count = int(np.prod(shape, dtype=object))
            held = ctypes.string_at(tensor.data, count * dtype.itemsize)
            try:
                results.append(np.frombuffer(held, dtype, count).reshape(shape).copy())
            except ValueError:  # no elements, but dims that numpy rejects
                results.append(np.zeros(0, dtype))
            self.library.hewn_output_release(context, ctypes.c_void_p(tensor.data))
        return results

    @staticmethod
    def _fill(tensor, data, dtype, rank, shape):
        tensor.data, tensor.device.type, tensor.ndim = data, CPU, rank
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code_of(dtype), dtype.itemsize * 8, 1
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))

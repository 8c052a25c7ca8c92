# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled program through its pointer interface: y = 4 * x + 3 for some sizes."""

import ctypes
import sys

import numpy as np


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char_p)]


library = ctypes.CDLL(sys.argv[1])
library.hewn_context_create.restype = Status
library.hewn_run_pointers.restype = Status
library.hewn_arena_bytes.restype = ctypes.c_int64
model = ctypes.byref(ctypes.c_char.in_dll(library, "hewn_model_main"))
context = ctypes.c_void_p()
status = library.hewn_context_create(model, None, ctypes.byref(context))
assert status.code == 0, status.message
for n in (1, 7, 1000, 0):
    x = np.arange(n, dtype=np.float32)
    y = np.full(n, -1, dtype=np.float32)
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    outputs = (ctypes.c_void_p * 1)(y.ctypes.data)
    symbols = (ctypes.c_int64 * 1)(n)
    # Two values of n floats in succession.
    assert library.hewn_arena_bytes(model, symbols) == 2 * ((4 * n + 63) // 64 * 64)
    status = library.hewn_run_pointers(model, context, inputs, outputs, None, symbols)
    assert status.code == 0, status.message
    assert (y == 4 * x + 3).all(), y
library.hewn_context_destroy(context)

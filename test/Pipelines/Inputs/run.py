# SPDX-License-Identifier: Apache-2.0
"""run.py LIBRARY NAME=EXPRESSION...: runs a compiled model and prints its outputs, one per line.

EXPRESSION is a Python expression; f32, i64 and b create arrays. The script uses only the C
interface.
"""

import ctypes
import sys

import numpy as np


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char_p)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", DataType),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("formulas", ctypes.c_void_p),
        ("kind", ctypes.c_int32),
        ("element", DataType),
        ("element_rank", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
    ]


class Model(ctypes.Structure):
    _fields_ = [
        ("versions", ctypes.c_uint32 * 2),
        ("texts", ctypes.c_char_p * 3),
        ("runtime", ctypes.c_void_p),
        ("counts", ctypes.c_int32 * 4),
        ("inputs", ctypes.POINTER(Info)),
        ("outputs", ctypes.POINTER(Info)),
    ]


TYPES = {(2, 32): np.float32, (0, 64): np.int64, (6, 8): np.bool_, (0, 32): np.int32}
NAMES = {
    "f32": lambda a: np.array(a, np.float32),
    "i64": lambda a: np.array(a, np.int64),
    "b": lambda a: np.array(a, np.bool_),
}


def describe(array):
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    code = next(code for code, dtype in TYPES.items() if array.dtype == dtype)
    return Tensor(array.ctypes.data, (1, 0), array.ndim, DataType(*code, 1), shape, None, 0)


def read(tensor, info):
    shape = tensor.shape[: info.rank]
    dtype = np.dtype(TYPES[tensor.dtype.code, tensor.dtype.bits])
    count = int(np.prod(shape))
    data = (ctypes.c_char * (count * dtype.itemsize)).from_address(tensor.data)
    return np.frombuffer(data, dtype).reshape(shape)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.hewn_context_create.restype = library.hewn_run.restype = Status
    model = Model.in_dll(library, "hewn_model_main")
    context = ctypes.c_void_p()
    status = library.hewn_context_create(ctypes.byref(model), None, ctypes.byref(context))
    if status.code:
        sys.exit(f"error: {status.message.decode()}")
    given = dict(argument.split("=", 1) for argument in sys.argv[2:])
    arrays = [eval(given[model.inputs[i].name.decode()], NAMES) for i in range(model.counts[0])]
    inputs = (Tensor * max(len(arrays), 1))(*map(describe, arrays))
    outputs = (Tensor * model.counts[1])()
    for output in outputs:
        output.shape = (ctypes.c_int64 * 8)()
    status = library.hewn_run(ctypes.byref(model), context, inputs, outputs)
    if status.code:
        sys.exit(f"error: {status.message.decode()}")
    for i, output in enumerate(outputs):
        value = read(output, model.outputs[i])
        print(f"{model.outputs[i].name.decode()}: {list(value.shape)} {value.reshape(-1).tolist()}")
        library.hewn_output_release(context, ctypes.c_void_p(output.data))
    library.hewn_context_destroy(context)


main()

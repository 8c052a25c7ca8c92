# SPDX-License-Identifier: Apache-2.0
"""The part of PyTorch that tools/benchmark_gpu.py uses. Tensors are NumPy arrays on the host."""

import contextlib
import time
import types

import numpy as np

float64 = np.float64


class Tensor(np.ndarray):
    def cuda(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)

    def to(self, dtype):
        return self.astype(dtype).view(Tensor)


class Event:
    def __init__(self, **options):
        self.time = 0.0

    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.time - self.time) * 1e3


def from_numpy(array):
    return np.ascontiguousarray(array).view(Tensor)


def set_float32_matmul_precision(precision):
    pass


def compile(function, mode):
    if mode == "wrong":
        raise ValueError("no such mode")
    return function


matmul = np.matmul
inference_mode = contextlib.nullcontext
nn = types.SimpleNamespace(functional=None, Module=type("Module", (), {}))
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(allow_tf32=True))
cuda = types.SimpleNamespace(
    Event=Event,
    synchronize=lambda: None,
    current_stream=lambda: types.SimpleNamespace(cuda_stream=0),
    get_device_name=lambda: "a stand-in",
)

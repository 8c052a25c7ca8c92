# SPDX-License-Identifier: Apache-2.0
"""The models of test_emulated.py on a real device: skipped where there is none. In a process without the emulator:

PYTHONPATH=build/dev/python HEWN_TOOLS=build/dev/bin .venv/bin/python -m pytest test/Emulator/test_device.py
"""

import ctypes
import os
import pathlib
import sys

import hewn
import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
from test_ptx import MODELS


def device():
    """The real device's name for --target, or why there is none."""
    if os.environ.get("HEWN_EMULATOR"):
        return None, "the emulator is this process's driver"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as problem:
        return None, f"no driver: {problem}"
    count, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None, "the driver finds no device"
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    exact = {(9, 0): "sm_90a", (10, 0): "sm_100a", (8, 9): "sm_89", (8, 6): "sm_86"}
    return exact.get((major.value, minor.value), "sm_80"), ""


TARGET, WHY = device()


@pytest.mark.skipif(TARGET is None, reason=WHY)
@pytest.mark.parametrize("name", MODELS)
def test_as_on_the_host(name):
    reference, module = hewn.compile(MODELS[name]), hewn.compile(MODELS[name], target=TARGET)
    random = np.random.default_rng(0)
    feeds = {}
    for tensor in reference.inputs:
        shape = [dim if isinstance(dim, int) else 5 for dim in tensor.shape]
        floats = np.dtype(tensor.dtype).kind == "f"
        values = random.standard_normal(shape) if floats else random.integers(0, 100, shape)
        feeds[tensor.name] = values.astype(tensor.dtype)
    want = reference.run(feeds)
    for _ in range(3):  # recorded, then played
        for key, got in module.run(feeds).items():
            tolerance = 2e-3 if got.dtype == np.float16 else 1e-5
            scale = float(np.abs(want[key].astype(np.float64)).max(initial=1e-3))
            np.testing.assert_allclose(got, want[key], rtol=tolerance, atol=tolerance * scale)

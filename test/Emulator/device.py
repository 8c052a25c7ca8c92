# SPDX-License-Identifier: Apache-2.0
"""The real device of this machine: its name for --target, or why there is none."""

import ctypes
import os


def find():
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


TARGET, WHY = find()

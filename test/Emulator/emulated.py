# SPDX-License-Identifier: Apache-2.0
"""Compiles models for GPUs as users do, and runs them with the emulator as the driver.

HEWN_EMULATOR is the path of the emulator's libcuda.so.1. The library stays loaded in the process,
so that hewn does not look for a real driver."""

import contextlib
import ctypes
import os
import pathlib
import tempfile

import hewn
from hewn._custom import CustomOps

DRIVER = ctypes.CDLL(os.environ["HEWN_EMULATOR"], mode=ctypes.RTLD_GLOBAL)
for name in ("allocations", "launches", "graphs", "translations", "host_copies", "objects", "waiting", "fail_at"):
    getattr(DRIVER, f"emulator_{name}").restype = ctypes.c_uint64
DRIVER.emulator_context_create.restype = ctypes.c_void_p


@contextlib.contextmanager
def setting(name, value):
    """Sets HEWN_EMULATOR_<name> to `value` within the context."""
    os.environ[f"HEWN_EMULATOR_{name}"] = value
    try:
        yield
    finally:
        del os.environ[f"HEWN_EMULATOR_{name}"]


MUTATION = []


@contextlib.contextmanager
def mutated(change):
    """Within the context, applies `change` to the LLVM IR of every compiled kernel. `change` must
    modify the text."""
    MUTATION.append(change)
    try:
        yield
    finally:
        MUTATION.pop()


@contextlib.contextmanager
def compiled(model, target="sm_80", dims=None, precision="highest", custom_ops=None):
    """Yields the loaded module of a ModelProto or a path. The library contains PTX; the emulator
    gets the same kernels as LLVM IR."""
    with tempfile.TemporaryDirectory(prefix="hewn-") as folder:
        output = pathlib.Path(folder) / "model.so"
        kernels = output.with_suffix(".ll")
        with setting("CODE", str(kernels)):
            module = None
            for artifact, stage in ((kernels, "llvm"), (output, None)):
                hewn._compile(
                    model,
                    artifact,
                    emit=stage,
                    target=target,
                    dims=dims,
                    precision=precision,
                    transient=True,
                    custom=CustomOps(custom_ops),
                )
            if MUTATION:
                text = kernels.read_text()
                other = MUTATION[-1](text)
                assert other != text
                kernels.write_text(other)
            module = hewn.load(output)
            module.artifact = output
            yield module
            del module

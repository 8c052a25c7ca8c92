# SPDX-License-Identifier: Apache-2.0
"""Models for GPUs on a machine without one: compiled as they are shipped, run with the emulator as the driver.

HEWN_EMULATOR is the path of the emulator's libcuda.so.1. It stays in the process; a real driver is not looked for then.
"""

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
    """HEWN_EMULATOR_<name> is `value`."""
    os.environ[f"HEWN_EMULATOR_{name}"] = value
    try:
        yield
    finally:
        del os.environ[f"HEWN_EMULATOR_{name}"]


MUTATION = []


@contextlib.contextmanager
def mutated(change):
    """The text of kernels compiled meanwhile goes through `change`, which must change it."""
    MUTATION.append(change)
    try:
        yield
    finally:
        MUTATION.pop()


@contextlib.contextmanager
def compiled(model, target="sm_80", dims=None, precision="highest", custom_ops=None):
    """The loaded module of a ModelProto or a path: PTX in the library, the same kernels as LLVM IR for the emulator."""
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

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
from hewn import _hewn

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
def compiled(model, target="sm_80", dims=None, precision="highest"):
    """The loaded module of a ModelProto or a path: PTX in the library, the same kernels as LLVM IR for the emulator."""
    path, data = (
        (os.fspath(model), None) if isinstance(model, (str, os.PathLike)) else (None, model.SerializeToString())
    )
    with tempfile.TemporaryDirectory(prefix="hewn-") as folder:
        output = pathlib.Path(folder) / "model.so"
        kernels = output.with_suffix(".ll")
        bindings = [f"{dim}={value}" for dim, value in (dims or {}).items()]
        with setting("CODE", str(kernels)):
            module = None
            for artifact, stage in ((kernels, "llvm"), (output, None)):
                ok, messages, _ = _hewn.compile(
                    path, data, str(artifact), stage, target, bindings, [], precision, "", 1, True, "", True
                )
                if not ok:
                    raise hewn.CompileError([hewn.Diagnostic(*m) for m in messages])
            if MUTATION:
                text = kernels.read_text()
                other = MUTATION[-1](text)
                assert other != text
                kernels.write_text(other)
            module = hewn.load(output)
            module.artifact = output
            yield module
            del module

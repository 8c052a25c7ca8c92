# SPDX-License-Identifier: Apache-2.0
"""The tests of this folder on other processors, which qemu-user emulates: HEWN_PROCESSOR=Nehalem pytest test/Numeric

Models are compiled here, for the instructions that the processor has, and run there by run_model.c: one that is not its own would be an
illegal one. qemu 7.2, which Debian 12 has, emulates none of AVX-512, and takes its bits from the processors that have it. Of AArch64 its
"max" has all that hewn uses.

Only tensors of numbers go over the pipes. Sequences, optional values and strings are handles, which the runtime's C code works on, the
same on all processors; and a Python function is this process's own. Tests of these are skipped.
"""

import pathlib
import platform
import re
import shutil
import struct
import subprocess
import tempfile
import weakref

import numpy as np
import pytest
from hewn import _hewn

# Of these emulated processors the architecture, and what hewn's code for it may use.
PROCESSORS = {
    "Nehalem": ("x86_64", "x86-64-v2"),
    "Haswell": ("x86_64", "x86-64-v3"),
    "cortex-a57": ("aarch64", "aarch64"),
    "neoverse-n1": ("aarch64", "neoverse-n1"),
    "max": ("aarch64", "neoverse-v2"),
}
# How targets of an architecture begin.
TARGETS = {
    "x86_64": ("x86-64", "portable", "haswell", "skylake", "icelake", "znver", "sapphirerapids"),
    "aarch64": ("aarch64", "cortex", "neoverse", "apple"),
}
# hewn_kind, and DLPack's code of opaque handles, as which strings go.
TENSOR, STRING = 0, 3
# Tests of this folder that are about this machine, by a pattern of their names: none for another architecture's processor.
OF_THIS_MACHINE = {
    "test_custom_ops": "C is compiled for this machine there",
    "test_guarded": "guard pages are this process's",
    "test_matrix_unit": "code for another processor is run in this one's instructions there",
    "test_(the_case_is_taken|each_case_has|cases_share)": "the command line, or this process, reads the library",
}
HERE = pathlib.Path(__file__).parent


def emulator(processor):
    """What goes before a program that is to run on the processor, and how C is compiled for it; or why neither can be."""
    architecture, _ = PROCESSORS[processor]
    qemu = shutil.which(f"qemu-{architecture}")
    if not qemu:
        return None, None, f"no qemu-{architecture} here: Debian's qemu-user has it"
    if architecture == platform.machine():
        return [qemu, "-cpu", processor], [shutil.which("clang-22") or shutil.which("cc")], None
    compiler, libraries = shutil.which("clang-22"), pathlib.Path(f"/usr/{architecture}-linux-gnu")
    if (
        not compiler
        or not (libraries / "lib" / "libc.so.6").exists()
        or not shutil.which(f"{architecture}-linux-gnu-gcc")
    ):
        return None, None, f"no clang-22, or no C library for {architecture}: Debian's gcc-aarch64-linux-gnu brings one"
    compile_c = [compiler, f"--target={architecture}-linux-gnu", "-fuse-ld=lld"]
    return [qemu, "-L", libraries, "-cpu", processor], compile_c, None


def build_runner(folder, compile_c):
    program = pathlib.Path(folder) / "run_model"
    source = HERE / "run_model.c"
    subprocess.run([*compile_c, "-O1", "-I", HERE.parents[1] / "include", source, "-o", program, "-ldl"], check=True)
    return program


def end(process):
    process.kill()
    process.communicate()


class Model:
    """What hewn.Module has in the place of a loaded library (python/extension.cpp), in a process of its own."""

    command = ()
    has_device = False

    def __init__(self, path, threads, device, cache_dir, verify, copy_weights, communicator=None):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*self.command, path, str(threads)], **pipes)
        weakref.finalize(self, end, self.process)
        self.check()
        self.name, self.variant = self.text(), self.text()
        self.variants = [self.variant]
        counts = self.number(), self.number()
        self.inputs, self.outputs = (self.tensors(count) for count in counts)
        self.cases = [(self.text(), self.text() or None, self.tensors(self.number())) for _ in range(self.number())]

    def bytes(self, count):
        data = self.process.stdout.read(count)
        if len(data) != count:
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        return data

    def number(self):
        return struct.unpack("<q", self.bytes(8))[0]

    def text(self):
        return self.bytes(self.number()).decode()

    def check(self):
        code, message = self.number(), self.text()
        if code != 0:
            raise RuntimeError(message)

    def tensors(self, count):
        described = []
        for _ in range(count):
            name, code, bits, kind = self.text(), self.number(), self.number(), self.number()
            if kind != TENSOR or code == STRING:
                pytest.skip(f"'{name}' is no tensor of numbers, which alone go to an emulated processor")
            dims = [self.text() for _ in range(self.number())]
            described.append((name, code, bits, tuple(int(d) if d.isdigit() else d or None for d in dims), kind))
        return described

    def run(self, arrays, into=()):
        if any(array is not None for array in into):
            raise NotImplementedError("a run on an emulated processor writes into arrays of its own")
        for array in arrays:
            header = (array.ndim, *array.shape, array.nbytes)
            self.process.stdin.write(struct.pack(f"<{len(header)}q", *header) + array.tobytes())
        self.process.stdin.flush()
        self.check()
        results = []
        for _ in self.outputs:
            shape = tuple(self.number() for _ in range(self.number()))
            results.append((np.frombuffer(bytearray(self.bytes(self.number())), np.uint8), shape))
        return results


def is_of_this_machine(item, processor):
    """Why a test makes no sense on the processor; None where it does."""
    foreign = PROCESSORS[processor][0] != platform.machine()
    return next((why for pattern, why in OF_THIS_MACHINE.items() if foreign and re.search(pattern, item.nodeid)), None)


def emulate(processor):
    """From here on, hewn.compile and hewn.load are for this processor and on it. Returns why not, where that can't be."""
    command, compile_c, why = emulator(processor)
    if why:
        return why
    architecture, own = PROCESSORS[processor]
    folder = tempfile.TemporaryDirectory(prefix="hewn-")
    weakref.finalize(_hewn, folder.cleanup)
    Model.command = [*command, build_runner(folder.name, compile_c)]
    compile_here = _hewn.compile

    def compile_there(*, target, custom_functions=(), **rest):
        if custom_functions:
            pytest.skip("a Python function is none of the emulated processor's")
        if target != "host" and not target.startswith(TARGETS[architecture]):
            pytest.skip(f"code for {target} is for none of {architecture}'s processors")
        ok, messages, text, report = compile_here(target=own if target == "host" else target, **rest)
        lacks = next((m for m in map(str, messages) if "which this build of hewn lacks" in m), None)
        if lacks and architecture != platform.machine():
            pytest.skip(
                f"pictures and regular expressions stand on libraries that are here for {platform.machine()} alone: {lacks}"
            )
        return ok, messages, text, report

    _hewn.compile, _hewn.Model = compile_there, Model
    return None

# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder on processors that qemu-user emulates: HEWN_PROCESSOR=Nehalem
pytest test/Numeric

Models are compiled in this process for the processor's instruction set and run under the emulator
by run_model.c; an instruction that the processor lacks ends the run with SIGILL. qemu 7.2 (Debian
12) does not emulate AVX-512, and its CPU models without AVX-512 do not report it. For AArch64, its
CPU model "max" has all instructions that hewn uses.

Only numeric tensors pass through the pipes. Tests of sequences, optional values and strings are
skipped: they are handles, processed by the runtime's C code, which is the same on all processors.
Tests of Python functions are skipped too, because the functions exist only in this process.

HEWN_PROCESSOR=wasm32, or wasm32+relaxed, compiles WebAssembly modules and runs them in wasmtime, in
this process, with values of all kinds. Tests that name a target of another architecture are skipped.
"""

import importlib.util
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

# Architecture of each emulated processor, and the hewn target that the tests compile for it.
PROCESSORS = {
    "Nehalem": ("x86_64", "x86-64-v2"),
    "Haswell": ("x86_64", "x86-64-v3"),
    "cortex-a57": ("aarch64", "aarch64"),
    "neoverse-n1": ("aarch64", "neoverse-n1"),
    "max": ("aarch64", "neoverse-v2"),
    "sifive-u54": ("riscv64", "rv64gc"),
}
# A CPU with AMX. qemu does not emulate AMX, so the code runs in this process, translated to the
# instructions of the host (retargeted.py).
RETARGETED = {"SapphireRapids": "sapphirerapids"}
# WebAssembly: modules run in this process, in PyPI's wasmtime (python/hewn/_wasm.py).
WASM = "wasm32"
# Prefixes of target names by architecture.
TARGETS = {
    "x86_64": ("x86-64", "portable", "haswell", "skylake", "icelake", "znver", "sapphirerapids"),
    "aarch64": ("aarch64", "cortex", "neoverse", "apple"),
    "riscv64": ("rv64gc",),
    WASM: (WASM,),
}
# Value of hewn_kind for tensors, and DLPack's type code of opaque handles, by which strings are
# passed.
TENSOR, STRING = 0, 3
# Patterns of the names of tests that depend on the host. They are skipped if the emulated processor
# has another architecture.
OF_THIS_MACHINE = {
    "test_custom_ops": "it compiles C for the host",
    "test_guarded": "guard pages exist only in this process",
    "test_matrix_unit": "it retargets code to the host",
    "test_(the_case_is_taken|each_case_has|cases_share)": "the command line, or this process, loads the library",
}
NARROW = "this target extends narrow weights slowly, so that the compiler stores wider ones than on this machine"
INTEGERS = "this target has no integer dot products, so that the compiler uses float32 where this machine uses int8"
MEAN = "the mean of 2^20 elements is less exact, as on Nehalem"
# Patterns of the names of tests that fail on a processor, with the reasons. A fix removes the line.
FAILS = {
    WASM: {
        r"test_concat_of_many\[1100-1\]": "a function of a WebAssembly module has at most 1000 parameters",
        "test_tiles_that_are_no_number_of_copies": "converting NaN to an integer gives 0, as on AArch64",
        r"test_top_k_of_each_type\[float16": "a Transpose of float16 changes the signs of NaNs, as on Nehalem",
        "test_small_deviation": MEAN,
        r"test_windows\[.*float16-host|test_named_and_by_rule": NARROW,
        r"test_windows_by_weights_alone\[.-.-False-.*-host": NARROW,
        r"test_a_table_that_is_multiplied\[((?!summed).*-float16|both-bfloat16)-host": NARROW,
        r"test_weights_that_grow\[1\]": NARROW,
    },
    "sifive-u54": {
        r"test_top_k_of_each_type\[float16": "a Transpose of float16 changes the signs of NaNs, as on Nehalem",
        "test_small_deviation": MEAN,
        r"test_windows\[.*float16-host|test_named_and_by_rule": NARROW,
        r"test_windows_by_weights_alone\[.-.-False-.*-host": NARROW,
        r"test_a_table_that_is_multiplied\[((?!summed).*-float16|both-bfloat16)-host": NARROW,
        r"test_weights_that_grow\[1\]|test_what_saves_next_to_nothing_stays": NARROW,
        r"test_zero_points_of_filters\[(16-kernel[04]|12-kernel8|6-kernel5)-.*-host": INTEGERS,
        r"test_quantized_transposed_convolution\[host": INTEGERS,
        "test_what_does_most_to_the_outputs_goes_first|test_integers_of_no_use_are_not_taken": INTEGERS,
        "test_the_bound_that_nobody_said_has_a_margin|test_probabilities_are_held_to_more": INTEGERS,
    },
}
HERE = pathlib.Path(__file__).parent


def emulator(processor):
    """Returns the emulator command for the processor, the C compiler command for it, and None. If
    they are not available, returns None, None and the reason."""
    architecture, _ = PROCESSORS[processor]
    qemu = shutil.which(f"qemu-{architecture}")
    if not qemu:
        return None, None, f"qemu-{architecture} is not installed (Debian package: qemu-user)"
    if architecture == platform.machine():
        return [qemu, "-cpu", processor], [shutil.which("clang-22") or shutil.which("cc")], None
    compiler, libraries = shutil.which("clang-22"), pathlib.Path(f"/usr/{architecture}-linux-gnu")
    if (
        not compiler
        or not (libraries / "lib" / "libc.so.6").exists()
        or not shutil.which(f"{architecture}-linux-gnu-gcc")
    ):
        return (
            None,
            None,
            f"clang-22 or the C library for {architecture} is missing (Debian: gcc-{architecture}-linux-gnu)",
        )
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
    """Replaces the loaded library of hewn.Module (python/extension.cpp) by a process that runs
    under the emulator."""

    command = ()
    has_device = False

    def __init__(self, path, threads, device, cache_dir, verify, copy_weights, communicator=None, weights=None):
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
                pytest.skip(f"'{name}' is no numeric tensor; only these are passed to an emulated processor")
            dims = [self.text() for _ in range(self.number())]
            described.append((name, code, bits, tuple(int(d) if d.isdigit() else d or None for d in dims), kind))
        return described

    def run(self, arrays, into=()):
        if any(array is not None for array in into):
            raise NotImplementedError("preallocated outputs are not supported on an emulated processor")
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
    """Returns the reason why a test can't run on this machine for the processor, or None if it
    can."""
    foreign = processor.startswith(WASM) or (processor in PROCESSORS and PROCESSORS[processor][0] != platform.machine())
    return next((why for pattern, why in OF_THIS_MACHINE.items() if foreign and re.search(pattern, item.nodeid)), None)


def fails(item, processor):
    """Returns the reason why a test is known to fail on the processor, or None."""
    known = FAILS.get(WASM if processor.startswith(WASM) else processor, {})
    return next((why for pattern, why in known.items() if re.search(pattern, item.nodeid)), None)


def retarget(own):
    """Makes hewn.compile use the target `own`, which has instructions that this machine lacks.
    Returns the reason if its code can't be translated, otherwise None."""
    import retargeted

    if not retargeted.HAS_V3 or not retargeted.CLANG:
        return "the translation needs clang-22 and a processor with AVX2"
    compile_here = _hewn.compile

    def compile_retargeted(*, target, output=None, emit=None, custom_functions=(), next_sample=None, **rest):
        target = own if target == "host" else target
        is_wider = target.startswith(("x86-64-v4", "icelake-server", "sapphirerapids", "znver4", "znver5"))
        if not is_wider or emit or not output:
            return compile_here(
                target=target,
                output=output,
                emit=emit,
                custom_functions=custom_functions,
                next_sample=next_sample,
                **rest,
            )
        if custom_functions:
            pytest.skip("Python functions can't be linked into translated code")
        samples = []

        def recorded():
            samples.append(next_sample())
            return samples[-1]

        def repeated():
            return samples.pop(0)

        first = recorded if next_sample else None
        result = compile_here(target=target, output=output, emit=None, next_sample=first, **rest)
        if not result[0]:
            return result
        library = pathlib.Path(output)
        weights = library.with_name(library.name + ".weights")
        # A translated library finds its weights file by a name that the text of its LLVM IR
        # contains.
        if weights.exists():
            shutil.copy(weights, library.with_suffix(".weights"))
        again = repeated if next_sample else None
        with tempfile.TemporaryDirectory(prefix="hewn-") as folder:
            # In the text of the LLVM IR, the weights file is named after the output file.
            text = pathlib.Path(folder, library.stem.removeprefix("lib") + ".ll")
            options = rest | {"remarks": ""}
            compile_here(target=target, output=str(text), emit="llvm", next_sample=again, **options)
            retargeted.link(text.read_text(), library)
        return result

    _hewn.compile = compile_retargeted
    return None


def compiles_for(architecture, own):
    """Returns a function like _hewn.compile that compiles for the target `own` where a test compiles
    for the host."""
    compile_here = _hewn.compile

    def compile_there(*, target, custom_functions=(), **rest):
        if custom_functions:
            pytest.skip("Python functions can't run on the emulated processor")
        if target != "host" and not target.startswith(TARGETS[architecture]):
            pytest.skip(f"{target} is no target of {architecture}")
        ok, messages, text, report = compile_here(target=own if target == "host" else target, **rest)
        lacks = next((m for m in map(str, messages) if "which this build of hewn lacks" in m), None)
        if lacks and architecture != platform.machine():
            pytest.skip(f"image and regular expression libraries are installed for {platform.machine()} only: {lacks}")
        return ok, messages, text, report

    return compile_there


def run_in_wasmtime(target):
    """Makes hewn.compile write WebAssembly modules for the target, and hewn.load run them. The tests name their
    files as on this machine (.so). Returns the reason if wasmtime is not installed, else None."""
    if importlib.util.find_spec("wasmtime") is None:
        return "wasmtime is not installed (tools/requirements/tests.txt)"
    from hewn import _wasm

    compile_module = compiles_for(WASM, target)

    def compile_there(*, output=None, emit=None, **rest):
        if emit or not output or not output.endswith(".so"):
            return compile_module(output=output, emit=emit, **rest)
        library = pathlib.Path(output)
        module = library.with_suffix(".wasm")
        result = compile_module(output=str(module), emit=emit, **rest)
        if module.exists():
            module.replace(library)
        # The module finds its weights by their own name, some tests by that of the library's.
        for weights in library.parent.glob(f"{module.name}.weights"):
            name = library.stem.removeprefix("lib") if library.stem.startswith("lib") else library.name
            shutil.copy(weights, library.with_name(f"{name}.weights"))
        return result

    class Module(_wasm.Model):
        """A module, also for tests that compare several numbers of threads."""

        def __init__(self, path, threads, *rest):
            super().__init__(path, 1, *rest)

    _hewn.compile, _hewn.Model = compile_there, Module
    return None


def emulate(processor):
    """Makes hewn.compile and hewn.load use the emulated processor. Returns the reason if it can't
    be emulated, otherwise None."""
    if processor in RETARGETED:
        return retarget(RETARGETED[processor])
    if processor.startswith(WASM):
        return run_in_wasmtime(processor)
    command, compile_c, why = emulator(processor)
    if why:
        return why
    architecture, own = PROCESSORS[processor]
    folder = tempfile.TemporaryDirectory(prefix="hewn-")
    weakref.finalize(_hewn, folder.cleanup)
    Model.command = [*command, build_runner(folder.name, compile_c)]
    _hewn.compile, _hewn.Model = compiles_for(architecture, own), Model
    return None

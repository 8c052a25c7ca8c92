# SPDX-License-Identifier: Apache-2.0
"""Tests one library for many processors: the results of each variant, the loader's choice, and the
code and constants that variants share.

Each variant that this machine supports is selected explicitly. Some of the other variants run after
they are retargeted to this machine (test/Numeric/retargeted.py). x86-64-v2 and v3 also run under
qemu on processors that support exactly this level: any other instruction ends the run with SIGILL,
and the loader must select the variant by CPUID.
"""

import re
import shutil
import subprocess

import hewn
import numpy as np
import pytest
import retargeted
from libraries import MODELS, PORTABLE, build_runner, compile_library, feeds
from sessions import oracle

QEMU = shutil.which("qemu-x86_64")
OBJDUMP = shutil.which("llvm-objdump-22") or "/usr/lib/llvm-22/bin/llvm-objdump"


class Case:
    def __init__(self, folder, name, *flags):
        self.model = MODELS[name]()
        self.folder = folder
        self.library = compile_library(self.model, folder, name, "--target=portable", *flags)
        results = oracle(self.model, feeds(self.model))
        self.want = np.concatenate([np.ravel(r) for r in results])

    def run(self, runner, *variant, before=()):
        """Returns the exit status, the output text, and the output tensors."""
        out = self.folder / "out.bin"
        done = subprocess.run([*before, runner, self.library, "1", out, *variant], capture_output=True, text=True)
        values = np.fromfile(out, np.float32) if done.returncode == 0 else None
        return done.returncode, done.stdout.strip(), values

    def run_or_retarget(self, runner, variant, precision="highest"):
        """Runs a variant of a library and returns its outputs. A variant that this machine does not
        support is retargeted to the instructions of the host."""
        status, said, values = self.run(runner, variant)
        if status == 3:
            assert "this machine lacks" in said
            results = retargeted.compiled(self.model, variant, precision).run(feeds(self.model))
            return np.concatenate([np.ravel(r) for r in results.values()])
        assert (status, said) == (0, variant)
        return values

    def check(self, values, bound):
        assert values.shape == self.want.shape
        assert np.max(np.abs(values - self.want)) <= bound * np.max(np.abs(self.want))


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return build_runner(tmp_path_factory.mktemp("runner"))


@pytest.fixture(scope="module", params=MODELS)
def case(request, tmp_path_factory):
    return Case(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize("variant", PORTABLE)
def test_numbers(case, runner, variant):
    case.check(case.run_or_retarget(runner, variant), 1e-5)


@pytest.mark.parametrize("variant", PORTABLE)
def test_numbers_of_medium(runner, variant, tmp_path):
    case = Case(tmp_path, "layers", "--float32-precision=medium")
    values = case.run_or_retarget(runner, variant, "medium")
    case.check(values, 1e-5 if "bf16" not in variant else 2e-2)


@pytest.mark.parametrize("variant", ["x86-64-v4", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("name", MODELS)
def test_optimized_again(name, variant, tmp_path):
    """Optimizing hewn's code again with LLVM's optimizer changes no bit of the results, because the
    code has no undefined behavior."""
    retargeted.choose()
    model, results = MODELS[name](), {}
    for level in ("-O0", "-O2"):
        (tmp_path / level).mkdir()
        library, _ = retargeted.build(model, tmp_path / level, variant, optimize=level)
        results[level] = hewn.load(library).run(feeds(model))
    for output, want in results["-O0"].items():
        assert results["-O2"][output].tobytes() == want.tobytes(), output


@pytest.mark.skipif(not QEMU, reason="no qemu-x86_64 here: Debian's qemu-user has it")
@pytest.mark.parametrize("machine, variant", [("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")])
def test_on_a_machine_with_nothing_more(case, runner, machine, variant):
    status, said, values = case.run(runner, before=[QEMU, "-cpu", machine])
    assert (status, said) == (0, variant)
    case.check(values, 1e-5)


# Processor that qemu emulates -> the variant that the loader must choose on it. qemu 7.2 removes
# AVX-512 and AMX from its CPU models, and from their CPUID.
LOADED = {
    "x86-64-v3": "Haswell Broadwell Skylake-Client Skylake-Server Cascadelake-Server Cooperlake Icelake-Server EPYC EPYC-Rome EPYC-Milan max",
    "x86-64-v2": "Nehalem Westmere SandyBridge IvyBridge Denverton Snowridge Opteron_G5 Haswell,-avx2 Haswell,-fma EPYC-Milan,-avx",
    None: "qemu64 kvm64 core2duo Conroe Penryn Opteron_G1 Opteron_G3 Nehalem,-popcnt Haswell,-sse4.2",
}


@pytest.mark.skipif(not QEMU, reason="no qemu-x86_64 here: Debian's qemu-user has it")
def test_the_loader_chooses(runner, tmp_path):
    case = Case(tmp_path, "layers")
    for variant, machines in LOADED.items():
        for machine in machines.split():
            status, said, values = case.run(runner, before=[QEMU, "-cpu", machine])
            if variant is None:
                lacks = f"model 'layers' was compiled for {', '.join(PORTABLE)}; this machine lacks x86-64-v2"
                assert (machine, status, said) == (machine, 3, lacks)
            else:
                assert (machine, status, said) == (machine, 0, variant)
                case.check(values, 1e-5)


def instructions(library):
    """Returns the functions of a library as pairs of name and instructions."""
    text = subprocess.run(
        [OBJDUMP, "-d", "--no-show-raw-insn", "--no-leading-addr", library], check=True, capture_output=True, text=True
    ).stdout
    return re.findall(r"^<(.+)>:\n((?:[ \t]+.*\n?)+)", text, re.MULTILINE)


def test_what_all_machines_run_has_no_more_than_all_have(case):
    """Code outside of variants, and code of x86-64-v2, has no AVX instructions; code of x86-64-v3
    has no AVX-512. Runtime functions with the suffix ByAvx2 are called only if the processor has
    AVX2."""
    seen = set()
    for name, body in instructions(case.library):
        if name.endswith("ByAvx2"):
            assert not re.search(r"zmm|%k[0-7]|[xy]mm(1[6-9]|[23]\d)", body), name
            continue
        least = ".x86_64_v" not in name or ".x86_64_v2." in name
        if least:
            assert not re.search(r"^\s+v[a-z]|[yz]mm", body, re.MULTILINE), name
        elif ".x86_64_v3." in name:
            assert not re.search(r"zmm|%k[0-7]|[xy]mm(1[6-9]|[23]\d)", body), name
        seen.add(next((v for v in ("x86_64_v2", "x86_64_v3", "x86_64_v4") if v in name), "none"))
    assert seen == {"x86_64_v2", "x86_64_v3", "x86_64_v4", "none"}


def test_no_lane_calls_the_library(case):
    """On a target without FMA instructions, a fused multiply-add is computed by vectors of float64,
    and fmaf is not called."""
    assert b"fmaf" not in case.library.read_bytes()


def test_constants_are_shared(case, tmp_path):
    """The weights file of a library with all variants is as large as that of a library with one
    variant, except for padding of weight panels that are wider in some variants."""
    name = case.library.stem.removeprefix("lib")
    if name == "integers":
        pytest.skip("machines without VNNI multiply pairs of 16 bits: these weights have two widths")
    one = compile_library(case.model, tmp_path, name, "--target=x86-64-v4").with_name(f"{name}.weights").stat().st_size
    assert case.library.with_name(f"{name}.weights").stat().st_size <= 1.02 * one + 4096


def test_code_is_shared(case, tmp_path):
    """Float kernels are equal from x86-64-v4 on, so a library with five variants has only three
    sets of kernels."""
    one = compile_library(case.model, tmp_path, "one", "--target=x86-64-v4").stat().st_size
    assert case.library.stat().st_size < 4 * one
    owners = {n.split(".")[1] for n, _ in instructions(case.library) if n.endswith(".main")}
    if not case.library.stem.endswith("integers"):
        assert owners == {"x86_64_v2", "x86_64_v3", "x86_64_v4"}

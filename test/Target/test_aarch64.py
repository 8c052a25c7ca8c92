# SPDX-License-Identifier: Apache-2.0
"""Tests libraries for AArch64: file formats, the results of each variant, the loader's choice by
HWCAP, and an archive in a C program.

The libraries run on processors emulated by qemu that support exactly one variant: any other
instruction ends the run with SIGILL. Without qemu or the C library for AArch64, execution is
skipped, but objects are still compiled.
"""

import json
import pathlib
import re
import shutil
import struct
import subprocess

import numpy as np
import processors
import pytest
from libraries import HEWN, MODELS, ROOT, build_runner, compile_library, feeds, members, run_emulated
from sessions import oracle

EM_AARCH64 = 183
CLANG = shutil.which("clang-22") or "clang"
# Processor that qemu emulates -> the variant that the loader must choose on it.
TARGETS = {
    "cortex-a57": "aarch64",
    "cortex-a72": "aarch64",
    "cortex-a76": "neoverse-n1",
    "neoverse-n1": "neoverse-n1",
    "max": "neoverse-v1",
}
ALL = "--target=aarch64,neoverse-v1,neoverse-n1"


def emulated(processor):
    """Returns the emulator command and the C compiler command, or skips the test."""
    before, compile_c, why = processors.emulator("max")
    if why:
        pytest.skip(why)
    return [*before[:-1], processor], compile_c


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return build_runner(tmp_path_factory.mktemp("runner"), emulated("max")[1])


@pytest.fixture(scope="module", params=MODELS)
def library(request, tmp_path_factory):
    emulated("max")
    return request.param, compile_library(
        MODELS[request.param](), tmp_path_factory.mktemp(request.param), request.param, ALL
    )


def run(runner, library, processor, *variant):
    return run_emulated(emulated(processor)[0], runner, library, *variant)


@pytest.mark.parametrize("processor", TARGETS)
def test_the_loader_chooses_and_the_numbers_are_right(library, runner, processor):
    name, path = library
    model = MODELS[name]()
    want = np.concatenate([np.ravel(r) for r in oracle(model, feeds(model))])
    status, said, values = run(runner, path, processor)
    assert (status, said) == (0, TARGETS[processor])
    assert values.shape == want.shape and np.max(np.abs(values - want)) <= 1e-5 * np.max(np.abs(want))


def test_a_processor_that_lacks_something_says_what(runner, tmp_path):
    path = compile_library(MODELS["layers"](), tmp_path, "layers", "--target=neoverse-v1,neoverse-n1")
    status, said, _ = run(runner, path, "cortex-a57")
    assert status == 3
    assert said == "model 'layers' was compiled for neoverse-v1, neoverse-n1; this machine lacks FP16 DotProd"


@pytest.mark.parametrize("kind, least", [(".o", 1), (".a", 40), (".so", 1)])
def test_all_is_for_aarch64(kind, least, tmp_path):
    """All ELF files of an artifact are for AArch64, including the object with embedded weights and
    the objects of the runtime."""
    if kind != ".o":
        emulated("max")
    (tmp_path / "m.onnx").write_bytes(MODELS["layers"]().SerializeToString())
    command = [
        HEWN,
        "compile",
        tmp_path / "m.onnx",
        "--embed-weights",
        "--target=apple-m1",
        "-o",
        tmp_path / f"m{kind}",
    ]
    subprocess.run(command, check=True)
    files = members(tmp_path / f"m{kind}")
    assert len(files) >= least
    for file in files:
        assert file[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", file, 18)[0] == EM_AARCH64


def test_custom_ops_call_the_c_library_of_the_target(tmp_path):
    """A library may call the functions of glibc 2.17. Functions that only the host's C library has
    are undefined symbols."""
    if not processors.emulator("max")[1]:
        pytest.skip(processors.emulator("max")[2])
    model, ops = tmp_path / "m.onnxtxt", tmp_path / "ops.json"
    model.write_text(
        '<ir_version: 10, opset_import: ["" : 18, "t" : 1]>\ng (float[2] x) => (float[2] y) { y = t.Op(x) }'
    )
    definition = {"domain": "t", "name": "Op", "function": "op", "inputs": [{"type": "float32", "dims": ["n"]}]}
    definition["outputs"] = [{"type": "float32", "dims": ["n"]}]
    for called, missing in (("getenv", ""), ("getentropy", "undefined symbols in the library: 'getentropy'")):
        source = tmp_path / f"{called}.c"
        source.write_text(
            f'#include "hewn/custom.h"\nextern void *{called}(void *);\n'
            f"int32_t op(hewn_custom_call *c) {{ return {called}(c) == 0; }}"
        )
        code = source.with_suffix(".o")
        flags = ["--target=aarch64-linux-gnu", "-fPIC", "-ffreestanding", f"-I{ROOT / 'include'}"]
        subprocess.run([CLANG, *flags, "-c", source, "-o", code], check=True)
        ops.write_text(json.dumps({"ops": [definition], "link": [str(code)]}))
        command = [HEWN, "compile", model, "--custom-ops", ops, "--target=aarch64", "-o", tmp_path / "m.so"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode != 0, missing in done.stderr) == (bool(missing), True), done.stderr


def test_an_archive_in_a_c_program(tmp_path):
    """Cross-compiles the example in examples/c, which links an archive, and runs it."""
    before, compile_c = emulated("cortex-a57")
    example, edges = ROOT / "examples/c", tmp_path / "edges"
    subprocess.run(
        [HEWN, "compile", example / "sobel.onnxtxt", "--target=aarch64", "-o", tmp_path / "sobel.a"], check=True
    )
    include = [f"-I{tmp_path}", f"-I{ROOT / 'include'}"]
    subprocess.run([*compile_c, *include, example / "edges.c", tmp_path / "sobel.a", "-lm", "-o", edges], check=True)
    said = subprocess.run([*before, edges], check=True, capture_output=True, text=True).stdout
    assert said == (ROOT / "test/Install/edges.txt").read_text()


@pytest.mark.parametrize("target", ["aarch64", "cortex-a76", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1"])
def test_instructions_of_the_machine_alone(target, tmp_path):
    """Compiled code has no SVE instructions, and no instructions whose HWCAP bit the loader does
    not check, such as ARMv8.1 atomics and rounding doubling multiplies."""
    text = ""
    for name in MODELS:
        (tmp_path / "m.onnx").write_bytes(MODELS[name]().SerializeToString())
        command = [HEWN, "compile", tmp_path / "m.onnx", f"--target={target}", "--emit=asm", "-o", tmp_path / "m.s"]
        subprocess.run(command, check=True)
        text += pathlib.Path(tmp_path / "m.s").read_text()
    words = set(re.findall(r"^\s+([a-z][a-z0-9.]*)\s", text, re.MULTILINE))
    assert "fmla" in words
    assert not {w for w in words if re.match(r"ptrue|whilel|ld1w|st1w|cas|ldadd|swp|sqrdml|ldapr|crc32", w)}
    assert not re.search(r"\bz\d+\.[bhsd]\b", text)
    if target == "aarch64":
        assert not {w for w in words if re.match(r"[su]+dot|bf(dot|ml|mmla|cvt)", w)}

# SPDX-License-Identifier: Apache-2.0
"""Libraries for AArch64: what kind of file they are, each variant's numbers, the loader's choice by HWCAP, an archive in a C program.

They run on processors that qemu emulates, which have nothing more than their variant: an instruction that does not belong there would be
an illegal one. Where qemu or C's library for AArch64 is not here, what runs is skipped; objects are made anyway.
"""

import pathlib
import re
import struct
import subprocess

import numpy as np
import processors
import pytest
from libraries import HEWN, MODELS, ROOT, build_runner, compile_library, feeds
from sessions import oracle

EM_AARCH64 = 183
# What the loader must choose on a processor of qemu's.
TARGETS = {
    "cortex-a57": "aarch64",
    "cortex-a72": "aarch64",
    "cortex-a76": "neoverse-n1",
    "neoverse-n1": "neoverse-n1",
    "max": "neoverse-v1",
}
ALL = "--target=aarch64,neoverse-v1,neoverse-n1"


def emulated(processor):
    """What goes before a program, and how C is compiled for it; skips where it can't run."""
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
    out = library.with_name("out.bin")
    done = subprocess.run(
        [*emulated(processor)[0], runner, library, "1", out, *variant], capture_output=True, text=True
    )
    return done.returncode, done.stdout.strip(), np.fromfile(out, np.float32) if done.returncode == 0 else None


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


def members(path):
    """The ELF files of an object, a library or an archive."""
    data = path.read_bytes()
    if not data.startswith(b"!<arch>\n"):
        return [data]
    found, at = [], 8
    while at < len(data):
        size = int(data[at + 48 : at + 58])
        found += [data[at + 60 : at + 60 + size]] if data[at + 60 :].startswith(b"\x7fELF") else []
        at += 60 + size + size % 2
    return found


@pytest.mark.parametrize("kind, least", [(".o", 1), (".a", 40), (".so", 1)])
def test_all_is_for_aarch64(kind, least, tmp_path):
    """Also the object that holds the weights, and those of the runtime."""
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


def test_an_archive_in_a_c_program(tmp_path):
    """The example of examples/c, as somebody builds it who compiles for another machine."""
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
    """Nothing of SVE, and no instruction that HWCAP is not asked for: atomics of ARMv8.1, products that round and double."""
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

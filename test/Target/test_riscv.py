# SPDX-License-Identifier: Apache-2.0
"""Tests libraries for RISC-V: file formats, results, instructions, and an archive in a C program.

The libraries run on a SiFive U54 that qemu emulates, which has no vector extension. Without qemu or
the C library for RISC-V, execution is skipped, but objects are still compiled.
"""

import re
import struct
import subprocess

import numpy as np
import processors
import pytest
from libraries import HEWN, MODELS, ROOT, build_runner, compile_library, feeds, members, run_emulated
from sessions import oracle

EM_RISCV = 243
# Flags of the ELF header: compressed instructions, and arguments in float64 registers (lp64d).
RVC, FLOAT_ABI_DOUBLE = 1, 4
PROCESSOR = "sifive-u54"


def emulated():
    """Returns the emulator command and the C compiler command, or skips the test."""
    emulator, compile_c, why = processors.emulator(PROCESSOR)
    if why:
        pytest.skip(why)
    return emulator, compile_c


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return build_runner(tmp_path_factory.mktemp("runner"), emulated()[1])


@pytest.mark.parametrize("name", MODELS)
def test_results(name, runner, tmp_path):
    model = MODELS[name]()
    library = compile_library(model, tmp_path, name, "--target=rv64gc")
    want = np.concatenate([np.ravel(r) for r in oracle(model, feeds(model))])
    status, said, values = run_emulated(emulated()[0], runner, library)
    assert (status, said) == (0, "rv64gc")
    assert values.shape == want.shape and np.max(np.abs(values - want)) <= 1e-5 * np.max(np.abs(want))


@pytest.mark.parametrize("kind, least", [(".o", 1), (".a", 40), (".so", 1)])
def test_all_is_for_riscv(kind, least, tmp_path):
    """All ELF files of an artifact have the same machine and ABI, including the object with embedded
    weights and the objects of the runtime: linkers reject a mixture."""
    if kind != ".o":
        emulated()
    (tmp_path / "m.onnx").write_bytes(MODELS["layers"]().SerializeToString())
    command = [HEWN, "compile", tmp_path / "m.onnx", "--embed-weights", "--target=rv64gc@linux"]
    subprocess.run([*command, "-o", tmp_path / f"m{kind}"], check=True)
    files = members(tmp_path / f"m{kind}")
    assert len(files) >= least
    for file in files:
        assert file[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", file, 18)[0] == EM_RISCV
        assert struct.unpack_from("<I", file, 48)[0] == RVC | FLOAT_ABI_DOUBLE


def test_an_archive_in_a_c_program(tmp_path):
    """Cross-compiles the example in examples/c, which links an archive, and runs it."""
    emulator, compile_c = emulated()
    example, edges = ROOT / "examples/c", tmp_path / "edges"
    model = example / "sobel.onnxtxt"
    subprocess.run([HEWN, "compile", model, "--target=rv64gc", "-o", tmp_path / "sobel.a"], check=True)
    include = [f"-I{tmp_path}", f"-I{ROOT / 'include'}"]
    subprocess.run([*compile_c, *include, example / "edges.c", tmp_path / "sobel.a", "-lm", "-o", edges], check=True)
    said = subprocess.run([*emulator, edges], check=True, capture_output=True, text=True).stdout
    assert said == (ROOT / "test/Install/edges.txt").read_text()


def test_instructions_of_the_baseline(tmp_path):
    """Compiled code has fused multiplications, and no instructions of the extensions V, Zfh and
    Zba, which rv64gc does not include."""
    words = set()
    for name in MODELS:
        (tmp_path / "m.onnx").write_bytes(MODELS[name]().SerializeToString())
        command = [HEWN, "compile", tmp_path / "m.onnx", "--target=rv64gc", "--emit=asm", "-o", tmp_path / "m.s"]
        subprocess.run(command, check=True)
        words |= set(re.findall(r"^\s+([a-z][a-z0-9.]*)\s", (tmp_path / "m.s").read_text(), re.MULTILINE))
    assert "fmadd.s" in words
    assert not {w for w in words if re.match(r"v[a-z0-9]+\.v|vset|f\w+\.h$|flh|fsh|sh[123]add|[cz]pop", w)}

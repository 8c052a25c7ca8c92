# SPDX-License-Identifier: Apache-2.0
"""Runs ptxas, NVIDIA's PTX assembler, if it is installed: by tools/setup or by a CUDA toolkit."""

import pathlib
import re
import shutil
import subprocess
import sysconfig
from typing import NamedTuple

import pytest


def find_ptxas():
    package = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "ptxas"
    return str(package) if package.exists() else shutil.which("ptxas")


PTXAS = find_ptxas()
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed: tools/setup gets it from PyPI")


class Used(NamedTuple):
    """Resources of a kernel as ptxas reports them: registers per thread, spilled bytes per thread,
    and bytes of shared memory."""

    registers: int
    spills: int
    shared: int


def assemble(text, machine, folder):
    """Assembles a PTX text. Returns the resources of each kernel by its name."""
    path = pathlib.Path(folder) / "kernels.ptx"
    path.write_text(text)
    command = [PTXAS, "-v", f"-arch={machine}", str(path), "-o", str(path.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[:2000]
    # ptxas prints this warning if it serializes warpgroup MMAs.
    assert "Potential Performance Loss" not in said, said[:2000]
    kernels = {}
    for part in re.split(r"Compiling entry function '", said)[1:]:
        registers = re.search(r"Used (\d+) registers", part)
        spills = re.search(r"(\d+) bytes spill stores", part)
        shared = re.search(r"(\d+) bytes smem", part)
        kernels[part.split("'")[0]] = Used(int(registers[1]), int(spills[1]), int(shared[1]) if shared else 0)
    return kernels

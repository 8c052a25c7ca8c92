#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Analyzes the inner loops of matmul kernels with llvm-mca and prints a table of docs/measured/aarch64-loops.md.

    HEWN_TOOLS=build/dev/bin .venv/bin/python tools/measure/inner_loops.py

A row is a matmul of 100 x 256 by 256 x 1024, compiled for a processor, for which llvm-mca uses
LLVM's scheduling model. Columns: vector FMA or dot-product instructions per iteration of the
innermost loop, cycles per iteration in a sequence of a hundred iterations, cycles of these
instructions without the rest of the loop, and the ratio of the two numbers of cycles.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/Target"), str(ROOT / "test/Numeric")]
import test_inner_loops as inner  # noqa: E402

FLOATS, BYTES = inner.product(100, 256, 1024), inner.integers(100, 256, 1024)
ROWS = [
    *(
        ("float32", FLOATS, [], m, "fmla")
        for m in ("cortex-a76", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1")
    ),
    *(("bytes", BYTES, [], m, "dot") for m in ("cortex-a76", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1")),
    *(("bfloat16", FLOATS, ["--float32-precision=medium"], m, "bfdot") for m in ("neoverse-v1", "neoverse-v2")),
]


def cycles(lines: Sequence[str], machine: str, folder: pathlib.Path) -> float:
    """Returns the cycles per iteration that llvm-mca estimates for a loop body."""
    block = folder / "block.s"
    block.write_text("\n".join(lines) + "\n")
    command = [inner.MCA, f"-mcpu={machine}", "-mtriple=aarch64", "-iterations=100", block]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (total,) = re.findall(r"Total Cycles:\s*(\d+)", said)
    return int(total) / 100


def main() -> None:
    """Prints the table."""
    print("| products of | machine | in a trip | cycles | alone | share |\n| --- | --- | --- | --- | --- | --- |")
    for what, model, flags, machine, instruction in ROWS:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            bodies = inner.loops(inner.assemble(model, folder, machine, *flags))
            body = max(bodies, key=lambda b: sum(instruction in line for line in b))
            body = [line for line in body if not re.match(inner.BRANCH, line)]
            products = [line for line in body if instruction in line]
            whole, alone = cycles(body, machine, folder), cycles(products, machine, folder)
        print(f"| {what} | {machine} | {len(products)} | {whole:.1f} | {alone:.1f} | {100 * alone / whole:.0f} % |")


if __name__ == "__main__":
    main()

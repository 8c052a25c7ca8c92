#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/generated/status.md.

The page lists the features that each target supports, and the number of ops of each ONNX domain
that compile.

tools/generate/status.py --hewn build/dev/bin/hewn [--check]

The instructions of a target come from its `plan.target`, which `hewn compile --emit=kernels`
prints. The counts of ops come from docs/generated/onnx-support.md, which onnx_table.py writes
from the ONNX records.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/generated/status.md"
OPS = ROOT / "docs/generated/onnx-support.md"
MODEL = '<ir_version: 8, opset_import: ["" : 17]> m (float[4] x) => (float[4] y) { y = Relu(x) }\n'
YES, NO = "✓", "-"

TEXT = """# Status

Written by `tools/generate/status.py` from the target descriptions and the op records; a test compares it with a fresh run.

## Targets

- *float16*: `load, store` means that values are converted to float32 in registers and computed there.
- *bfloat16 GEMM*: `float` means that operands are converted to float32 and multiplied there.
- *int8 GEMM*: `exact` means one instruction that accumulates int8 products in int32. `pairs` means operands extended to int16.

{targets}

CPU kernels run on the runtime's thread pool or on the application's threads. GPU kernels run on the thread blocks of a device.
Every target compiles the ops of [the op table](onnx-support.md), except for what the next table excludes.

## Features

{features}

## ONNX ops

{ops}

All versions from opset 1 on: [ops](onnx-support.md), [refused element types](onnx-types.md). An op without a record
compiles if ONNX defines it by a function body.
"""

#: Features that `plan.target` does not list, and whether they work on x86, AArch64, RISC-V,
#: WebAssembly and NVIDIA.
FEATURES = [
    ("Vector instructions", YES, YES, "scalars", YES, YES, "RISC-V: extension V"),
    ("Symbolic dims, ranges, specialized sizes", YES, YES, YES, YES, YES, ""),
    ("`If`, `Loop`, `Scan`", YES, YES, YES, YES, YES, "NVIDIA: `Loop` is not one kernel"),
    ("Strings, sequences, optional values, maps", YES, YES, YES, YES, YES, "inputs that are sequences of maps"),
    ("ai.onnx.ml", YES, YES, YES, YES, YES, "maps"),
    ("ImageDecoder, RegexFullMatch", YES, "native compiles", NO, NO, YES, "not when cross-compiled"),
    ("Custom ops in C", YES, YES, YES, YES, "on the host", ""),
    ("Fused attention", YES, YES, YES, YES, YES, "NVIDIA: no warpgroup MMA"),
    ("Winograd 3x3 convolution", YES, YES, YES, YES, NO, ""),
    ("Quantized models (QDQ, QLinear*, MatMulNBits)", YES, YES, YES, YES, YES, ""),
    ("Packed 2-, 4- and 8-bit weights", YES, YES, YES, YES, NO, "convolutions below 8 bits"),
    ("Codebook weights", YES, YES, YES, YES, NO, ""),
    ("Several instruction sets in a library", YES, YES, NO, NO, NO, ""),
    ("Tensor and pipeline parallelism", YES, YES, "untested", NO, "emulated only", ""),
    ("Tuning (`hewn tune`)", YES, YES, NO, NO, NO, ""),
    (
        "Tested on",
        "hardware",
        "qemu",
        "qemu",
        "wasmtime",
        "emulator; H200 once",
        "[processors](../measured/tested-processors.md)",
    ),
]


def found(pattern: str, text: str) -> str:
    """Returns the first group of the first match; exits with an error if there is none."""
    match = re.search(pattern, text)
    return match[1] if match else sys.exit(f"status: no match of {pattern} in the output of hewn:\n{text}")


def run(hewn: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `hewn` and captures its output."""
    return subprocess.run([hewn, *map(str, arguments)], capture_output=True, text=True)


def target_names(hewn: str, model: pathlib.Path) -> list[str]:
    """Returns the names that `--target` accepts.

    They are part of the error message about an unknown name.
    """
    text = run(hewn, "compile", model, "--target=unknown", "-o", "/dev/null").stderr
    names = found(r"there are: ([^;]+);", text).split(", ")
    return [name for name in names if name not in ("host", "portable")]


def threads(hewn: str, name: str) -> str:
    """Returns whether the default platform of the target `name` has threads."""
    text = run(hewn, "help", "targets").stdout
    platform = found(rf"(?m)^\| `{re.escape(name)}` \|.*\| (\w+)[^|]*\|$", text)
    return YES if re.search(rf"^\| `{platform}` \| yes \|", text, re.MULTILINE) else NO


def describe(hewn: str, model: pathlib.Path, name: str) -> list[str]:
    """Returns the table row of the target `name`."""
    text = run(hewn, "compile", model, f"--target={name}", "--emit=kernels", "-o", "-").stdout
    target = text.splitlines()[0]
    products = set(re.findall(r"<left = (\w+), right = (\w+), sum = (\w+)(, rows)?", target))
    is_gpu = "warpSize" in target
    bits = 8 * int(found(r"vectorBytes = (\d+)", target))
    unit = "AMX" if any(rows for *_, rows in products) else NO
    dots = {(left, right, total) for left, right, total, rows in products if not rows}
    if is_gpu:
        unit = "warpgroup MMA" if re.search(r"warpgroupProductsPerCycle", target) else "MMA"
        return [f"`{name}`", "tensor cores", YES, YES, YES, unit, threads(hewn, name)]
    exact = any(left in ("ui8", "i8") and total == "i32" for left, _, total in dots)
    has_bf16 = any(left == "bf16" for left, *_ in products)
    return [
        f"`{name}`",
        f"{bits}-bit",
        "load, store" if "hasHalfConversions = true" in target else "software",
        YES if has_bf16 else "float",
        "exact" if exact else "pairs",
        unit,
        threads(hewn, name),
    ]


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Returns a Markdown table."""
    return "\n".join(
        [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads), *(f"| {' | '.join(row)} |" for row in rows)]
    )


def op_counts() -> list[list[str]]:
    """Returns a table row for each ONNX domain, with the number of its ops that have a record."""
    found = collections.defaultdict(set)
    for op, domain in re.findall(r"^\| (\w+) \| ([\w.]+) \| \d", OPS.read_text(), re.MULTILINE):
        found[domain].add(op)
    return [[f"`{domain}`", str(len(ops))] for domain, ops in sorted(found.items())]


def page(hewn: str) -> str:
    """Returns the page, for which the compiler `hewn` describes each target."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "m.onnxtxt"
        model.write_text(MODEL)
        targets = [describe(hewn, model, name) for name in target_names(hewn, model)]
    heads = ["target", "vectors, cores", "float16", "bfloat16 GEMM", "int8 GEMM", "matrix unit", "threads"]
    features = [list(row) for row in FEATURES]
    return TEXT.format(
        targets=table(heads, targets),
        features=table(["feature", "x86-64", "AArch64", "RISC-V", "WebAssembly", "NVIDIA", "missing"], features),
        ops=table(["domain", "ops"], op_counts()),
    )


def main() -> None:
    """Writes the page, or compares it with a fresh one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hewn", required=True, help="the command that prints the target descriptions")
    parser.add_argument("--check", action="store_true", help="fail if the page differs from a fresh one")
    said = parser.parse_args()
    fresh = page(said.hewn)
    if not said.check:
        PAGE.write_text(fresh)
    elif PAGE.read_text() != fresh:
        sys.exit(f"error: {PAGE} is out of date; run tools/generate/status.py --hewn {said.hewn}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the code that two builds of the compiler generate.

    tools/measure/same_code.py BEFORE AFTER [--targets LIST] [--dim NAME=SIZE] [--show LINES] [--jobs N] MODEL.onnx ...

BEFORE and AFTER are build folders (build/dev) of two source trees. Each model is compiled by both
compilers for each target. Compares:

- the object file, in which the artifact's id is masked. The runtime library is not part of it.
- the weights file and the C header, in which the id is masked.

If the compilers refuse a model, their diagnostics are compared. If object files differ, compiles
both to assembler text and compares it by code unit (kernel, program, descriptor). Prints the names of units that differ, exist only once or are in another
order, and with --show the first lines of their differences. For GPUs, units are the functions of
the PTX text.

Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TARGETS = "x86-64-v2,x86-64-v3,x86-64-v4,portable,aarch64,neoverse-v2,sm_80,sm_90a"


@dataclasses.dataclass
class Compiled:
    """The files of an artifact, or the diagnostics of a compile that failed."""

    object: bytes = b""
    weights: bytes = b""
    header: str = ""
    error: str = ""


def run(tree: pathlib.Path, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the `hewn` of a build folder and captures its output."""
    command = [str(tree / "bin/hewn"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False)


@dataclasses.dataclass
class Side:
    """One of the two compiles that are compared: a build folder, and the input with its flags."""

    tree: pathlib.Path
    input: pathlib.Path
    flags: list[str]

    def compile(self, target: str, *more: object) -> subprocess.CompletedProcess[bytes]:
        """Compiles the model of this side."""
        return run(self.tree, "compile", self.input, f"--target={target}", *self.flags, *more)


def masked(data: bytes, digest: str) -> bytes:
    """Returns `data` without the build ID."""
    return data.replace(digest.encode(), b"0" * len(digest)) if digest else data


def compiled(side: Side, target: str) -> Compiled:
    """Compiles a model to an object file in a scratch folder."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "model.o"
        done = side.compile(target, "-o", out)
        if done.returncode:
            return Compiled(error=done.stderr.decode(errors="replace") or f"exit status {done.returncode}")
        about = json.loads(run(side.tree, "info", "--json", out).stdout)
        digest = about["models"][0]["digest"]
        weights = out.with_name("model.o.weights")
        return Compiled(
            masked(out.read_bytes(), digest),
            weights.read_bytes() if weights.exists() else b"",
            masked(out.with_name("model.h").read_bytes(), digest).decode(),
        )


def units(text: str, is_device: bool) -> dict[str, str]:
    """Splits the text of `--emit=asm` or `--emit=ptx` into code units.

    Units of one name (the program and the descriptor) are numbered.
    """
    start = r"(?m)^(?=\.visible |\.func |\.entry )" if is_device else r"(?m)^(?=\t\.file\t\")"
    found: dict[str, str] = {}
    for part in re.split(start, text):
        name = re.search(
            r"(?:\.entry|\.func)\s+(?:\([^)]*\)\s*)?([\w$]+)" if is_device else r'\t\.file\t"([^"]*)"', part
        )
        key = name[1] if name else "preamble"
        number = sum(known.split("#")[0] == key for known in found)
        found[f"{key}#{number}" if number else key] = part
    return found


def text_units(side: Side, target: str) -> dict[str, str]:
    """Returns the assembly or PTX of a model by function."""
    is_device = target.startswith("sm_")
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "model.txt"
        stage = "ptx" if is_device else "asm"
        done = side.compile(target, f"--emit={stage}", "-o", out)
        if done.returncode:
            return {"error": done.stderr.decode(errors="replace")}
        # the id of an artifact has 40 hexadecimal digits, and is the only such text
        return units(re.sub(r'"[0-9a-f]{40}\\?', '"' + "0" * 40, out.read_text()), is_device)


@dataclasses.dataclass
class Difference:
    """A difference between two outputs: a title and the lines of a diff."""

    title: str
    lines: list[str]


def text_difference(title: str, before: str, after: str) -> Difference | None:
    """Returns the difference of two texts, or None if they are equal."""
    if before == after:
        return None
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=2, lineterm="")
    return Difference(title, list(lines))


def compare(sides: tuple[Side, Side], target: str) -> tuple[list[Difference], str]:
    """Returns the differences, and the diagnostics if both compilers refuse the model."""
    before, after = (compiled(side, target) for side in sides)
    if before.error or after.error:
        error = text_difference("diagnostics differ", before.error, after.error)
        return [error] if error else [], before.error
    found = [text_difference("header", before.header, after.header)]
    if before.weights != after.weights:
        sizes = f"{len(before.weights)} and {len(after.weights)} bytes"
        found.append(Difference("weights", [sizes]))
    if before.object != after.object:
        old, new = (text_units(side, target) for side in sides)
        changed = []
        for name in {**old, **new}:
            if name not in new or name not in old:
                changed.append(Difference(f"unit {name}: only {'before' if name in old else 'after'}", []))
            else:
                difference = text_difference(f"unit {name}", old[name], new[name])
                changed += [difference] if difference else []
        if list(old) != list(new) and sorted(old) == sorted(new):
            changed.append(Difference("order of units", []))
        found += changed
        if not any(changed):
            found.append(Difference("object file: other bytes, equal assembler text", []))
    return [difference for difference in found if difference], ""


def report(title: str, found: list[Difference], refusal: str, show: int) -> None:
    """Prints the result of `compare`, with the first `show` lines of each difference."""
    if refusal and not found:
        print(f"{title}: both refuse it: {refusal.strip().splitlines()[0]}")
    for difference in found:
        print(f"{title}: {difference.title}")
        for line in difference.lines[:show]:
            print(f"    {line}")
    sys.stdout.flush()


def main() -> None:
    """Compares the code of two builds for the models, and exits with an error if it differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--show", type=int, default=0, metavar="LINES", help="lines of each difference to print")
    parser.add_argument("--jobs", type=int, default=2, help="number of compiles that run at the same time")
    said = parser.parse_args()
    for tree in (said.before, said.after):
        if not (tree / "bin/hewn").is_file():
            parser.error(f"'{tree}' has no bin/hewn")
    flags = [f"--dim={dim}" for dim in said.dim]

    def work(pair: tuple[pathlib.Path, str]) -> tuple[list[Difference], str]:
        model, target = pair
        return compare((Side(said.before, model, flags), Side(said.after, model, flags)), target)

    begin, differing, refused = time.monotonic(), 0, 0
    pairs = [(model, target) for model in said.models for target in said.targets.split(",")]
    with concurrent.futures.ThreadPoolExecutor(said.jobs) as pool:
        for (model, target), (found, refusal) in zip(pairs, pool.map(work, pairs)):
            differing += bool(found)
            refused += bool(refusal and not found)
            report(f"{model.stem} {target}", found, refusal, said.show)
    equal, seconds = len(pairs) - differing - refused, time.monotonic() - begin
    print(f"{len(pairs)} artifacts: {equal} equal, {differing} differ, {refused} refused ({seconds:.0f} s)")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

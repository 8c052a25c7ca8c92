#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles models stage by stage with hewn-opt, and compares the code with that of the driver.

    tools/measure/stage_by_stage.py BUILD [--targets LIST] [--dim NAME=SIZES] [--show LINES] MODEL.onnx ...

BUILD is a build folder (build/dev). A model is compiled twice for each target:

- by `hewn compile MODEL.onnx`
- by one process for each stage: `hewn compile --emit=import`, hewn-opt for the graph, kernels, loops
  and plan stages and for persistent kernels, and `hewn compile x.mlir`. From one process to the next
  go two files, the text and its weights.

Object, weights and header must be equal, as same_code.py compares them. Exits with 1 if anything
differs.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import same_code

TARGETS = "x86-64-v3,portable,sm_90a"
STAGES = ["hewn-graph-stage", "hewn-kernels-stage", "hewn-loops-stage", "hewn-plan-stage"]


class StageError(Exception):
    """A stage failed. The text is the diagnostics."""


def pipelines(target: str, shared: str) -> list[str]:
    """Returns the pipelines of the stages on the programs of an artifact.

    `shared`: the pass that adds the variants. With one target, it runs before the graph stage,
    which then knows the target; the graph stage of several targets is shared.
    """
    inner = [f"builtin.module({stage})" for stage in STAGES]
    is_single = "," not in target and target != "portable"
    inner[0 if is_single else 1] = f"{shared},{inner[0 if is_single else 1]}"
    if target.startswith("sm_"):
        inner.append("builtin.module(hewn-form-persistent-kernels)")
    return inner


def checked(command: list[object], folder: pathlib.Path) -> None:
    """Runs a command and raises StageError if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StageError(f"{' '.join(map(str, command))}: {done.stderr}")


def run_stages(build: pathlib.Path, model: pathlib.Path, target: str, flags: list[str], folder: pathlib.Path) -> int:
    """Runs all stages up to the plan, each in a process of its own.

    Returns the number N of the last text, `folder`/N.mlir; its weights are in N.safetensors.
    """
    command = [build / "bin/hewn", "compile", model, f"--target={target}", *flags]
    checked([*command, "--emit=import", "-o", "0.mlir", "--save-weights=0.safetensors"], folder)
    number = 0
    for pipeline in pipelines(target, f"hewn-add-variants{{target={target}}}"):
        # the text of an artifact with one program is this program, until variants are added
        is_program = not re.search(r"^  module", (folder / f"{number}.mlir").read_text(), re.MULTILINE)
        if is_program and "hewn-add-variants" not in pipeline:
            pipeline = pipeline.removeprefix("builtin.module(").removesuffix(")")
        before, number = number, number + 1
        whole = (
            f"builtin.module(hewn-load-weights{{file={before}.safetensors}},{pipeline},"
            f"hewn-save-weights{{file={number}.safetensors}})"
        )
        opt = [build / "bin/hewn-opt", f"{before}.mlir", f"--pass-pipeline={whole}", "-o", f"{number}.mlir"]
        checked([*opt, "--mlir-print-debuginfo", "--mlir-print-local-scope"], folder)
    return number


def compare(
    build: pathlib.Path, model: pathlib.Path, target: str, flags: list[str]
) -> tuple[list[same_code.Difference], str]:
    """Returns the differences, and the diagnostics if both ways refuse the model."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        direct = same_code.Side(build, model, flags)
        try:
            last = folder / f"{run_stages(build, model, target, flags, folder)}.mlir"
        except StageError as error:
            refused = direct.compile(target, "-o", folder / "model.o")
            if refused.returncode:
                return [], refused.stderr.decode(errors="replace")
            return [same_code.Difference("a stage failed", str(error).splitlines())], ""
        staged = same_code.Side(build, last, [f"--weights={last.with_suffix('.safetensors')}"])
        return same_code.compare((direct, staged), target)


def main() -> None:
    """Compares the stages of the models, and exits with an error if they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZES")
    parser.add_argument("--show", type=int, default=0, metavar="LINES", help="lines of each difference to print")
    said = parser.parse_args()
    build, differing, refused, count = said.build.resolve(), 0, 0, 0
    if not (build / "bin/hewn-opt").is_file():
        parser.error(f"'{said.build}' has no bin/hewn-opt")
    for model in said.models:
        for target in said.targets.split(","):
            found, refusal = compare(build, model.resolve(), target, [f"--dim={dim}" for dim in said.dim])
            same_code.report(f"{model.stem} {target}", found, refusal, said.show)
            differing += bool(found)
            refused += bool(refusal and not found)
            count += 1
    print(f"{count} artifacts: {count - differing - refused} equal, {differing} differ, {refused} refused")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the schedules that the cost model chooses with the best that `hewn tune` finds.

Prints the table of docs/decisions/tuning.md.

    schedule_gaps.py [--targets host,x86-64-v3] [--budget 30] [--keep DIR] [--write] MODEL.onnx...

Prints a line per model and target: the number of distinct kernels with several schedules, how many
of them are more than 3 % slower than with their best schedule, and the slowdown by the cost model's
choice: its geometric mean, its mean weighted by time, and its maximum. A model and target whose
result is already stored in the folder --keep is not measured again. --write writes the table into
the page, between its markers.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from pages import write_between

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/decisions/tuning.md"


def tune(model: pathlib.Path, target: str, budget: float, folder: pathlib.Path) -> dict[str, Any]:
    """Returns the record of `hewn tune --json` (docs/reference/json.md).

    Stores the record in `folder`, too.
    """
    kept = folder / f"{model.stem}.{target}.json"
    if not kept.exists():
        command = ["hewn", "tune", str(model), "--target", target, "--budget", str(budget), "--json"]
        command += ["-o", str(folder / f"{model.stem}.{target}.tune")]
        kept.write_text(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return json.loads(kept.read_text())


def gaps_of(record: dict[str, Any]) -> list[tuple[float, float]]:
    """Returns the slowdown of the cost model's schedule and the share of the run time by kernel.

    The result has one entry for each distinct kernel.
    """
    return [(k["model_microseconds"] / k["microseconds"], k["share"]) for k in record["kernels"]]


def row_of(name: str, target: str, gaps: Sequence[tuple[float, float]]) -> str:
    """Returns the table row of a model on a target."""
    mean = math.exp(sum(math.log(gap) for gap, _ in gaps) / len(gaps))
    weight = sum(share for _, share in gaps)
    weighted = math.exp(sum(math.log(gap) * share for gap, share in gaps) / weight)
    cells = [name, target, len(gaps), sum(gap > 1.03 for gap, _ in gaps)]
    percent = [f"{100 * (value - 1):.1f} %" for value in (mean, weighted, max(gap for gap, _ in gaps))]
    return "| " + " | ".join(map(str, cells + percent)) + " |"


def main() -> None:
    """Tunes the models and prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--targets", default="host,x86-64-v3")
    parser.add_argument("--budget", type=float, default=30, help="seconds per model and target")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for records and tunings")
    parser.add_argument("--write", action="store_true", help="write the table into docs/decisions/tuning.md")
    options = parser.parse_args()
    lines = [
        "| model | target | kernels | over 3 % | mean | by time | worst |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for target in options.targets.split(","):
            everything = []
            for model in options.models:
                gaps = gaps_of(tune(model, target, options.budget, folder))
                everything += gaps
                if gaps:
                    lines.append(row_of(model.stem, target, gaps))
                    print(lines[-1], flush=True)
            if everything:
                lines.append(row_of("all", target, everything))
                print(lines[-1], flush=True)
    if options.write:
        write_between(PAGE, "schedule-gaps", lines)


if __name__ == "__main__":
    main()

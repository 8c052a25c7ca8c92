#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the times that `hewn explain --cluster` estimates with measured times.

The times are of several ranks on this machine, for the table of docs/decisions/partition.md.

    tools/measure/partition_model.py resnet50.onnx bert.onnx --ranks 1 2 4 --dim seq=128

A measured time is the fastest run of `hewn bench`, over shared memory and, with `--mpi
mpirun.openmpi`, over MPI; the libraries are measured alternately. hewn measures the rates of the
processor for the estimate; latency and bandwidth of links are those that `build/dev/bin/Transports`
measures. If there are more ranks than cores, the estimated compute time is multiplied by their
ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def hewn(*arguments: object, launcher: Sequence[str] = ()) -> str:
    """Runs `hewn` and returns its output."""
    tool = Path(os.environ.get("HEWN_TOOLS", Path(sys.executable).parent)) / "hewn"
    command = [*launcher, str(tool), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def main() -> None:
    """Prints the table of estimated and measured times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--latency", type=float, default=0.7e-6, help="seconds")
    parser.add_argument("--bandwidth", type=float, default=2.5e10, help="bytes per second")
    parser.add_argument("--efficiency", type=float, default=0.8)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--mpi", help="launcher, for example mpirun.openmpi")
    given = parser.parse_args()
    link = f"latency: {given.latency}, bandwidth: {given.bandwidth}"
    machine = (
        f"{{devices_per_node: {max(given.ranks)}, within: {{{link}}}, device: {{efficiency: {given.efficiency}}}}}"
    )
    dims = [word for dim in given.dim for word in ("--dim", dim)]
    cores = len(os.sched_getaffinity(0))
    print(f"{'model':24} {'ranks':>5} {'estimate':>9} {'measured':>9} {'off':>6} {'MPI':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for model in given.models:
            for ranks in given.ranks:
                split = ("--partition", f"tensor={ranks}")
                said = json.loads(hewn("explain", model, *split, "--cluster", machine, "--json", *dims))
                (stage,) = said["partition"]["ways"][0]["stages"]
                turns = max(1, ranks / cores)
                expected = stage["computing_milliseconds"] * turns + stage["meeting_milliseconds"]
                library = Path(folder) / "libmodel.so"
                hewn("compile", model, *(split if ranks > 1 else ()), "-o", library, "--quiet", *dims)
                bench = ("bench", library, "--seconds", given.seconds, "--json")
                own = json.loads(hewn(*bench))["milliseconds"]["fastest"]
                mpi = ""
                if given.mpi and ranks > 1:
                    launcher = [given.mpi, "-n", str(ranks)]
                    if "openmpi" in given.mpi:
                        launcher += ["--allow-run-as-root", "--oversubscribe"]
                    mpi = f"{json.loads(hewn(*bench, launcher=launcher))['milliseconds']['fastest']:9.1f}"
                off = f"{100 * (expected / own - 1):+5.0f}%"
                print(f"{model.stem:24} {ranks:5} {expected:9.1f} {own:9.1f} {off:>6} {mpi:>9}", flush=True)


if __name__ == "__main__":
    main()

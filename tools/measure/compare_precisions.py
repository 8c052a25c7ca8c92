# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of the precisions `highest`, `high` and `medium` on this CPU, and prints one table row per model.

    .venv/bin/python tools/measure/compare_precisions.py [--threads N] [--seconds S] [--target T]
        [--minimum R] [--dim NAME=SIZE] MODEL.onnx ...

Compiles the model once per precision. The three modules run alternately in one process, so that a
change of the clock frequency affects all of them. A cell in ms is the 20th percentile of the runs.
A ratio is the time of the higher precision divided by the time of the lower one: 1.00 or more means
that the lower precision is not slower. Inputs are random; dynamic dims have size 1 unless --dim
gives a size.

Exits with 1 if a ratio is below --minimum (0.97 by default). A ratio below --minimum is measured
twice more before it counts, since timings on shared machines are noisy.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from typing import Any

import hewn

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from benchmark import inputs_of

PRECISIONS = ("highest", "high", "medium")
#: Pairs (lower precision, higher precision) whose ratio of times is printed.
PAIRS = (("high", "highest"), ("medium", "highest"), ("medium", "high"))


def percentile(times: list[float]) -> float:
    """Returns the 20th percentile of `times`, or the minimum if there are fewer than five times."""
    return statistics.quantiles(times, n=5)[0] if len(times) >= 5 else min(times)


def measure(modules: dict[str, hewn.Module], feeds: dict[str, Any], seconds: float) -> dict[str, float]:
    """Returns the time of a run in ms for each precision.

    The modules run alternately, each for a total of `seconds`.
    """
    times: dict[str, list[float]] = {name: [] for name in modules}
    for module in modules.values():
        module.run(feeds)
    end = time.perf_counter() + seconds * len(modules)
    while time.perf_counter() < end or len(times["medium"]) < 5:
        for name, module in modules.items():
            start = time.perf_counter()
            module.run(feeds)
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: percentile(runs) for name, runs in times.items()}


def ratios(ms: dict[str, float]) -> list[float]:
    """Returns the speedup of each precision over the next higher one."""
    return [ms[higher] / ms[lower] for lower, higher in PAIRS]


def main() -> None:
    """Times the models with each precision, and exits with an error if a lower precision is slower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="measured time per module")
    parser.add_argument("--target", default="host")
    parser.add_argument("--minimum", type=float, default=0.97, help="smallest accepted ratio")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    arguments = parser.parse_args()
    dims = {name: int(size) for name, size in (d.split("=") for d in arguments.dim)}

    heads = [*(f"{name} ms" for name in PRECISIONS), *(f"{higher} / {lower}" for lower, higher in PAIRS)]
    print(f"| model | {' | '.join(heads)} |\n|{' --- |' * (len(heads) + 1)}")
    slower = []
    for path in arguments.models:
        name, feeds = pathlib.Path(path).stem, inputs_of(path, dims)
        modules = {
            precision: hewn.compile(path, precision=precision, threads=arguments.threads, target=arguments.target)
            for precision in PRECISIONS
        }
        ms = measure(modules, feeds, arguments.seconds)
        for _ in range(2):
            if min(ratios(ms)) < arguments.minimum:
                ms = measure(modules, feeds, arguments.seconds)
        if min(ratios(ms)) < arguments.minimum:
            slower.append(name)
        cells = [*(f"{ms[precision]:.3f}" for precision in PRECISIONS), *(f"{ratio:.2f}" for ratio in ratios(ms))]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if slower:
        sys.exit(f"a lower precision is slower than {arguments.minimum} of a higher one: {', '.join(slower)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""compare.py [--table PAGE] [NAME ...]: runs packages that import onnxruntime, once with
onnxruntime and once with hewn in its place, and compares results and times.

Each run is a process of its own with the default number of threads of its engine. Runs of the two
engines alternate, so that other load affects both equally. The first run with hewn starts with an
empty cache (column "compiled"); later runs load the compiled models from the cache.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"
SECONDS = 2.0  # how long a process repeats each call


def child(name: str, engine: str) -> None:
    """Runs one package in this process. Prints a line of JSON: the seconds to start and, for each
    call, the median of its seconds, its CPU time and its result."""
    if engine == "hewn":
        from hewn.compat import onnxruntime

        onnxruntime.install()
    warnings.simplefilter("ignore")
    from programs import PROGRAMS

    begin = time.perf_counter()
    calls = PROGRAMS[name]()
    started = time.perf_counter() - begin
    found = {}
    for what, call in calls.items():
        answer, times = call(), []
        until, used = time.perf_counter() + SECONDS, time.process_time()
        while time.perf_counter() < until or len(times) < 3:
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        used = (time.process_time() - used) / len(times)
        found[what] = {"answer": answer, "seconds": statistics.median(times), "used": used}
    import onnxruntime

    told = onnxruntime.get_build_info().split()[0] == "hewn"
    assert told == (engine == "hewn"), "the wrong engine was loaded"
    print(json.dumps({"started": started, "calls": found}))


def measure(name: str, engine: str, cache: str) -> dict:
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, engine],
        capture_output=True,
        text=True,
        env=os.environ | {"HEWN_CACHE_DIR": cache},
    )
    if done.returncode:
        sys.exit(f"{name} with {engine} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def difference(a: object, b: object, where: str) -> float:
    """Returns the largest difference between numbers. A different structure, text or length ends
    the program."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((difference(x, y, where) for x, y in zip(a, b)), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b)
    if a != b:
        sys.exit(f"{where}: onnxruntime says {a!r}, hewn {b!r}")
    return 0.0


def size(answer: object) -> int:
    return sum(map(size, answer)) if isinstance(answer, list) else 1


def compare(name: str, rounds: int) -> list[str]:
    rows, runs = [], {"onnxruntime": [], "hewn": []}
    with tempfile.TemporaryDirectory() as cache:
        compiled = measure(name, "hewn", cache)["started"]
        for _ in range(rounds):
            for engine, all_of_it in runs.items():
                all_of_it.append(measure(name, engine, cache))
    start = {engine: min(run["started"] for run in all_of_it) for engine, all_of_it in runs.items()}
    for what in runs["hewn"][0]["calls"]:
        calls = {engine: [run["calls"][what] for run in all_of_it] for engine, all_of_it in runs.items()}
        off = max(
            difference(a["answer"], b["answer"], f"{name}, {what}") for a in calls["onnxruntime"] for b in calls["hewn"]
        )
        if not size(calls["hewn"][0]["answer"]):
            sys.exit(f"{name}, {what}: the results are empty")
        ms = {engine: 1e3 * min(call["seconds"] for call in each) for engine, each in calls.items()}
        used = {engine: min(call["used"] for call in each) for engine, each in calls.items()}
        package = f"{name} {importlib.metadata.version(name)}"
        rows.append(
            f"| {package} | {what} | {ms['onnxruntime']:.2f} | {ms['hewn']:.2f} | {ms['onnxruntime'] / ms['hewn']:.2f} "
            f"| {used['onnxruntime'] / used['hewn']:.2f} | {off:.1e} "
            f"| {start['onnxruntime']:.2f} | {start['hewn']:.2f} | {compiled:.1f} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:4])
    from programs import PROGRAMS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=pathlib.Path, help="update the table of this page")
    parser.add_argument("--rounds", type=int, default=3, help="number of processes for each engine")
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS], metavar="NAME", help=", ".join(PROGRAMS))
    asked = parser.parse_args()
    head = [
        "package",
        "call",
        "onnxruntime ms",
        "hewn ms",
        "ratio",
        "of CPU time",
        "largest difference",
        "start s",
        "hewn's start s",
        "compiled s",
    ]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    print("\n".join(lines))
    for name in asked.names or PROGRAMS:
        lines += compare(name, asked.rounds)
    if asked.table:
        before, _, rest = asked.table.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        asked.table.write_text("\n".join([before + BEGIN, *lines, END + after]))


if __name__ == "__main__":
    main()

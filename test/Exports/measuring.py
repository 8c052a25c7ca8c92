# SPDX-License-Identifier: Apache-2.0
"""Exports one architecture with one exporter, compiles it, and compares results and times. Runs in
a separate process, which may crash at any step."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time

import judging
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "Random"), str(HERE.parent / "Numeric"), str(HERE.parents[1] / "tools" / "measure")]
from child import Limits, forked  # noqa: E402
from spent import spent  # noqa: E402

LIMITS = Limits(gigabytes=40, seconds=600, wall_seconds=7200)
COMPILE_SECONDS, COMPILE_GIGABYTES = 200, 8
# The engines run alternately until the runs have taken TIMED_SECONDS. Each engine runs at least
# LEAST_RUNS and at most MOST_RUNS times.
LEAST_RUNS, MOST_RUNS, TIMED_SECONDS = 3, 30, 2.0
MOVES = 16
SAID = 600  # maximum length of a message in characters


class Facts(dict):
    """The facts about an export that were recorded so far. They are also written to a file, which
    remains if the process crashes."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def tell(self, **facts):
        self.update(facts)
        self.path.write_text(json.dumps(self))


def short(problem) -> str:
    text = f"{type(problem).__name__}: {problem}" if isinstance(problem, Exception) else str(problem)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:SAID]


def compiled(path, library, facts) -> bool:
    """Compiles the ONNX file at `path` with the command-line tool, so that CPU time and peak memory
    are those of the compiler only."""

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (COMPILE_GIGABYTES << 30, COMPILE_GIGABYTES << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (COMPILE_SECONDS, COMPILE_SECONDS))

    tool = pathlib.Path(os.environ.get("HEWN_TOOLS", HERE.parents[1] / "build/dev/bin")) / "hewn"
    with tempfile.TemporaryFile() as said:
        command = [str(tool), "compile", str(path), "-o", str(library), "--threads", "1"]
        used = spent(command, stdout=said, stderr=said, preexec_fn=limited)
        said.seek(0)
        text = said.read().decode(errors="replace")
    facts.tell(compile_s=round(used.seconds, 2), compile_mb=used.kilobytes // 1024)
    if used.returncode == 0:
        return True
    errors = [line for line in text.splitlines() if "error" in line.lower()] or text.splitlines()
    ended = f"ended by signal {-used.returncode}: " if used.returncode < 0 else ""
    facts.tell(hewn=short(ended + " ".join(errors[:3])))
    return False


def best_times(runs, seconds) -> list[float]:
    """Returns the time of the fastest run of each engine in milliseconds of CPU time of this
    thread, which other load affects little."""
    best, timed, rounds = [float("inf")] * len(runs), 0.0, 0
    while rounds < LEAST_RUNS or (timed < seconds and rounds < MOST_RUNS):
        for i, run in enumerate(runs):
            start = time.thread_time()
            run()
            took = time.thread_time() - start
            best[i], timed = min(best[i], took), timed + took
        rounds += 1
    return [1e3 * b for b in best]


def measure(architecture, exporter, folder, facts) -> None:
    """Measures one export. Each step records its name before it starts, so that the record of a
    crash names the step."""
    import exporting

    facts.tell(step="torch")
    module = exporting.module_of(architecture)
    facts.tell(parameters=sum(p.numel() for p in module.parameters()))
    feeds = [architecture.feeds(sizes) for sizes in architecture.sizes]
    wants = [exporting.results(module, feed) for feed in feeds]

    facts.tell(step="export")
    path = folder / "model.onnx"
    start = time.process_time()
    exporting.export(module, architecture, exporter, path)
    facts.tell(export_s=round(time.process_time() - start, 1))
    graph = onnx.load(path, load_external_data=False).graph
    facts.tell(nodes=len(graph.node))
    inputs, outputs = [v.name for v in graph.input], [v.name for v in graph.output]
    feeds = [{name: x for name, x in feed.items() if name in inputs} for feed in feeds]

    facts.tell(step="hewn compile")
    library = folder / "libmodel.so"
    hewn_run = hewn_loaded(library, outputs) if compiled(path, library, facts) else None
    if hewn_run is not None:
        facts.tell(step="hewn run")
        asked("hewn", hewn_run, feeds, wants, facts)

    facts.tell(step="onnxruntime")
    onnxruntime_run = onnxruntime_loaded(path, facts)
    if onnxruntime_run is not None:
        asked("onnxruntime", onnxruntime_run, feeds, wants, facts)

    facts.tell(step="moved weights")
    if "hewn_error" in facts:

        def spread():
            """Returns the largest error of torch over several seeds for the changed weights; stops
            early if the error explains hewn's error. Several seeds are needed, because the changes
            of one seed may not swap two nearly equal scores."""
            furthest = 0.0
            for seed in range(MOVES):
                for feed, want in zip(map(architecture.feeds, architecture.sizes), wants):
                    moved = exporting.moved_results(module, feed, seed)
                    furthest = max(furthest, judging.error(moved, want))
                if facts["hewn_error"] <= judging.SPREADS * furthest:
                    break
            facts.tell(spread=furthest)
            return furthest

        def between():
            return max(judging.error(hewn_run(feed), onnxruntime_run(feed)) for feed in feeds)

        other = facts.get("onnxruntime_error")
        facts.tell(verdict=judging.verdict(facts["hewn_error"], other, between, spread))

    facts.tell(step="times")
    engines = {"hewn": hewn_run, "onnxruntime": onnxruntime_run}
    ran = {name: run for name, run in engines.items() if run is not None and f"{name}_error" in facts}
    times = best_times([lambda run=run: run(feeds[-1]) for run in ran.values()], TIMED_SECONDS)
    facts.tell(step="", **{f"{name}_ms": round(ms, 4) for name, ms in zip(ran, times)})


def hewn_loaded(library, outputs):
    import hewn

    module = hewn.load(library)

    def run(feed):
        got = module.run(feed)
        return [got[name] for name in outputs]

    return run


def onnxruntime_loaded(path, facts):
    import sessions

    try:
        session = sessions.timed_session(path)
    except Exception as problem:
        facts.tell(onnxruntime=short(problem))
        return None
    return lambda feed: session.run(None, feed)


def asked(name, run, feeds, wants, facts) -> None:
    """Runs an engine with all sizes and records its largest error, or the exception of a run."""
    try:
        facts.tell(**{f"{name}_error": max(judging.error(run(feed), want) for feed, want in zip(feeds, wants))})
    except Exception as problem:
        facts.tell(**{name: short(problem)})


def record(architecture, exporter, keep=None) -> dict:
    """Returns the record of an export. ONNX files for which hewn is wrong or slower than
    onnxruntime are stored in the folder `keep`."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        facts = Facts(folder / "facts.json")
        facts.tell(library=architecture.library, name=architecture.name, exporter=exporter)
        kind, said = forked(lambda: measure(architecture, exporter, folder, facts), LIMITS)
        found = json.loads(facts.path.read_text())
        if kind != "ok":
            found["ended"] = short(said if isinstance(said, str) else ": ".join(said)) or kind
        if keep is not None:
            kept(folder, found, keep)
    return found


def kept(folder, found, keep) -> None:
    slower = found.get("hewn_ms", 0) > found.get("onnxruntime_ms", float("inf"))
    if not (slower or "hewn" in found or found.get("verdict") == "wrong"):
        return
    target = pathlib.Path(keep) / f"{found['name']}.{found['exporter']}"
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("model.onnx*"):
        shutil.move(file, target / file.name)

# SPDX-License-Identifier: Apache-2.0
"""docs/python/torch-speed.md, from the records of doors.py. Needs no torch."""

from __future__ import annotations

import math

HEADS = ("architecture", "graphs", "compiled", "error", "backend's", "eager ms", "inductor ms", "module ms", "backend ms", "inductor / backend", "compile s: inductor", "backend", "")  # fmt: skip
INTRODUCTION = """# Models of torch by both doors

{count} architectures of torchvision, timm and transformers by `hewn.compile(module, example_inputs=…)` (*module*) and by
`torch.compile(module, backend="hewn")` (*backend*), compared with torch's own results and timed beside torch itself (*eager*) and
torch.compile's own backend (*inductor*). Weights are random, from a seed. Made by

    test/Exports/doors.py run RECORDS.jsonl; test/Exports/doors.py table RECORDS.jsonl -o docs/python/torch-speed.md

on {machine}, with {versions}. Sizes are those of [exports.md](../exports.md); one thread each, under `torch.no_grad()`.

*Graphs* is how many dynamo gave to the backend in two calls, *compiled* how often hewn compiled one of them: of one graph called twice, once. *Error* is
the largest difference from torch's result, of an output's largest element, over all outputs: right up to {bound:g}; above that, rounding
decides if torch itself is off by a {spreads}th of it or more when its weights are moved by a rounding each. *ms* is
the best of several runs that took turns in one process, in time of that thread, on a machine that others used too. *Compile* is wall-clock time from
torch.compile to the end of the first call, tracing included, there: a hint, no measurement. Where inductor has no figure it was not run
(`--without-inductor`): its compile takes a minute or more, where torch's cache on disk has nothing of an earlier one.
"""


def ratio(record) -> float:
    if "inductor_ms" not in record or "backend_ms" not in record:
        return math.nan
    return record["inductor_ms"] / record["backend_ms"]


def remark(record) -> str:
    said = [record[key] for key in ("module", "backend", "fallback") if key in record]
    if record.get("step"):
        said.append(f"{record['step']}: {record.get('ended', '')}")
    if record.get("functionalized"):
        said.append("by AOTAutograd")
    if record.get("verdict", "right") != "right":
        said.append(record["verdict"])
    if "inductor" in record:
        said.append("not by inductor")
    return "; ".join(said).replace("|", "/")[:300]


def row(record) -> str:
    def cell(key, form="{}"):
        return form.format(record[key]) if key in record else "-"

    times = [cell(f"{name}_ms", "{:.3g}") for name in ("eager", "inductor", "module", "backend")]
    cells = [
        record["name"],
        cell("graphs"),
        cell("compiled"),
        cell("module_error", "{:.0e}"),
        cell("backend_error", "{:.0e}"),
        *times,
        "-" if math.isnan(ratio(record)) else f"{ratio(record):.2f}",
        cell("inductor_s", "{:.0f}"),
        cell("backend_s", "{:.0f}"),
        remark(record),
    ]
    return f"| {' | '.join(cells)} |"


def page(records, bound, spreads) -> str:
    machines = "; ".join(sorted({r["machine"] for r in records}))
    versions = "; ".join(sorted({", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records}))
    right = sum(r.get("verdict") == "right" for r in records)
    decides = sum(r.get("verdict") == "rounding decides" for r in records)
    once = sum(r.get("graphs") == 1 == r.get("compiled") and not r.get("fallbacks") for r in records)
    ratios = sorted(x for r in records if not math.isnan(x := ratio(r)))
    late = [r["name"] for r in records if r.get("backend_ms", 0) > r.get("eager_ms", math.inf)]
    lines = [
        INTRODUCTION.format(count=len(records), machine=machines, versions=versions, bound=bound, spreads=spreads),
        f"Right by both: {right} of {len(records)}; rounding decides {decides}. One graph that was compiled once: {once}. "
        + (
            f"Faster than inductor by the backend: {sum(x >= 1 for x in ratios)} of {len(ratios)}, median of the ratios "
            f"{ratios[len(ratios) // 2]:.2f}."
            if ratios
            else ""
        ),
        *([f"Slower than eager PyTorch: {', '.join(late)}."] if late else []),
        "",
        f"| {' | '.join(HEADS)} |",
        f"|{' --- |' * len(HEADS)}",
        *map(row, records),
    ]
    return "\n".join(lines) + "\n"

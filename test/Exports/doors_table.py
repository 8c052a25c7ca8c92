# SPDX-License-Identifier: Apache-2.0
"""Writes docs/python/torch-speed.md from the records of `doors.py`. Needs no torch."""

from __future__ import annotations

import math
import textwrap

HEADS = ("architecture", "graphs", "compiled", "error", "backend's", "eager ms", "inductor ms", "module ms", "backend ms", "inductor / backend", "compile s: inductor", "backend", "")  # fmt: skip
INTRODUCTION = """# Speed of PyTorch models with hewn

This page measures {count} architectures of torchvision, timm and transformers. *module* is
`hewn.compile(module, example_inputs=…)`, *backend* is `torch.compile(module, backend="hewn")`.
Results are compared with torch's. Times are compared with eager torch (*eager*) and the default
backend of torch.compile (*inductor*). Weights are random, from a seed. The commands are

    test/Exports/doors.py run RECORDS.jsonl
    test/Exports/doors.py table RECORDS.jsonl -o docs/python/torch-speed.md

- Machine: {machine}
{versions}
- Sizes: those of [exports.md](../exports.md)
- Every engine uses one thread, under `torch.no_grad()`

Columns:

- *Graphs* is the number of graphs that dynamo passed to the backend in two calls. *Compiled* is the
  number of compilations: one graph called twice counts once.
- *Error* is the largest difference from torch's result, relative to the largest element of an
  output, over all outputs. A result with an error of up to {bound:g} is right. With a larger error,
  "rounding decides" if torch's own result changes by at least 1/{spreads} of the error when each
  weight is perturbed by one rounding.
- *ms* is the thread time of the fastest of several alternating runs in one process, under load.
- *Compile* is the wall-clock time from torch.compile to the end of the first call, with tracing and
  other load: a hint, not a measurement.
- Inductor without a figure was not run (`--without-inductor`): its compilation takes a minute or
  more, if torch's disk cache has no earlier one.
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


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def page(records, bound, spreads) -> str:
    machines = "; ".join(sorted({r["machine"] for r in records}))
    versions = "; ".join(sorted({", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records}))
    right = sum(r.get("verdict") == "right" for r in records)
    decides = sum(r.get("verdict") == "rounding decides" for r in records)
    once = sum(r.get("graphs") == 1 == r.get("compiled") and not r.get("fallbacks") for r in records)
    ratios = sorted(x for r in records if not math.isnan(x := ratio(r)))
    late = [r["name"] for r in records if r.get("backend_ms", 0) > r.get("eager_ms", math.inf)]
    lines = [
        INTRODUCTION.format(
            count=len(records),
            machine=machines,
            versions=wrapped(f"- Versions: {versions}", indent="  "),
            bound=bound,
            spreads=spreads,
        ),
        wrapped(
            f"Results are right with both for {right} of {len(records)} architectures; rounding decides {decides}. "
            f"Dynamo passes one graph, which is compiled once, for {once}."
            + (
                f" The backend is faster than inductor for {sum(x >= 1 for x in ratios)} of {len(ratios)}; the median "
                f"of the ratios is {ratios[len(ratios) // 2]:.2f}."
                if ratios
                else ""
            )
        ),
        *([f"Slower than eager PyTorch: {', '.join(late)}."] if late else []),
        "",
        f"| {' | '.join(HEADS)} |",
        f"|{' --- |' * len(HEADS)}",
        *map(row, records),
    ]
    return "\n".join(lines) + "\n"

# SPDX-License-Identifier: Apache-2.0
"""docs/exports.md, from the records of a run. Needs no torch."""

from __future__ import annotations

import math
import re

TITLES = {
    "torchvision": "torchvision: classification, segmentation, detection, video, optical flow",
    "timm": "timm: convnets, transformers, hybrids, mixers",
    "transformers": "transformers: text, pictures, sound, both",
}
HEADS = ("architecture", "exporter", "nodes", "compile s", "compile MB", "error", "onnxruntime's", "ms", "onnxruntime's", "faster", "")  # fmt: skip
INTRODUCTION = """# Architectures that people use

{count} of the {whole} architectures of torchvision, timm and transformers in the script's tables, exported by torch, compiled, compared with
torch's own results, and timed beside onnxruntime; {rows} exports in all. Weights are random, from a seed. Made by

    {command}

on {machine}, with {versions}. See [test/Exports](../test/Exports/README.md).

Sizes are those of the table of each library: images of 224, texts of 128 tokens, steps of language models after 127 of them, batch 1;
the artifact is the same for other sizes where the export leaves dims open (batch, tokens, height and width), and was compared at two of them. *Compile* is
processor time and the most memory of `hewn compile`. *Error* is the largest difference from torch's result, of an output's largest
element, over all outputs and sizes; onnxruntime's own beside it. Where it is above {bound:g}, rounding decides if onnxruntime is off by a
{others}th of it or more, or torch itself by a {spreads}th when its weights are moved by a rounding each; where
hewn and onnxruntime agree and torch does not, the export differs from what torch ran. *ms* is the best of several runs that took turns in one
process, one thread each, in time of that thread; *faster* is onnxruntime's time over hewn's. Where others use the machine's caches too, a repetition moves it by a tenth.
"""


def ended(record) -> str:
    """Where a record stopped, and why; nothing where all steps were done."""
    return f"{record['step']}: {record.get('ended', '')}" if record.get("step") else ""


def exported(record) -> bool:
    return "nodes" in record


def compiles(record) -> bool:
    return "compile_s" in record and "hewn" not in record and record.get("step") not in ("hewn compile", "hewn run")


def invalid(record) -> bool:
    """Nobody takes the file: onnxruntime's checker says so too."""
    return "hewn" in record and "onnxruntime" in record and "hewn_error" not in record


def ratio(record) -> float:
    if "hewn_ms" not in record or "onnxruntime_ms" not in record:
        return math.nan
    return record["onnxruntime_ms"] / record["hewn_ms"]


def cell(record, key, form="{}") -> str:
    return form.format(record[key]) if key in record else "-"


def remark(record) -> str:
    said = []
    if not exported(record):
        said.append("not exported")
    elif not compiles(record):
        said.append("not compiled" if "compile_s" not in record or "hewn_error" not in record else "does not run")
    if record.get("verdict", "right") != "right":
        said.append(record["verdict"])
    if "onnxruntime" in record:
        said.append("not by onnxruntime")
    return ", ".join(said)


def row(record) -> str:
    off = "{:.0e}"
    time = "{:.3g}" if max(record.get("hewn_ms", 0), record.get("onnxruntime_ms", 0)) < 100 else "{:.0f}"
    cells = [
        record["name"],
        record["exporter"],
        cell(record, "nodes"),
        cell(record, "compile_s", "{:.1f}"),
        cell(record, "compile_mb"),
        cell(record, "hewn_error", off),
        cell(record, "onnxruntime_error", off),
        cell(record, "hewn_ms", time),
        cell(record, "onnxruntime_ms", time),
        "-" if math.isnan(ratio(record)) else f"{ratio(record):.2f}",
        remark(record),
    ]
    return f"| {' | '.join(cells)} |"


def median(values) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def summary(records) -> list[str]:
    """A line for each library and one for all: how many exports got how far."""
    heads = ("", "exports", "exported", "compiled", "right", "rounding decides", "export differs", "wrong", "onnxruntime runs", "faster", "median ratio", "median compile s")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for name in [*TITLES, "all"]:
        of = [r for r in records if name in (r["library"], "all")]
        ratios = [x for r in of if not math.isnan(x := ratio(r))]
        counts = [
            len(of),
            sum(map(exported, of)),
            sum(map(compiles, of)),
            *(
                sum(r.get("verdict") == kind for r in of)
                for kind in ("right", "rounding decides", "export differs", "wrong")
            ),
            sum("onnxruntime_error" in r for r in of),
            f"{sum(x >= 1 for x in ratios)} of {len(ratios)}",
            f"{median(ratios):.2f}" if ratios else "-",
            f"{median([r['compile_s'] for r in of if compiles(r)]):.1f}" if any(map(compiles, of)) else "-",
        ]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return lines


def failures(records) -> list[str]:
    """One line for each export that did not get to the end, by whose failure it is."""
    groups = {
        "The exporter's": lambda r: ended(r) if not exported(r) else "",
        "The exporter's, though it wrote a file: neither hewn nor onnxruntime takes it": lambda r: (
            r["hewn"] if invalid(r) else ""
        ),
        "hewn's": lambda r: (
            "" if invalid(r) else r.get("hewn") or (ended(r) if (r.get("step") or "").startswith("hewn") else "")
        ),
        "Wrong": lambda r: f"error {r['hewn_error']:.1e}" if r.get("verdict") == "wrong" else "",
        "onnxruntime's": lambda r: (
            "" if invalid(r) else r.get("onnxruntime") or (ended(r) if r.get("step") == "onnxruntime" else "")
        ),
        "Not finished": lambda r: ended(r) if r.get("step") in ("moved weights", "times") else "",
    }
    lines = []
    for title, reason in groups.items():
        said = [(r, text) for r in records if (text := reason(r))]
        if said:
            lines += ["", f"### {title}", ""]
        for record, text in said:
            shown = re.sub(r"\x1b?\[[0-9;]*m", "", text).replace("`", "'")[:300]  # without a terminal's colors
            lines.append(f"- {record['name']} ({record['exporter']}): `{shown}`")
    return lines


def slower(records) -> list[str]:
    found = sorted((r for r in records if ratio(r) < 1), key=ratio)
    return [f"{r['name']} ({r['exporter']}) {ratio(r):.2f}" for r in found]


def page(records, names, **said) -> str:
    """`names` are those of all architectures: what has no record is told."""
    records = sorted(records, key=lambda r: (list(TITLES).index(r["library"]), r["order"]))
    count = len({r["name"] for r in records})
    lines = [INTRODUCTION.format(count=count, whole=len(names), rows=len(records), **said), *summary(records)]
    if late := slower(records):
        lines += ["", f"Slower than onnxruntime: {', '.join(late)}."]
    if left := [name for name in names if name not in {r["name"] for r in records}]:
        lines += ["", f"Not run: {', '.join(left)}."]
    for library, title in TITLES.items():
        lines += ["", f"## {title}", "", f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
        lines += [row(r) for r in records if r["library"] == library]
    if failed := failures(records):
        lines += ["", "## What did not get to the end", *failed]
    return "\n".join(lines) + "\n"

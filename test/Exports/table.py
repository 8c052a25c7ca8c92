# SPDX-License-Identifier: Apache-2.0
"""Writes docs/exports.md and docs/exports-table.md from the records of a run. Needs no torch."""

from __future__ import annotations

import math
import re
import textwrap

TITLES = {
    "torchvision": "torchvision: classification, segmentation, detection, video, optical flow",
    "timm": "timm: convnets, transformers, hybrids, mixers",
    "transformers": "transformers: text, images, audio",
}
HEADS = ("architecture", "exporter", "nodes", "compile s", "compile MB", "error", "onnxruntime error", "ms", "onnxruntime ms", "ratio", "")  # fmt: skip
INTRODUCTION = """# Exported architectures

torch exports {count} of {whole} architectures of torchvision, timm and transformers, with random weights,
and hewn compiles the exports. The {rows} pairs of architecture and exporter are counted below. Results
are compared with torch, times with onnxruntime; [another page]({details}) has a row for each
([how](../test/Exports/README.md)).

    {command}

{facts}

- *Inputs* are images of 224 x 224, 128 tokens, or decoder steps after 127 tokens, at batch 1.
  Models with open dims also run at a second size.
- *right*: the error is at most {bound:g} of an output's largest element.
- *rounding decides*: the error is larger, but onnxruntime's error is at least 1/{others} of it, or
  torch's own result changes by at least 1/{spreads} of it if weights are perturbed by one rounding.
- *export differs*: hewn and onnxruntime agree; torch differs from both.
- *ratio*: time of onnxruntime divided by hewn's; one thread, CPU time, best of alternating runs.
"""
DETAILS = """# Exported architectures: all rows

See [the summary](exports.md) for the command, the machine and the columns. *compile s* and *compile MB*
are the CPU time and peak memory of `hewn compile`. The machine was not idle: ratios vary by 0.1.
"""


def ended(record) -> str:
    """Returns the name of the step in which an export failed and the reason, or "" if all steps
    finished."""
    return f"{record['step']}: {record.get('ended', '')}" if record.get("step") else ""


def exported(record) -> bool:
    return "nodes" in record


def compiles(record) -> bool:
    return "compile_s" in record and "hewn" not in record and record.get("step") not in ("hewn compile", "hewn run")


def invalid(record) -> bool:
    """Returns true if both hewn and onnxruntime reject the ONNX file of an export."""
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
    """Returns a table row for each library and one for all, with the number of exports that reached
    each step."""
    heads = ("", "exports", "exported", "compiled", "right", "rounding decides", "export differs", "wrong", "onnxruntime runs", "hewn faster", "median ratio", "median compile s")  # fmt: skip
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
    """Returns one line for each export that did not finish, grouped by the component that failed."""
    groups = {
        "Exporter": lambda r: ended(r) if not exported(r) else "",
        "Exporter: neither hewn nor onnxruntime accepts the file": lambda r: r["hewn"] if invalid(r) else "",
        "hewn": lambda r: (
            "" if invalid(r) else r.get("hewn") or (ended(r) if (r.get("step") or "").startswith("hewn") else "")
        ),
        "Wrong result": lambda r: f"error {r['hewn_error']:.1e}" if r.get("verdict") == "wrong" else "",
        "onnxruntime": lambda r: (
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
            shown = re.sub(r"\x1b?\[[0-9;]*m", "", text).replace("`", "'")[:300]  # removes terminal colors
            lines.append(f"- {record['name']} ({record['exporter']}): `{shown}`")
    return lines


def slower(records) -> list[str]:
    found = sorted((r for r in records if ratio(r) < 1), key=ratio)
    return [f"{r['name']} ({r['exporter']}) {ratio(r):.2f}" for r in found]


def ordered(records) -> list:
    return sorted(records, key=lambda r: (list(TITLES).index(r["library"]), r["order"]))


def page(records, names, details="exports-table.md", *, machine, versions, **said) -> str:
    """Returns the text of docs/exports.md. `names` are the names of all architectures; the page
    lists those that have no record. `details` is the name of the page with one row for each
    export."""
    records = ordered(records)
    count = len({r["name"] for r in records})
    facts = {"count": count, "whole": len(names), "rows": len(records), "details": details}
    facts["facts"] = textwrap.fill(f"Machine: {machine}. {versions}.", 100, break_on_hyphens=False)
    lines = [INTRODUCTION.format(**facts, **said), *summary(records)]
    if late := slower(records):
        lines += ["", f"Slower than onnxruntime: {', '.join(late)}."]
    if left := [name for name in names if name not in {r["name"] for r in records}]:
        lines += ["", f"Not run: {', '.join(left)}."]
    return "\n".join(lines) + "\n"


def details(records) -> str:
    """Returns the text of docs/exports-table.md: one row for each export, and the failures."""
    records = ordered(records)
    lines = [DETAILS.rstrip("\n")]
    for library, title in TITLES.items():
        lines += ["", f"## {title}", "", f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
        lines += [row(r) for r in records if r["library"] == library]
    if failed := failures(records):
        lines += ["", "## Exports that failed", *failed]
    return "\n".join(lines) + "\n"

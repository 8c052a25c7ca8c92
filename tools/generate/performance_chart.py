#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the charts of docs/performance.md to docs/generated.

A chart shows the latency of each engine relative to hewn, from the data in docs/measured.

tools/generate/performance_chart.py [--check]

A chart shows one table of the newest measurement of that table.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = ROOT / "docs/measured"
GENERATED = ROOT / "docs/generated"

#: Chart -> its table in docs/measured, and the conditions of the measurement.
CHARTS = {
    "performance.svg": ("highest-1", "batch 1, one thread, float32"),
    "performance-threads.svg": ("highest-2", "batch 1, two threads, float32"),
    "performance-bfloat16.svg": ("medium-1", "batch 1, one thread, bfloat16 (onnxruntime: float32)"),
    "performance-quantized.svg": ("quantized-1", "batch 1, one thread, int8 and int4 weights"),
    "performance-avx2.svg": ("avx2-1", "batch 1, one thread, float32, AVX2"),
}

#: Column of the table -> name and colour of the engine in the chart. The colours are from the
#: palette of Okabe and Ito, which is distinguishable with colour blindness.
ENGINES = {
    "hewn ms": ("hewn", "#0072b2"),
    "onnxruntime ms": ("ONNX Runtime", "#e69f00"),
    "openvino ms": ("OpenVINO", "#999999"),
}
LABELS, WIDTH, ROW, TOP = 210, 760, 40, 76


def newest(folder: pathlib.Path, name: str) -> dict[str, Any]:
    """Returns the title, day and rows (as dicts) of the newest measurement of the table `name`."""
    machines = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    machine = max((m for m in machines if name in m["tables"]), key=lambda m: m["tables"][name]["day"])
    measured = machine["tables"][name]
    (table,) = measured["tables"]
    rows = [dict(zip(table["heads"], row, strict=True)) for row in table["rows"]]
    return {"title": machine["title"], "day": measured["day"], "rows": rows}


def relative(row: dict[str, Any]) -> dict[str, float]:
    """Returns the time of each engine that ran the model divided by the time of hewn."""
    return {name: float(row[name]) / float(row["hewn ms"]) for name in ENGINES if row.get(name, "-") != "-"}


def svg(measured: dict[str, Any], conditions: str) -> str:
    """Returns the chart of a table in docs/measured as SVG."""
    rows = measured["rows"]
    most = max(value for row in rows for value in relative(row).values())
    scale = (WIDTH - LABELS - 60) / (math.ceil(most * 2) / 2)
    height = TOP + ROW * len(rows) + 16
    about = f"Time of one run relative to hewn, {conditions}, {measured['title']}, {measured['day']}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label="{about}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="bold">{about.split(",")[0]} (shorter is faster)</text>',
        f'<text x="12" y="46" fill="#555555">{",".join(about.split(",")[1:]).strip()}</text>',
    ]
    for i, (name, colour) in enumerate(ENGINES.values()):
        x = LABELS + 130 * i
        lines.append(f'<rect x="{x}" y="56" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="67">{name}</text>')
    for i, row in enumerate(rows):
        y = TOP + ROW * i
        lines.append(f'<text x="{LABELS - 8}" y="{y + 22}" text-anchor="end">{row["model"]}</text>')
        for name, value in relative(row).items():
            top, length = y + 3 + 11 * list(ENGINES).index(name), value * scale
            lines.append(f'<rect x="{LABELS}" y="{top}" width="{length:.1f}" height="10" fill="{ENGINES[name][1]}"/>')
            lines.append(f'<text x="{LABELS + length + 5:.1f}" y="{top + 9}" font-size="10">{value:.2f}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def chart(name: str, folder: pathlib.Path = MEASURED) -> str:
    """Returns the chart `name` from the newest data in `folder`."""
    table, conditions = CHARTS[name]
    return svg(newest(folder, table), conditions)


def write() -> None:
    """Writes all charts."""
    for name in CHARTS:
        (GENERATED / name).write_text(chart(name))


def main() -> None:
    """Writes the charts, or compares them with fresh ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a chart differs from docs/measured")
    if parser.parse_args().check:
        stale = [name for name in CHARTS if (GENERATED / name).read_text() != chart(name)]
        if stale:
            sys.exit(f"error: out of date: {', '.join(stale)}; run tools/generate/performance_chart.py")
    else:
        write()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU tables of docs/measured, stores the results per machine, and writes the tables into the pages.

    tools/benchmark.py --all [--only NAME] [--quantized MODEL.onnx ...] [--dim NAME=SIZE] MODEL.onnx ...
    tools/measure/tables.py                     (writes the pages from the stored results)

A table is the output of a command in TABLES. Tables that this machine does not support are left out
and reported. Results are stored in docs/measured, with one file per machine; a new measurement of a
table replaces the previous one of the same machine and stores the date. Each page of docs/measured
contains the results of all machines for one table, between its comments `<!-- NAME -->` and
`<!-- end of NAME -->`. docs/performance.md has charts of the tables.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import platform
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import write_between

ROOT = pathlib.Path(__file__).resolve().parents[2]
OVERVIEW = ROOT / "docs/performance.md"
KEPT = ROOT / "docs/measured"
WRAP: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}
HELD = ("tools/measure/older_processor.py", "x86-64-v3", ".venv/bin/python")

#: Flags of /proc/cpuinfo that affect the choice of kernels, and their names in the page.
FEATURES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx_vnni": "AVX-VNNI",
    "avx512_bf16": "bf16",
    "avx512_fp16": "fp16",
    "amx_tile": "AMX",
}


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of the page: its command, and the models and processor features that the command needs.

    The models are "models", "quantized", or "" for none.
    """

    command: tuple[str, ...]
    models: str = ""
    needs: tuple[str, ...] = ()
    dims: bool = True


TABLES = {
    "highest-1": Table(("tools/benchmark.py", "--rounds=2"), "models"),
    "highest-2": Table(("tools/benchmark.py", "--rounds=1", "--threads=2"), "models"),
    "medium-1": Table(("tools/benchmark.py", "--rounds=1", "--precision=medium"), "models", ("bf16",)),
    "quantized-1": Table(("tools/benchmark.py", "--rounds=2"), "quantized"),
    "avx2-1": Table((*HELD, "tools/benchmark.py", "--target=x86-64-v3", "--rounds=1"), "models", ("AVX-512",)),
    "avx2-2": Table(
        (*HELD, "tools/benchmark.py", "--target=x86-64-v3", "--rounds=1", "--threads=2"), "models", ("AVX-512",)
    ),
    "avx2-quantized-1": Table(
        (*HELD, "tools/benchmark.py", "--target=x86-64-v3", "--rounds=2"), "quantized", ("AVX-512",)
    ),
    "single-ops": Table(("tools/measure/single_ops.py",), dims=False),
    "throughput": Table(("tools/measure/throughput.py", "--batches=1,8,64", "--seconds=1"), "models"),
    "float16": Table(("tools/measure/half_floats.py", "--type=float16"), "models"),
    "bfloat16": Table(("tools/measure/half_floats.py", "--type=bfloat16"), "models"),
}


def this_machine() -> dict[str, Any]:
    """Returns facts about the processor: its name, its features, and its number of threads."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines() if platform.system() == "Linux" else []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = set(facts.get("flags", "").split())
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(facts.get("vendor_id", ""), platform.machine())
    return {
        "processor": facts.get("model name", platform.processor()),
        "name": f"{vendor} family {facts.get('cpu family', '?')} model {facts.get('model', '?')}",
        "features": [name for flag, name in FEATURES.items() if flag in flags],
        "cpus": sum(line.startswith("processor") for line in lines),
    }


def parse(lines: list[str]) -> list[dict[str, Any]]:
    """Returns the Markdown tables in the output of a command: their heads and rows."""
    found: list[dict[str, Any]] = []
    is_inside = False
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            is_inside = False
        elif not is_inside:
            found.append({"heads": cells, "rows": []})
            is_inside = True
        elif not all(re.fullmatch(":?-+:?", cell) for cell in cells):
            found[-1]["rows"].append(cells)
    return found


def ratios_of(heads: list[str], rows: list[list[str]]) -> list[float]:
    """Returns the positive numbers of the column of ratios, if the table has this column."""
    if heads[0] != "model" or "ratio" not in heads:
        return []
    cells = [row[heads.index("ratio")] for row in rows]
    return [float(cell) for cell in cells if re.fullmatch(r"[\d.]+", cell) and float(cell) > 0]


def geometric_mean(ratios: list[float]) -> float:
    """Returns the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Returns the summary line below a table that has a column of ratios."""
    if not (ratios := ratios_of(heads, rows)):
        return []
    return ["", f"Geometric mean of the ratios {geometric_mean(ratios):.2f}, least {min(ratios):.2f}."]


def written(name: str, machines: list[dict[str, Any]]) -> list[str]:
    """Returns the text of a table in the page.

    For each machine with measurements of the table, the text has its name, the date, the command
    and the figures.
    """
    lines: list[str] = []
    for machine in machines:
        if not (measured := machine["tables"].get(name)):
            continue
        features, cpus = ", ".join(measured["features"]), f"{measured['cpus']} processors"
        lines += ["", f"**{machine['title']}** ({features}; {cpus}), {measured['day']}:", ""]
        lines += textwrap.wrap(measured["command"], 100, initial_indent="    ", subsequent_indent="      ", **WRAP)
        for table in measured["tables"]:
            lines += ["", f"| {' | '.join(table['heads'])} |", "|" + " --- |" * len(table["heads"])]
            lines += [f"| {' | '.join(row)} |" for row in table["rows"]]
            lines += summary(table["heads"], table["rows"])
        if note := measured.get("note"):
            lines += ["", *textwrap.wrap(note, 100, **WRAP)]
    return lines[1:]


def kept(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the records of all machines in `folder`."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def write_page(page: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes into the page each stored table that the page has markers for."""
    machines = kept(folder)
    for name in TABLES:
        if f"<!-- {name} -->" in page.read_text():
            write_between(page, name, written(name, machines))


def overview(machines: list[dict[str, Any]], pages: dict[str, tuple[str, str]]) -> list[str]:
    """Returns the summary table of docs/performance.md.

    `pages` has the file and title of the page of each table. A row is a table of a machine: the
    geometric mean and the minimum of its ratios.
    """
    lines = ["| table | machine | day | models | mean ratio | least |", "| --- | --- | --- | --- | --- | --- |"]
    for name in TABLES:
        file, title = pages[name]
        for machine in machines:
            measured = machine["tables"].get(name, {"tables": []})
            if ratios := [r for table in measured["tables"] for r in ratios_of(table["heads"], table["rows"])]:
                cells = [f"[{title}](measured/{file})", machine["title"], measured["day"], str(len(ratios))]
                lines.append(f"| {' | '.join(cells)} | {geometric_mean(ratios):.2f} | {min(ratios):.2f} |")
    return lines


def write_pages(overview_page: pathlib.Path = OVERVIEW) -> None:
    """Writes the stored tables into the pages of docs/measured, and their summary into docs/performance.md."""
    pages: dict[str, tuple[str, str]] = {}
    for page in sorted(KEPT.glob("*.md")):
        write_page(page, KEPT)
        text = page.read_text()
        pages |= {name: (page.name, text.split("\n")[0][2:]) for name in TABLES if f"<!-- {name} -->" in text}
    write_between(overview_page, "summary", overview(kept(KEPT), pages))


def keep(
    folder: pathlib.Path, machine: dict[str, Any], name: str, command: list[str], tables: list[dict[str, Any]]
) -> None:
    """Stores the tables of a command in the record of the machine."""
    path = folder / (re.sub(r"\W+", "-", machine["name"].lower()) + ".json")
    known = json.loads(path.read_text()) if path.exists() else {"title": machine["name"], "tables": {}}
    known |= {"processor": machine["processor"], "name": machine["name"]}
    before = known["tables"].get(name, {})
    day = datetime.date.today().isoformat()
    facts = {
        "features": machine["features"],
        "cpus": machine["cpus"],
    }  # properties that differ between virtual machines on the same processor
    known["tables"][name] = {"day": day, **facts, "command": " ".join(command), "tables": tables}
    if note := before.get("note"):  # a manual note on the previous figures may not apply to the new ones
        print(f"{path}: the note of {name} is left out: {note}", file=sys.stderr)
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def measure(
    names: list[str],
    models: dict[str, list[str]],
    dims: list[str],
    folder: pathlib.Path,
    run: Callable[[list[str]], list[str]],
) -> int:
    """Measures tables and stores each one when it is done. Returns the number of failures."""
    machine, failed = this_machine(), 0
    for name in names:
        table = TABLES[name]
        if missing := [need for need in table.needs if need not in machine["features"]]:
            print(f"{name}: left out, this machine has no {', '.join(missing)}", file=sys.stderr)
            continue
        if table.models and not models[table.models]:
            print(f"{name}: left out, no {table.models} were given", file=sys.stderr)
            continue
        command = [*table.command, *(f"--dim={dim}" for dim in dims if table.dims)]
        print(f"{name}: {' '.join(command)}", file=sys.stderr, flush=True)
        lines = run([*command, *models.get(table.models, [])])
        if tables := parse(lines):
            keep(folder, machine, name, [*command, *(["MODEL.onnx ..."] if table.models else [])], tables)
        else:
            print(f"{name}: the command made no table", file=sys.stderr)
            failed += 1
    return failed


def run_here(command: list[str]) -> list[str]:
    """Runs a command, prints its output and returns it as lines."""
    lines = []
    command = [sys.executable if word == ".venv/bin/python" else word for word in command]
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return lines if process.returncode == 0 else []


def measure_all(said: argparse.Namespace) -> int:
    """Implements `tools/benchmark.py --all`."""
    unknown = [name for name in said.only if name not in TABLES]
    if unknown:
        print(f"--only: no table {', '.join(unknown)}; there are {', '.join(TABLES)}", file=sys.stderr)
        return 2
    models = {
        "models": [str(pathlib.Path(path).resolve()) for path in said.models],
        "quantized": [str(pathlib.Path(path).resolve()) for path in said.quantized],
    }
    KEPT.mkdir(exist_ok=True)
    failed = measure(said.only or list(TABLES), models, said.dim, KEPT, run_here)
    write_pages()
    return 1 if failed else 0


if __name__ == "__main__":
    write_pages()

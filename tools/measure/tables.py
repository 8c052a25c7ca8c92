# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/performance.md that models and ops make on a CPU: measured all together, kept by machine, written into the page.

    tools/benchmark.py --all [--only NAME] [--quantized MODEL.onnx ...] [--dim NAME=SIZE] MODEL.onnx ...
    tools/measure/tables.py                     (writes the page again from what is kept)

A table is what a command prints: TABLES has the commands. Those that this machine can't show are left out, and said. What was measured lies in
docs/measured, a file a machine: a table that is measured again replaces what its machine had, with the day on which it was. The page has them
all, one machine after another, between its comments `<!-- NAME -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import pathlib
import platform
import re
import subprocess
import sys
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from pages import write_between

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/performance.md"
KEPT = ROOT / "docs/measured"
HELD = ("tools/measure/older_processor.py", "x86-64-v3", ".venv/bin/python")

#: Of /proc/cpuinfo's flags those that choose kernels, and what they are called.
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
    """What is measured by `command`, and on which models: those given, the quantized ones, or none."""

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


def this_machine() -> dict:
    """What is known of the processor: its name, what its kernels may use, how many threads it runs."""
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


def parse(lines: list[str]) -> list[dict]:
    """The markdown tables among the lines of a command: their heads and rows."""
    found: list[dict] = []
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


def summary(heads: list[str], rows: list[list[str]]) -> list[str]:
    """The line behind a table of models that has ratios."""
    if heads[0] != "model" or "ratio" not in heads:
        return []
    ratios = [float(row[heads.index("ratio")]) for row in rows if re.fullmatch(r"[\d.]+", row[heads.index("ratio")])]
    ratios = [ratio for ratio in ratios if ratio > 0]
    if not ratios:
        return []
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return ["", f"Geometric mean of the ratios {mean:.2f}, least {min(ratios):.2f}."]


def written(name: str, machines: list[dict]) -> list[str]:
    """What the page says of a table: of each machine that has it the machine, the day, the command, the figures."""
    lines: list[str] = []
    for machine in machines:
        if not (measured := machine["tables"].get(name)):
            continue
        features, cpus = ", ".join(measured["features"]), f"{measured['cpus']} processors"
        lines += ["", f"**{machine['title']}** ({features}; {cpus}), {measured['day']}: `{measured['command']}`"]
        for table in measured["tables"]:
            lines += ["", f"| {' | '.join(table['heads'])} |", "|" + " --- |" * len(table["heads"])]
            lines += [f"| {' | '.join(row)} |" for row in table["rows"]]
            lines += summary(table["heads"], table["rows"])
        if note := measured.get("note"):
            lines += ["", note]
    return lines[1:]


def kept(folder: pathlib.Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def write_page(page: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes into the page what the folder has of each table that the page names."""
    machines = kept(folder)
    for name in TABLES:
        if f"<!-- {name} -->" in page.read_text():
            write_between(page, name, written(name, machines))


def keep(folder: pathlib.Path, machine: dict, name: str, command: list[str], tables: list[dict]) -> None:
    path = folder / (re.sub(r"\W+", "-", machine["name"].lower()) + ".json")
    known = json.loads(path.read_text()) if path.exists() else {"title": machine["name"], "tables": {}}
    known |= {"processor": machine["processor"], "name": machine["name"]}
    before = known["tables"].get(name, {})
    day = datetime.date.today().isoformat()
    facts = {
        "features": machine["features"],
        "cpus": machine["cpus"],
    }  # which virtual machines of one processor differ in
    known["tables"][name] = {"day": day, **facts, "command": " ".join(command), "tables": tables}
    if note := before.get("note"):  # what a hand wrote of the figures before may not be true of these
        print(f"{path}: the note of {name} is left out: {note}", file=sys.stderr)
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def measure(
    names: list[str],
    models: dict[str, list[str]],
    dims: list[str],
    folder: pathlib.Path,
    run: Callable[[list[str]], list[str]],
) -> int:
    """Measures the tables and keeps each as soon as it is there; how many failed."""
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
    """The lines that the command prints, which are shown as they come."""
    lines = []
    command = [sys.executable if word == ".venv/bin/python" else word for word in command]
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return lines if process.returncode == 0 else []


def measure_all(said) -> int:
    """What `tools/benchmark.py --all` does."""
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
    write_page(PAGE, KEPT)
    return 1 if failed else 0


if __name__ == "__main__":
    write_page(PAGE, KEPT)

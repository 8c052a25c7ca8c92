# SPDX-License-Identifier: Apache-2.0
"""Exports architectures, compiles them, and compares their results and times.

    exports.py list
    exports.py run RECORDS.jsonl [NAME ...] [--seconds N] [--exporter E] [--keep FOLDER] [--again]
    exports.py table RECORDS.jsonl [-o docs/exports.md]

`run` processes the exports that have no record in RECORDS, each in a separate process, until the
time limit. A second `run` continues with the exports that have no record yet."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import sys
import time

from architectures import EXPORTERS, architectures

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ("torch", "torchvision", "timm", "transformers", "onnxscript", "onnx", "onnxruntime")


def records_of(path: pathlib.Path) -> dict[tuple[str, str], dict]:
    """Returns the last record of each export in the file."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    return {(r["name"], r["exporter"]): r for r in found}


def wanted(said, done) -> list:
    """Returns the exports to process, as pairs of an architecture and an exporter. All
    architectures are exported with their first exporter before one is exported with its second."""
    known = {a.name: a for a in architectures()}
    if unknown := sorted(set(said.names) - known.keys()):
        sys.exit(f"exports.py: no architecture is named {', '.join(unknown)}; see exports.py list")
    chosen = [known[name] for name in said.names or known]
    pairs = [(a, a.exporters[turn]) for turn in range(len(EXPORTERS)) for a in chosen if turn < len(a.exporters)]
    if said.exporter:
        pairs = [(a, said.exporter) for a in chosen]
    return [pair for pair in pairs if said.again or (pair[0].name, pair[1]) not in done]


def versions() -> dict[str, str]:
    import hewn

    return {"hewn": hewn.__version__, **{p: importlib.metadata.version(p) for p in PACKAGES}}


def machine() -> str:
    lines = [line.partition(":") for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()]
    told = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    name = told.get("model name", "?")
    numbers = f" (family {told['cpu family']}, model {told['model']})" if "cpu family" in told else ""
    return f"{os.cpu_count()} cores of {name}{numbers}"


def line_of(record) -> str:
    from table import ended, ratio

    shown = {k: v for k, v in record.items() if k in ("verdict", "hewn_error", "onnxruntime_error", "hewn_ms", "export_s", "compile_s", "hewn", "onnxruntime", "spread")}  # fmt: skip
    told = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items())
    return f"{record['name']} {record['exporter']}: {ended(record)} {told}, ratio {ratio(record):.2f}"


def run(said) -> None:
    done = records_of(said.records)
    left = wanted(said, done)
    for package in (*PACKAGES, "hewn", "measuring", "exporting", "torch.onnx._internal.exporter._core"):
        importlib.import_module(package)  # imported once; each export's process is forked from this one
    about = {"versions": versions(), "machine": machine()}
    order = {a.name: i for i, a in enumerate(architectures())}
    last = time.monotonic() + said.seconds
    from measuring import record

    while left and time.monotonic() < last:
        architecture, exporter = left.pop(0)
        start = time.monotonic()
        found = record(architecture, exporter, said.keep) | about
        found |= {"order": order[architecture.name], "wall_s": round(time.monotonic() - start)}
        with said.records.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(line_of(found), f"({found['wall_s']} s)", flush=True)
        if "nodes" not in found:
            # The export failed: tries the other exporter of this architecture next.
            left.sort(key=lambda pair: pair[0].name != architecture.name)


def table(said) -> None:
    import judging
    from table import details, page

    records = list(records_of(said.records).values())
    if not records:
        sys.exit(f"exports.py: {said.records} has no records")
    several = {key: sorted({r[key] if key == "machine" else ", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records}) for key in ("machine", "versions")}  # fmt: skip
    facts = {key: "; ".join(values) for key, values in several.items()}
    text = page(
        records,
        [a.name for a in architectures()],
        command="test/Exports/exports.py run RECORDS.jsonl\n    test/Exports/exports.py table RECORDS.jsonl -o docs/exports.md",
        bound=judging.BOUND,
        others=judging.OTHERS,
        spreads=judging.SPREADS,
        **facts,
    )
    if not said.output:
        print(text, details(records), sep="\n", end="")
        return
    output = pathlib.Path(said.output)
    output.write_text(text)
    output.with_name("exports-table.md").write_text(details(records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    listing = parts.add_parser("list", help="print the libraries, names and exporters")
    listing.set_defaults(do=lambda said: print(*(f"{a.library}\t{a.name}\t{','.join(a.exporters)}" for a in architectures()), sep="\n"))  # fmt: skip
    running = parts.add_parser("run", help="process the exports that have no record")
    running.add_argument("records", type=pathlib.Path)
    running.add_argument("names", nargs="*")
    running.add_argument("--seconds", type=float, default=float("inf"))
    running.add_argument(
        "--exporter", choices=EXPORTERS, help="use this exporter instead of those of each architecture"
    )
    running.add_argument("--keep", type=pathlib.Path, help="folder for ONNX files that fail or are slower")
    running.add_argument("--again", action="store_true", help="repeat exports that have a record")
    running.set_defaults(do=run)
    making = parts.add_parser("table", help="write docs/exports.md and docs/exports-table.md from the records")
    making.add_argument("records", type=pathlib.Path)
    making.add_argument("-o", "--output")
    making.set_defaults(do=table)
    said = parser.parse_args()
    said.do(said)


if __name__ == "__main__":
    main()

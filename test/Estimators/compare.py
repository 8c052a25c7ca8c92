# SPDX-License-Identifier: Apache-2.0
"""compare.py [--table PAGE] [NAME ...]: fits, exports and compiles estimators, and compares the
results with onnxruntime's and with the library's. Without names, compares all of them. The exit
status is 1 if results differ. --table writes the results to the table of a page."""

from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import sys
import textwrap

import comparison
import estimators

BEGIN, END = "<!-- estimators: begin -->", "<!-- estimators: end -->"
PACKAGES = ("scikit-learn", "skl2onnx", "onnxmltools", "xgboost-cpu", "lightgbm", "onnxruntime")


def table(rows: list[comparison.Compared]) -> str:
    """Returns the results as Markdown."""
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    lines = [
        textwrap.fill(f"Versions: {versions}.", 100, break_on_hyphens=False),
        "",
        "| estimator or pipeline | outputs | difference from onnxruntime | from the library |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {r.name} | {r.outputs} | {r.of_engine:.1e} | {r.of_library:.1e} |" for r in rows]
    return "\n".join(lines)


def write(page: pathlib.Path, rows: list[comparison.Compared]) -> None:
    """Replaces the table between the two markers of a page."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.split(END)[1]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--table", type=pathlib.Path, help="page whose table is replaced")
    parser.add_argument("names", nargs="*", help="estimators: " + "; ".join(estimators.ESTIMATORS))
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in estimators.ESTIMATORS]:
        parser.error(f"no such estimator: {', '.join(unknown)}")
    rows, wrong = [], 0
    for name in options.names or estimators.ESTIMATORS:
        try:
            rows.append(comparison.compare(name))
            print(f"{name}: {rows[-1].of_engine:.1e} {rows[-1].of_library:.1e}", flush=True)
        except Exception as problem:
            wrong += 1
            print(f"{name}: {type(problem).__name__}: {problem}", flush=True)
    print(f"{len(rows)} equal, {wrong} not")
    if options.table and not wrong:
        write(options.table, rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

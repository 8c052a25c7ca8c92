#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the op table of the importer (C++) and the page on ONNX support.

The source of both is the ONNX records in dialects/Graph/*.td.

A record specifies how the importer maps an ONNX op in a range of opset versions: to a graph op with
the operands and attributes of the node, or by a builder function. Invalid records are reported with
the location of their definition when the table is generated.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

# ODS type of an attribute -> name of the type as which the importer reads it from an ONNX node.
FORMS = {
    "I64Attr": "Integer",
    "SI64Attr": "Integer",
    "F32Attr": "Float",
    "F64Attr": "Double",
    "StrAttr": "String",
    "BoolAttr": "Bool",
    "DenseI64ArrayAttr": "Integers",
    "DenseF32ArrayAttr": "Floats",
    "DenseBoolArrayAttr": "Bools",
    "TypeAttr": "ElementType",
}


class Refused(Exception):
    """Reports that a record is invalid. The message starts with the location of the record."""


class Table:
    """The ONNX records of a .td file and of the files that it includes."""

    def __init__(self, defs: dict[str, Any]) -> None:
        self.defs = defs
        self.rows = []
        for name in defs["!instanceof"].get("GraphOp", []):
            op = defs[name]
            for record in op["onnx"]:
                self.rows.append(self.row(defs[record["def"]], op))
        for name in defs["!instanceof"].get("OnnxCompose", []):
            self.rows.append(self.row(defs[name], None))
        self.rows.sort(key=lambda r: (r["domain"], r["op"], r["since"]))
        for a, b in zip(self.rows, self.rows[1:]):
            if (a["domain"], a["op"]) == (b["domain"], b["op"]) and (a["until"] == 0 or a["until"] >= b["since"]):
                raise Refused(
                    f"{b['place']}: ONNX op '{b['op']}': versions from {b['since']} overlap the record of {a['place']}"
                )

    def is_a(self, value: dict[str, Any], kind: str) -> bool:
        """Returns true if the TableGen record of `value` is `kind` or derives from it."""
        return value["def"] == kind or kind in self.defs[value["def"]]["!superclasses"]

    def row(self, record: dict[str, Any], op: dict[str, Any] | None) -> dict[str, Any]:
        """Returns the row of a record; `op` is the graph op that has the record."""
        place = record["!locs"][0]
        row = {
            "place": place,
            "domain": record["onnxDomain"],
            "op": record["onnxName"],
            "since": record["onnxSince"],
            "until": record["onnxUntil"],
            "build": record["onnxBuild"],
            "limits": record["onnxLimits"],
            "graph": f"graph.{op['opName']}" if op else "",
            "attrs": [],
            "operands": [],
            "results": 0,
            "segments": False,
        }
        if row["until"] and row["until"] < row["since"]:
            raise Refused(f"{place}: ONNX op '{row['op']}' ends at version {row['until']}, before {row['since']}")
        if op and not row["build"]:
            self.direct(row, op, place)
        return row

    def direct(self, row: dict[str, Any], op: dict[str, Any], place: str) -> None:
        """Adds the operands and attributes of the graph op `op` to `row`.

        `row` is of a record that maps an ONNX node directly to this op. `place` is the location of
        the record.
        """
        what = f"{place}: ONNX op '{row['op']}' maps directly to {row['graph']}"
        for value, name in op["arguments"]["args"]:
            if not self.is_a(value, "Attr"):
                kind = (
                    "Variadic"
                    if self.is_a(value, "Variadic")
                    else "Optional"
                    if self.is_a(value, "Optional")
                    else "One"
                )
                row["operands"].append(kind)
                continue
            attr, required = self.defs[value["def"]], True
            while attr.get("baseAttr"):
                required = False
                value = attr["baseAttr"]
                attr = self.defs[value["def"]]
            if value["def"] not in FORMS:
                raise Refused(
                    f"{what}, whose attribute '{name}' is a {value['def']}: name a builder, or use one of {', '.join(FORMS)}"
                )
            row["attrs"].append((name, FORMS[value["def"]], required))
        row["segments"] = any(trait["def"] == "AttrSizedOperandSegments" for trait in op["traits"])
        loose = [kind for kind in row["operands"] if kind != "One"]
        if len(loose) > 1 and not row["segments"]:
            raise Refused(f"{what}, which has {len(loose)} optional operands but not AttrSizedOperandSegments")
        if "Variadic" in row["operands"][:-1]:
            raise Refused(f"{what}, whose variadic operand is not the last one: name a builder")
        for value, name in op["results"]["args"]:
            if self.is_a(value, "Variadic") or self.is_a(value, "Optional"):
                raise Refused(f"{what}, whose result '{name}' is optional or variadic: name a builder")
            row["results"] += 1


def builders_in(folder: pathlib.Path) -> set[str]:
    """Returns the names of the builder functions that the .cpp files in `folder` define."""
    found = set()
    for source in sorted(folder.rglob("*.cpp")):
        found.update(
            re.findall(r"^(?:llvm::|mlir::)?LogicalResult (\w+)\(OnnxNode &", source.read_text(), re.MULTILINE)
        )
    return found


def cpp(rows: list[dict[str, Any]]) -> str:
    """Returns the table as C++ code, which OnnxTable.cpp includes."""
    lines = ["namespace hewn::graph {"]
    lines += [f"llvm::LogicalResult {name}(OnnxNode &);" for name in sorted({r["build"] for r in rows if r["build"]})]
    lines += ["} // namespace hewn::graph", "namespace hewn::importer {", "namespace {"]
    for i, row in enumerate(rows):
        if row["attrs"]:
            attrs = ", ".join(
                f'{{"{name}", AttrForm::{form}, {str(required).lower()}}}' for name, form, required in row["attrs"]
            )
            lines.append(f"const DirectAttr attrs{i}[] = {{{attrs}}};")
        if row["operands"]:
            lines.append(
                f"const OperandForm operands{i}[] = {{{', '.join('OperandForm::' + k for k in row['operands'])}}};"
            )
    lines.append("const OnnxRecord records[] = {")
    for i, row in enumerate(rows):
        build = f"&graph::{row['build']}" if row["build"] else "nullptr"
        attrs = f"attrs{i}" if row["attrs"] else "{}"
        operands = f"operands{i}" if row["operands"] else "{}"
        until = row["until"] or "INT_MAX"
        lines.append(
            f'    {{"{row["domain"]}", "{row["op"]}", {row["since"]}, {until}, {build}, "{row["graph"]}", {attrs}, {operands}, '
            f"{row['results']}, {str(row['segments']).lower()}}},"
        )
    lines += ["};", "} // namespace", "} // namespace hewn::importer", ""]
    return "\n".join(lines)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Returns the table as Markdown for the page on ONNX support."""
    lines = [
        "# ONNX ops that hewn compiles",
        "",
        "Written by `tools/generate/onnx_table.py` from the records in `dialects/Graph/*.td`. An op that is not listed compiles if ONNX defines it by a",
        "function body, which the importer inlines.",
        "",
        "| op | domain | versions | becomes | limits |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        versions = f"{row['since']}-{row['until']}" if row["until"] else f"{row['since']}-"
        becomes = f"`{row['graph']}`" if row["graph"] else "other ops"
        lines.append(
            f"| {row['op']} | {row['domain'] or 'ai.onnx'} | {versions} | {becomes} | {'; '.join(row['limits'])} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the outputs that the command line selects, or compares them with the tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("td", type=pathlib.Path, help="dialects/Graph/Graph.td")
    parser.add_argument("-I", dest="include", action="append", default=[], help="include folder for .td files")
    parser.add_argument("--tblgen", default="llvm-tblgen-22")
    parser.add_argument("--cpp", type=pathlib.Path, help="write the table of the importer (C++)")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table for the docs")
    parser.add_argument("--check", type=pathlib.Path, help="fail if this file differs from the output of --markdown")
    args = parser.parse_args()
    command = [args.tblgen, "--dump-json", *(f"-I{path}" for path in args.include), str(args.td)]
    try:
        rows = Table(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)).rows
        defined = builders_in(args.td.parent)
        for row in [row for row in rows if row["build"] and row["build"] not in defined]:
            print(
                f"warning: {row['place']}: ONNX op '{row['op']}' names {row['build']}, which no .cpp file in {args.td.parent} defines"
            )
            rows.remove(row)
    except Refused as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr)
    if args.cpp:
        args.cpp.write_text(cpp(rows))
    if args.markdown:
        args.markdown.write_text(markdown(rows))
    if args.check and args.check.read_text() != markdown(rows):
        sys.exit(f"error: {args.check} is out of date; run `cmake --build --preset dev --target onnx-support`")


if __name__ == "__main__":
    main()

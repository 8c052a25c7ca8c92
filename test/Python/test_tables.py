# SPDX-License-Identifier: Apache-2.0
"""Tests that the tables in docs/measured match the stored figures, and that the charts are up to date.
Tests the command that measures and stores these figures."""

import importlib
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/measure"))
tables = importlib.import_module("tables")

PAGE = "# Page\n\n<!-- highest-1 -->\n<!-- end of highest-1 -->\n\nAnd more.\n"
PRINTED = [
    "model of a machine",
    "| model | hewn ms | ratio |",
    "| --- | --- | --- |",
    "| a | 1.000 | 2.00 |",
    "| b | 2.000 | 0.50 |",
    "| c | 2.000 | - |",
    "",
    "Geometric mean of the ratios 1.00, least 0.50.",
]


@pytest.mark.parametrize("page", sorted(tables.KEPT.glob("*.md")), ids=lambda page: page.stem)
def test_page_is_what_machines_said(page, tmp_path):
    copy = tmp_path / page.name
    copy.write_text(page.read_text())
    tables.write_page(copy, tables.KEPT)
    assert copy.read_text() == page.read_text(), f"tools/measure/tables.py writes {page} anew"


def test_overview_is_up_to_date(tmp_path):
    copy = tmp_path / "performance.md"
    copy.write_text(tables.OVERVIEW.read_text())
    tables.write_pages(copy)
    assert copy.read_text() == tables.OVERVIEW.read_text(), "tools/measure/tables.py writes docs/performance.md anew"


@pytest.mark.parametrize("name", tables.TABLES)
def test_each_table_has_one_page(name):
    assert sum(f"<!-- {name} -->" in page.read_text() for page in tables.KEPT.glob("*.md")) == 1


def test_chart_is_up_to_date():
    subprocess.run([sys.executable, ROOT / "tools/generate/performance_chart.py", "--check"], check=True)


def measured(tmp_path, run, names=("highest-1",), models=("x.onnx",)):
    given = {"models": list(models), "quantized": []}
    return tables.measure(list(names), given, ["seq=128"], tmp_path, run)


def test_measures_keeps_and_writes(tmp_path):
    commands = []
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for _ in range(2):  # a new measurement replaces the old one
        assert measured(tmp_path, lambda command: commands.append(command) or PRINTED) == 0
        tables.write_page(page, tmp_path)
    assert commands[0] == ["tools/benchmark.py", "--rounds=2", "--dim=seq=128", "x.onnx"]
    text = page.read_text()
    assert text.count("| a | 1.000 | 2.00 |") == 1 and "Geometric mean of the ratios 1.00, least 0.50." in text
    assert "\n    tools/benchmark.py --rounds=2 --dim=seq=128 MODEL.onnx ...\n" in text and text.endswith(
        "\n\nAnd more.\n"
    )


def test_machines_have_files_of_their_own(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for name in ("Intel family 6 model 143", "AMD family 25 model 1"):
        machine = {"processor": "?", "name": name, "features": ["AVX2"], "cpus": 2}
        monkeypatch.setattr(tables, "this_machine", lambda machine=machine: machine)
        assert measured(tmp_path, lambda command: PRINTED) == 0
    tables.write_page(page, tmp_path)
    assert [path.name for path in sorted(tmp_path.glob("*.json"))] == [
        "amd-family-25-model-1.json",
        "intel-family-6-model-143.json",
    ]
    assert page.read_text().index("AMD family 25") < page.read_text().index("Intel family 6")


def test_a_title_stays_and_a_note_goes(tmp_path, capsys):
    assert measured(tmp_path, lambda command: PRINTED) == 0
    (path,) = tmp_path.glob("*.json")
    known = json.loads(path.read_text())
    known["title"] = "This one"
    known["tables"]["highest-1"]["note"] = "Something else ran."
    path.write_text(json.dumps(known))
    assert measured(tmp_path, lambda command: PRINTED) == 0
    known = json.loads(path.read_text())
    assert known["title"] == "This one" and "note" not in known["tables"]["highest-1"]
    assert "Something else ran." in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, models, said",
    [("quantized-1", ["x.onnx"], "no quantized were given"), ("medium-1", ["x.onnx"], "this machine has no bf16")],
)
def test_what_cannot_be_shown_is_said(tmp_path, monkeypatch, capsys, name, models, said):
    monkeypatch.setattr(
        tables, "this_machine", lambda: {"processor": "?", "name": "old", "features": ["AVX2"], "cpus": 1}
    )
    assert measured(tmp_path, lambda command: PRINTED, [name], models) == 0
    assert said in capsys.readouterr().err and not list(tmp_path.glob("*.json"))


def test_a_command_that_fails_keeps_what_was_there(tmp_path, capsys):
    assert measured(tmp_path, lambda command: PRINTED) == 0
    (path,) = tmp_path.glob("*.json")
    before = path.read_text()
    assert measured(tmp_path, lambda command: []) == 1
    assert path.read_text() == before and "made no table" in capsys.readouterr().err

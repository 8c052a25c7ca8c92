# SPDX-License-Identifier: Apache-2.0
"""Tests tools/benchmark_gpu.py on the emulator, with a stand-in for PyTorch: its report for models
that run and for models that cannot run."""

import json
import os
import pathlib
import subprocess
import sys

import hewn
import onnx
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Target"))
from test_ptx import MODELS

TOOLS = pathlib.Path(__file__).parents[3] / "tools"
EMULATOR = pathlib.Path(os.environ["HEWN_EMULATOR"])


@pytest.fixture
def benchmark(tmp_path):
    """Returns a function that runs the tool and returns its JSON records and its output."""
    kernels = tmp_path / "model.ll"
    hewn._compile(MODELS["product"], kernels, emit="llvm", target="sm_80", transient=True)
    paths = [str(pathlib.Path(__file__).parent / "standin"), os.environ["PYTHONPATH"]]
    kept = {key: value for key, value in os.environ.items() if key != "HEWN_EMULATOR"}
    there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels), "PYTHONPATH": ":".join(paths)}

    def run(*arguments, **changes):
        command = [
            sys.executable,
            TOOLS / "benchmark_gpu.py",
            "--target",
            "sm_80",
            "--rounds",
            "1",
            "--seconds",
            "0.01",
        ]
        command += ["--json", tmp_path / "said.json", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=kept | there | changes)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "said.json").read_text()), done.stdout

    return run


def test_models_side_by_side(benchmark, tmp_path):
    """Prepares two models in parallel. PyTorch has no models of these names, and the report says
    so."""
    for name in ("first", "second"):
        onnx.save(MODELS["product"], tmp_path / f"{name}.onnx")
    records, text = benchmark("--jobs", "2", tmp_path / "first.onnx", tmp_path / "second.onnx")
    assert [record["model"] for record in records] == ["first", "second"]
    for record in records:
        assert record["error"] < 1e-6 and record["microseconds"]["hewn"] > 0 and record["kernels"]
        assert len(record["left_out"]) == 3 and "no model of this name" in record["left_out"][0]
        assert "onnxruntime has no CUDA provider here" in record["left_out"][2]
    assert "| a stand-in | precision |" in text and text.count("left out: ") == 6


def test_what_cannot_run_is_said(benchmark, tmp_path):
    """If the driver rejects the PTX, the report contains the error, and the tool continues with the
    next model."""
    for name in ("first", "second"):
        onnx.save(MODELS["product"], tmp_path / f"{name}.onnx")
    paths = (tmp_path / "first.onnx", tmp_path / "second.onnx")
    records, text = benchmark(*paths, "--engines", "hewn", HEWN_EMULATOR_FAIL="old-driver")
    assert len(records) == 2 and all("too old" in record["why"] for record in records)
    assert text.count("left out: ") == 2


def test_no_patience(benchmark, tmp_path):
    onnx.save(MODELS["product"], tmp_path / "first.onnx")
    records, _ = benchmark("--patience", "0.01", tmp_path / "first.onnx")
    assert "not finished within 0 s" in records[0]["why"] and "error" not in records[0]

# SPDX-License-Identifier: Apache-2.0
"""Tests tools/pack_gpu.py, which packs models for a machine with a GPU. A script in the pack runs
the models there and does not need hewn."""

import json
import os
import pathlib
import subprocess
import sys

import hewn
import numpy as np
import onnx

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Target"))
from test_ptx import MODELS

TOOLS = pathlib.Path(__file__).parents[3] / "tools"
EMULATOR = pathlib.Path(os.environ["HEWN_EMULATOR"])


def packed(folder, name, *options):
    """Returns a pack with one model, and the LLVM IR of its kernels for the emulator."""
    source, kernels = folder / f"{name}.onnx", folder / "model.ll"
    onnx.save(MODELS[name], source)
    pack = [sys.executable, TOOLS / "pack_gpu.py", folder / "pack", source, "--target", "sm_90a", *options]
    done = subprocess.run(pack, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hewn._compile(source, kernels, emit="llvm", target="sm_90a", transient=True)
    return folder / "pack", kernels


def run(pack, *options, **environment):
    """Runs the pack's script, without access to this build."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "HEWN"))}
    command = [sys.executable, pack / "run.py", "--check", *options]
    return subprocess.run(command, capture_output=True, text=True, env=kept | environment)


def test_packed(tmp_path):
    pack, kernels = packed(tmp_path, "product")
    assert {file.name for file in (pack / "product").iterdir()} == {
        "facts.json",
        "model.so.xz",
        "model.so.weights.xz",
        "tensors.npz",
    }
    there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels)}
    done = run(pack, "--json", tmp_path / "said.json", **there)
    assert done.returncode == 0 and "1 of 1 ran with correct results" in done.stdout, done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| product")]
    assert float(row.split("|")[2]) < 1e-6
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["right"] == 1 and said["models"][0]["model"] == "product" and said["models"][0]["error"] < 1e-6
    assert all(kernel["microseconds"] > 0 and kernel["launches"] for kernel in said["models"][0]["kernels"])
    assert len(said["models"][0]["kernels"]) > 0
    # On a machine without a CUDA driver, the report of the pack says that the model failed and why,
    # and the script completes.
    done = run(pack, "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["right"] == 0 and "no NVIDIA driver" in said["models"][0]["why"]
    assert done.returncode == 1 and "FAILED product" in done.stdout and "0 of 1 ran with correct results" in done.stdout
    assert "no NVIDIA driver" in done.stdout, done.stdout


def test_wrong_results_show(tmp_path):
    """The report of a pack's run flags wrong results, which the test causes by modified kernels."""
    pack, kernels = packed(tmp_path, "elementwise")
    text = kernels.read_text()
    kernels.write_text(text.replace("fmul", "fadd"))
    assert kernels.read_text() != text
    there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels)}
    done = run(pack, **there)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| elementwise")]
    assert not float(row.split("|")[2]) < 1e-3
    assert "FAILED elementwise: wrong" in done.stdout and "0 of 1 ran with correct results" in done.stdout


# Names of ONNX node tests: models with several outputs, with bytes, with bfloat16 as bits, with an
# empty tensor, and with a result that is not a float.
CASES = (
    "test_split_equal_parts_1d_opset18",
    "test_add_uint8",
    "test_cast_FLOAT_to_BFLOAT16",
    "test_argmax_keepdims_example",
    "test_erf",
    "test_softmax_axis_0",
    "test_reshape_allowzero_reordered",
    "test_layer_normalization_default_axis",
    "test_matmul_1d_1d",
    "test_gelu_tanh_1",
)


def test_cases_of_onnx(tmp_path, monkeypatch, capsys):
    """Runs ONNX node cases on the emulator, each with its own kernels, and compares them with
    ONNX's results. A case whose expected results are modified must fail."""
    tools = str(TOOLS)
    monkeypatch.setattr(sys, "path", [tools, str(TOOLS.parent / "test" / "NodeSuite"), *sys.path])
    import pack_gpu
    import test_node_suite

    found = {name: test_node_suite.cases()[name] for name in CASES}
    monkeypatch.setattr(test_node_suite, "cases", lambda: found)
    pack = tmp_path / "pack"
    monkeypatch.setattr(sys, "argv", ["pack_gpu.py", str(pack), "--suite", "--target", "sm_90a"])
    pack_gpu.main()
    assert f"{len(CASES)} ONNX cases" in capsys.readouterr().out
    models = []
    for name in CASES:
        kernels = tmp_path / name / "model.ll"
        kernels.parent.mkdir()
        hewn._compile(test_node_suite.cases()[name].model, kernels, emit="llvm", target="sm_90a", transient=True)
        there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels)}
        done = run(pack, "--only", f"^node-{name}$", "--json", tmp_path / "said.json", **there)
        assert done.returncode == 0, done.stdout
        models += json.loads((tmp_path / "said.json").read_text())["models"]
    assert len(models) == len(CASES) and all(one["right"] for one in models)
    facts = pack / f"node-{CASES[1]}" / "tensors.npz"
    with np.load(facts) as packed:
        np.savez(facts, **{key: value + (key.startswith("out ")) for key, value in packed.items()})
    kernels = tmp_path / CASES[1] / "model.ll"
    done = run(
        pack, "--only", f"^node-{CASES[1]}$", LD_LIBRARY_PATH=str(EMULATOR.parent), HEWN_EMULATOR_CODE=str(kernels)
    )
    assert done.returncode == 1 and f"FAILED node-{CASES[1]}: wrong" in done.stdout

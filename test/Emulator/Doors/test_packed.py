# SPDX-License-Identifier: Apache-2.0
"""Models that tools/pack_gpu.py packs for another machine, run there by the pack's own script, which needs no hewn."""

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
    """A folder of one model, and the code of its kernels for the emulator."""
    source, kernels = folder / f"{name}.onnx", folder / "model.ll"
    onnx.save(MODELS[name], source)
    pack = [sys.executable, TOOLS / "pack_gpu.py", folder / "pack", source, "--target", "sm_90a", *options]
    done = subprocess.run(pack, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hewn._compile(source, kernels, emit="llvm", target="sm_90a", transient=True)
    return folder / "pack", kernels


def run(pack, *options, **environment):
    """What the script says. It sees nothing of this build."""
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
    assert done.returncode == 0 and "1 of 1 ran, and are right" in done.stdout, done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| product")]
    assert float(row.split("|")[2]) < 1e-6
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["right"] == 1 and said["models"][0]["model"] == "product" and said["models"][0]["error"] < 1e-6
    assert all(kernel["microseconds"] > 0 and kernel["launches"] for kernel in said["models"][0]["kernels"])
    assert len(said["models"][0]["kernels"]) > 0
    # Without the driver the model fails with the reason, and the script goes on to its end.
    done = run(pack, "--json", tmp_path / "said.json")
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["right"] == 0 and "no NVIDIA driver" in said["models"][0]["why"]
    assert done.returncode == 1 and "FAILED product" in done.stdout and "0 of 1 ran, and are right" in done.stdout
    assert "no NVIDIA driver" in done.stdout, done.stdout


def test_wrong_results_show(tmp_path):
    """Kernels that give something else: the error says so."""
    pack, kernels = packed(tmp_path, "elementwise")
    text = kernels.read_text()
    kernels.write_text(text.replace("fmul", "fadd"))
    assert kernels.read_text() != text
    there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels)}
    done = run(pack, **there)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| elementwise")]
    assert not float(row.split("|")[2]) < 1e-3
    assert "FAILED elementwise: wrong" in done.stdout and "0 of 1 ran, and are right" in done.stdout


# A case of each: several outputs, bytes, bfloat16 by its bits, an empty tensor, a result that is no float.
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
    """Cases of ONNX's with ONNX's own results: right on the emulator, each with its own kernels; and one that is made wrong shows."""
    tools = str(TOOLS)
    monkeypatch.setattr(sys, "path", [tools, str(TOOLS.parent / "test" / "NodeSuite"), *sys.path])
    import pack_gpu
    import test_node_suite

    found = {name: test_node_suite.cases()[name] for name in CASES}
    monkeypatch.setattr(test_node_suite, "cases", lambda: found)
    pack = tmp_path / "pack"
    monkeypatch.setattr(sys, "argv", ["pack_gpu.py", str(pack), "--suite", "--target", "sm_90a"])
    pack_gpu.main()
    assert f"{len(CASES)} cases of ONNX's" in capsys.readouterr().out
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

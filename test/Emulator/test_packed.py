# SPDX-License-Identifier: Apache-2.0
"""Models that tools/pack_gpu.py packs for another machine, run there by the pack's own script, which needs no hewn."""

import os
import pathlib
import subprocess
import sys

import hewn
import onnx

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
from test_ptx import MODELS

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
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


def run(pack, **environment):
    """What the script says. It sees nothing of this build."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "HEWN"))}
    command = [sys.executable, pack / "run.py", "--check"]
    return subprocess.run(command, capture_output=True, text=True, env=kept | environment)


def test_packed(tmp_path):
    pack, kernels = packed(tmp_path, "product")
    assert {file.name for file in (pack / "product").iterdir()} == {
        "facts.json",
        "model.so",
        "model.so.weights.xz",
        "tensors.npz",
    }
    there = {"LD_LIBRARY_PATH": str(EMULATOR.parent), "HEWN_EMULATOR_CODE": str(kernels)}
    done = run(pack, **there)
    assert done.returncode == 0 and "1 of 1 ran, and are right" in done.stdout, done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| product")]
    assert float(row.split("|")[2]) < 1e-6
    # Without the driver the model fails with the reason, and the script goes on to its end.
    done = run(pack)
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

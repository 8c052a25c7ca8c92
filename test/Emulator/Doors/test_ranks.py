# SPDX-License-Identifier: Apache-2.0
"""Models for a GPU that are split over ranks. Each rank is a process with a context on the device.
The ranks exchange data through host memory."""

import pathlib
import subprocess
import sys

import emulated
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Numeric" / "Partition"))
from split import MODELS, hewn_command, run_split, whole
from test_partition import check


@pytest.mark.parametrize(
    "name, partition",
    [
        ("mlp", "tensor=2"),
        ("mlp", "pipeline=2"),
        ("mlp", "tensor=2,pipeline=2"),
        ("attention-fused", "tensor=2"),
        ("rows", "tensor=2"),
        ("control", "tensor=2"),
        ("recurrent", "pipeline=2"),
    ],
)
def test_ranks_give_what_one_gives(name, partition, tmp_path):
    model, feeds = MODELS[name]()
    source = tmp_path / "model.onnx"
    source.write_bytes(model.SerializeToString())
    for options in (["-o", tmp_path / "model.so"], ["-o", tmp_path / "model.ll", "--emit=llvm"]):
        compiled = hewn_command("compile", source, "--partition", partition, "--target=sm_80", "--quiet", *options)
        subprocess.run(compiled, check=True, timeout=300)
    driver = pathlib.Path(emulated.DRIVER._name).parent
    there = {"LD_LIBRARY_PATH": str(driver), "HEWN_EMULATOR_CODE": str(tmp_path / "model.ll")}
    check(run_split(tmp_path / "model.so", feeds, tmp_path, environment=there), whole(model, feeds))

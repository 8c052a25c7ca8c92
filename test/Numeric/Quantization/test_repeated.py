# SPDX-License-Identifier: Apache-2.0
"""Compilation with quantization shares code between its steps and analyzes operands in several
threads. Neither may affect the result."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from quantizing import ALWAYS, net, samples

# A script that runs in a new process, because the number of threads is determined at process start.
COMPILE = """
import os, sys
os.sched_setaffinity(0, set(map(int, sys.argv[1].split(","))))
import json, hewn
report = hewn.compile("net.onnx", quantize={"keep_float": False}, calibration="data", min_sqnr=60, output=sys.argv[2] + "/model.so").report
report.pop("milliseconds")
print(json.dumps(report))
"""


def test_threads_do_not_show(tmp_path):
    """Bias correction, smoothing, GPTQ and the sensitivity search give the same result on one core
    and on all cores."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("this process may run on one core only")
    (tmp_path / "net.onnx").write_bytes(net(1).SerializeToString())
    (tmp_path / "data").mkdir()
    for i, x in enumerate(samples((1, 3, 12, 12), 12)):
        np.savez(tmp_path / "data" / f"{i:02}.npz", x=x)
    reports = {}
    for name, used in (("one", cores[:1]), ("all", cores)):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", COMPILE, ",".join(map(str, used)), name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        reports[name] = json.loads(done.stdout)
    assert reports["one"] == reports["all"] and reports["one"]["returned_to_float"]
    for file in ("model.so", "model.so.weights", "model.h"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "all" / file).read_bytes()


@pytest.mark.parametrize("kind", [".so", ".a", ".o"])
def test_shared_code_does_not_show(tmp_path, kind):
    """Compiling from data, with code shared between steps, gives the same bytes as compiling from
    the quantization file. This includes the names of kernels."""

    def bytes_of(folder, **how):
        (tmp_path / folder).mkdir()
        output = tmp_path / folder / f"model{kind}"
        report = compile_to(output, **how)
        return {file.name: file.read_bytes() for file in (tmp_path / folder).iterdir()}, report

    def compile_to(output, quantize, data=None):
        text = output.parent / "how.json"
        text.write_text(json.dumps(quantize))
        (output.parent / "net.onnx").write_bytes(net(1).SerializeToString())
        command = [pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn", "compile", "net.onnx", "--quantize", "how.json"]
        command += ["-o", output.name, "--report", "report.json"]
        if data is not None:
            (output.parent / "data").mkdir()
            for i, x in enumerate(data):
                np.savez(output.parent / "data" / f"{i:02}.npz", x=x)
            command += ["--calibrate", "data"]
        subprocess.run(command, cwd=output.parent, capture_output=True, check=True)
        report = json.loads((output.parent / "report.json").read_text())
        for made in (text, output.parent / "report.json", *(output.parent / "data").glob("*.npz")):
            made.unlink()
        if data is not None:
            (output.parent / "data").rmdir()
        return report

    from_data, report = bytes_of("data", quantize=ALWAYS, data=samples((1, 3, 12, 12), 8))
    assert report["milliseconds"]["rounds"] >= 3
    from_text, _ = bytes_of("text", quantize=report["quantization"])
    assert from_data.keys() == from_text.keys() and f"model{kind}" in from_data
    assert all(from_data[name] == from_text[name] for name in from_data)

# SPDX-License-Identifier: Apache-2.0
"""`python -m hewn demo`."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from hewn import demo

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
import sessions


def test_the_model_reads_the_samples():
    model = onnx.parser.parse_model(demo.MODEL.read_text())
    onnx.checker.check_model(model, full_check=True)
    session = sessions.plain_session(model)
    samples = demo.samples()
    assert [digit for digit, _ in samples] == [3, 7, 8]
    for digit, image in samples:
        assert image.shape == (1, 64) and image.min() >= 0 and image.max() <= 16
        assert np.argmax(session.run(None, {"image": image})[0]) == digit


def test_demo():
    done = subprocess.run([sys.executable, "-m", "hewn", "demo"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert re.search(r"compiled .*digits\.onnxtxt in [\d.]+ s: \d+ kB", done.stdout)
    assert re.search(r"3 \([\d.]+%\) +7 \([\d.]+%\) +8 \([\d.]+%\)", done.stdout)
    times = re.search(r"([\d.]+) us by hewn, ([\d.]+) us by onnxruntime .*; .*differ by at most (\S+)\n", done.stdout)
    assert float(times[3]) < 1e-5


def test_demo_without_onnxruntime(tmp_path):
    """The demonstration needs nothing but NumPy."""
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    command = [sys.executable, "-m", "hewn", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path})
    assert "(install onnx and onnxruntime to compare)" in done.stdout


def test_arguments_are_refused():
    done = subprocess.run([sys.executable, "-m", "hewn", "demo", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: hewn demo takes no arguments\n")


def test_the_program_names_the_package():
    program = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    done = subprocess.run([program, "demo"], capture_output=True, text=True)
    assert done.returncode == 1 and "python3 -m hewn demo" in done.stderr

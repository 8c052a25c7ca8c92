# SPDX-License-Identifier: Apache-2.0
"""Tests hewn bench and hewn profile on a device. The device's clock times the kernels; the
emulator's times do not predict those of a GPU."""

import json
import os
import pathlib
import subprocess

import hewn
import onnx
import pytest
from onnx import TensorProto, helper, parser

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
net (float[rows, 32] x) => (float[rows, 32] y) { s = Softmax(x)  y = CumSum(s, axis) }"""


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """Returns a library with two kernels, one of which is launched several times, next to its LLVM
    IR for the emulator."""
    folder = tmp_path_factory.mktemp("times")
    net = parser.parse_model(TEXT)
    net.graph.initializer.append(helper.make_tensor("axis", TensorProto.INT64, [], [0]))
    onnx.save(net, folder / "net.onnx")
    hewn._compile(folder / "net.onnx", folder / "model.so", target="sm_80", transient=True)
    hewn._compile(folder / "net.onnx", folder / "model.ll", emit="llvm", target="sm_80", transient=True)
    return folder / "model.so"


def said(artifact, command, *options):
    """Returns the output of a hewn command for the library, with the emulator as the driver."""
    there = {
        "LD_LIBRARY_PATH": str(pathlib.Path(os.environ["HEWN_EMULATOR"]).parent),
        "HEWN_EMULATOR_CODE": str(artifact.with_suffix(".ll")),
    }
    tool = [f"{os.environ['HEWN_TOOLS']}/hewn", command, artifact, "--dim", "rows=4", "--seconds", "0.01", *options]
    done = subprocess.run(tool, capture_output=True, text=True, env=os.environ | there)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bench(artifact):
    record = json.loads(said(artifact, "bench", "--json"))
    assert record["device"]["launches"] > 0
    assert record["device"]["kernel_milliseconds"] > 0
    assert f"in {record['device']['launches']} kernel" in said(artifact, "bench")


def test_profile(artifact, tmp_path):
    trace = tmp_path / "trace.json"
    record = json.loads(said(artifact, "profile", "--json", "--trace", trace, "--html", tmp_path / "page.html"))
    run = record["fastest_run"]
    assert run["on_device"] and run["launches"] == sum(kernel["launches"] for kernel in run["kernels"])
    kernels = sum(kernel["milliseconds"] for kernel in run["kernels"])
    assert 0 < kernels <= run["milliseconds"]
    assert abs(run["milliseconds"] - kernels - run["between_kernels_milliseconds"]) < 1e-6 * run["milliseconds"] + 1e-9
    events = json.loads(trace.read_text())["traceEvents"]
    lanes = {event["args"]["name"]: event["tid"] for event in events if event["name"] == "thread_name"}
    slices = [event for event in events if event.get("cat") == "kernel"]
    assert len(slices) == run["launches"] and {event["tid"] for event in slices} == {lanes["device"]}
    assert "copies, launches, host code" in said(artifact, "profile")


def test_the_host_has_no_device(tmp_path):
    hewn._compile(parser.parse_model(TEXT.replace("y = CumSum(s, axis)", "y = Neg(s)")), tmp_path / "model.so")
    record = json.loads(said(tmp_path / "model.so", "bench", "--json"))
    assert "device" not in record
    assert not json.loads(said(tmp_path / "model.so", "profile", "--json"))["fastest_run"]["on_device"]

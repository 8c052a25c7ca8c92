# SPDX-License-Identifier: Apache-2.0
"""Tests optimization remarks: they report, by ONNX node, ops that were not fused, laid out or
computed in place, with the reason."""

import json
import os
import pathlib
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
REMARKUTIL = "llvm-remarkutil-22"


@pytest.fixture(scope="module")
def attention():
    """Returns a model with two missed fusions: of Exp into the matmul that reads its result, and of
    the transpose after the matmul with Tanh."""
    return helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Exp", ["x"], ["e"], name="exp"),
                helper.make_node("MatMul", ["e", "w"], ["p"], name="product"),
                helper.make_node("Transpose", ["p"], ["f"], name="turn"),
                helper.make_node("Tanh", ["f"], ["y"], name="tanh"),
            ],
            "remarks",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 4])],
            [onnx.numpy_helper.from_array(np.ones((8, 16), np.float32), "w")],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )


FUSED = {
    (
        "product",
        "exp",
        "a contraction reads each element of its operands many times, so they are not recomputed in its kernel",
    ),
    ("turn", "tanh", "a reshape or another view between the two ops changes the iteration space"),
}


def fusions(remarks):
    return {(r["node"], r["producer"], r["reason"]) for r in remarks if r["name"] == "NotFused"}


def test_json(attention, tmp_path):
    module = hewn.compile(attention, remarks=tmp_path / "remarks.json")
    assert module.run({"x": np.zeros((4, 8), np.float32)})["y"].shape == (16, 4)
    remarks = json.loads((tmp_path / "remarks.json").read_text())
    assert all(r["type"] == "missed" and r["pass"].startswith("hewn-") for r in remarks)
    assert fusions(remarks) == FUSED


def test_yaml_is_what_llvm_reads(attention, tmp_path):
    """LLVM's llvm-remarkutil reads the file of remarks. A remark's function is the ONNX node."""
    hewn.compile(attention, remarks=tmp_path / "remarks.yaml")
    for node, producer, reason in FUSED:
        command = [REMARKUTIL, "filter", "--parser=yaml", "--remark-name=NotFused", f"--function={node}", "-o", "-"]
        found = subprocess.run([*command, tmp_path / "remarks.yaml"], capture_output=True, text=True, check=True).stdout
        assert found.count("--- !Missed") == 1 and f"Producer:        {producer}" in found and reason in found


def test_each_machine_has_its_own(attention, tmp_path):
    hewn.compile(attention, target=["x86-64-v2", "x86-64-v3"], remarks=tmp_path / "r.json")
    remarks = json.loads((tmp_path / "r.json").read_text())
    assert {r["variant"] for r in remarks} == {"x86-64-v2", "x86-64-v3"}


def test_an_artifact_that_was_kept_is_compiled_again(attention, tmp_path):
    """With --remarks, the compiler compiles a model again although its artifact is cached, because
    the cache contains no remarks."""
    for name in ["first.json", "second.json"]:
        hewn.compile(attention, cache_dir=tmp_path / "cache", remarks=tmp_path / name)
    assert fusions(json.loads((tmp_path / "second.json").read_text())) == FUSED


def test_a_file_that_can_not_be_written(attention, tmp_path):
    with pytest.raises(hewn.CompileError, match=r"can't write '.*nowhere/r\.json'"):
        hewn.compile(attention, remarks=tmp_path / "nowhere" / "r.json")


def test_a_file_that_is_full(attention):
    with pytest.raises(hewn.CompileError, match="can't write /dev/full: No space left on device"):
        hewn.compile(attention, remarks="/dev/full")


def test_a_file_of_their_own(attention, tmp_path):
    """The path of the remarks must differ from the paths of the artifact's files, because one of
    the two would overwrite the other."""
    onnx.save(attention, tmp_path / "m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "linked.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    for taken in ["m.onnx", "linked.onnx", "m.so"]:
        with pytest.raises(
            hewn.CompileError, match=r"--remarks needs a file of its own: '.*' is the model or the output"
        ):
            hewn.compile(tmp_path / "m.onnx", output=tmp_path / "m.so", remarks=tmp_path / taken)
    with pytest.raises(hewn.CompileError, match="--remarks needs a file of its own, not '-'"):
        hewn.compile(tmp_path / "m.onnx", remarks="-")
    assert (tmp_path / "m.onnx").read_bytes() == before


def test_names_that_are_no_text(attention, tmp_path):
    """Names in a model can be any bytes. The file of remarks is valid YAML nevertheless."""
    strange = attention.SerializeToString().replace(b"product", b'p\xff"\n{}:')
    hewn.compile(strange, remarks=tmp_path / "r.json")
    hewn.compile(strange, remarks=tmp_path / "r.yaml")
    assert any(r["node"].startswith("p\\xff") for r in json.loads((tmp_path / "r.json").read_text()))
    command = [REMARKUTIL, "filter", "--parser=yaml", "--remark-name=NotFused", "-o", "-", tmp_path / "r.yaml"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.count("--- !Missed") == len(FUSED)


def test_explain_tells_them_by_reason(attention, tmp_path):
    onnx.save(attention, tmp_path / "m.onnx")
    told = subprocess.run([TOOL, "explain", tmp_path / "m.onnx"], capture_output=True, text=True, check=True)
    text = told.stdout[told.stdout.index("missed optimizations:") :]
    assert (
        "NotFused x1: a reshape or another view between the two ops changes the iteration space\n    turn, producer tanh"
        in text
    )

# SPDX-License-Identifier: Apache-2.0
"""Checks that no masked load or store is wider than a register, and that no masked store has a
constant mask of one lane.

LLVM 22 splits a masked access that is wider than a register. Without AVX-512, the result is wrong
if all lanes of a register are masked out: LLVM then accesses the whole register. With AVX-512, a
masked store of one lane writes as many bytes as the element had before truncation.
"""

import re
import subprocess

import numpy as np
import onnx
import pytest
from libraries import HEWN
from onnx import TensorProto, helper, numpy_helper

REGISTERS = {"x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}


def model():
    """Builds a model with zero padding of elements of all sizes and slices with a step of two, with
    constant and symbolic dims."""
    sizes = [(TensorProto.INT8, 1), (TensorProto.FLOAT16, 2), (TensorProto.FLOAT, 4), (TensorProto.INT64, 8)]
    nodes, inputs, outputs = [], [], []
    for kind, size in sizes:
        nodes += [helper.make_node("Pad", [f"x{size}", "pads"], [f"y{size}"])]
        nodes += [helper.make_node("Slice", [f"x{size}", "one", "most", "two", "two"], [f"z{size}"])]
        inputs += [helper.make_tensor_value_info(f"x{size}", kind, [2, "rows", 44])]
        outputs += [helper.make_tensor_value_info(f"{name}{size}", kind, None) for name in "yz"]
    constants = {"pads": [0, 1, 0, 0, 1, 3], "one": [1], "two": [2], "most": [1000]}
    initializers = [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "masked", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize("target", REGISTERS)
def test_masked_accesses(target, tmp_path):
    onnx.save(model(), tmp_path / "m.onnx")
    command = [HEWN, "compile", tmp_path / "m.onnx", f"--target={target}", "--emit=llvm", "-o", tmp_path / "m.ll"]
    subprocess.run(command, check=True)
    found = re.findall(r"call .*@llvm\.masked\.(?:load|store)\.v(\d+)(?:i|f|bf)(\d+)", (tmp_path / "m.ll").read_text())
    bytes_of = [int(lanes) * int(bits) // 8 for lanes, bits in found]
    assert bytes_of and max(bytes_of) == REGISTERS[target]


def narrowed(kind):
    """Builds a model that casts rows of floats to a smaller type. A row is one element longer than
    a vector."""
    nodes = [helper.make_node("Cast", [f"x{lanes}"], [f"y{lanes}"], to=kind) for lanes in (4, 8, 16)]
    inputs = [helper.make_tensor_value_info(f"x{lanes}", TensorProto.FLOAT, [lanes + 1]) for lanes in (4, 8, 16)]
    outputs = [helper.make_tensor_value_info(f"y{lanes}", kind, [lanes + 1]) for lanes in (4, 8, 16)]
    graph = helper.make_graph(nodes, "narrowed", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.INT16])
@pytest.mark.parametrize("target", REGISTERS)
def test_single_lanes(target, kind, tmp_path):
    onnx.save(narrowed(kind), tmp_path / "m.onnx")
    command = [HEWN, "compile", tmp_path / "m.onnx", f"--target={target}", "--emit=llvm", "-o", tmp_path / "m.ll"]
    subprocess.run(command, check=True)
    code = (tmp_path / "m.ll").read_text()
    masks = re.findall(r"call void @llvm\.masked\.store.*<\d+ x i1> <([^>]*)>\)", code)
    assert all(mask.count("true") != 1 for mask in masks)
    width = {TensorProto.UINT8: "i8", TensorProto.INT16: "i16"}[kind]
    assert re.search(rf"store {width} ", code)

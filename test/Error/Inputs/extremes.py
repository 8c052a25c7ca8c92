# SPDX-License-Identifier: Apache-2.0
"""Models with unusual names: a terminal escape sequence, and bytes that are not valid UTF-8."""

import pathlib
import sys

from onnx import TensorProto, helper

for file, name in (("name", "\x1b[31mred \x9b"), ("bytes", "näme!")):
    info = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [2]) for v in "xy"]
    graph = helper.make_graph([helper.make_node("Frobnicate", ["x"], ["y"], name=name)], "g", info[:1], info[1:])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()
    pathlib.Path(sys.argv[1], f"{file}.onnx").write_bytes(data.replace("näme!".encode(), "näme".encode() + b"\xff"))

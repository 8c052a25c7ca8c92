# SPDX-License-Identifier: Apache-2.0
"""Compile time grows linearly with the number of nodes (figures: tools/measure/compile_time.py)."""

import os
import pathlib
import resource
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools" / "measure"))
import compile_time

# Node counts of those model forms that do not use the default of 3000 nodes: more for forms that
# compile fast, fewer for slow ones.
COUNTS = {
    "fan": 20000,
    "open_concat": 2000,
    "open_live": 1000,
    "open_adds": 240,  # with more than about 110 nodes, dims are computed at run time
    "open_concats": 1000,
    "open_slices": 1000,
    "open_columns": 2000,
    "open_parts": 1000,
    "open_most": 1000,
    "open_wheres": 200,
    "open_pads": 500,
    "open_cuts": 400,
    "open_picks": 1000,
    "open_sizes": 200,
    "open_pools": 500,
}


@pytest.mark.parametrize("form", compile_time.FORMS)
def test_compile_time_is_linear(form):
    def fastest(count):
        return min(compile_time.seconds(compile_time.FORMS[form](count), "plan") for _ in range(2))

    count = COUNTS.get(form, 3000)
    # Other processes slow down single measurements; a form that is not linear fails each time.
    assert any(fastest(count) < 3 * fastest(count // 2) + 0.05 for _ in range(3))


def seconds_to_code(path):
    """Compiles the model to a library next to it. Returns the compiler's user time in seconds."""
    tool = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([tool, "compile", path, "--target", "x86-64-v3", "-o", path.with_name("m.so")], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_code_of_many_inputs_and_outputs_is_linear(tmp_path):
    """Compiles a model with many inputs and outputs to machine code. The code that loads their
    pointers is one long basic block, and some LLVM passes take time quadratic in its length."""

    def user_seconds(count):
        nodes = [helper.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(count)]
        inputs, outputs = (
            [helper.make_tensor_value_info(f"{kind}{i}", TensorProto.FLOAT, [16]) for i in range(count)]
            for kind in "xy"
        )
        path = tmp_path / f"{count}.onnx"
        onnx.save(helper.make_model(helper.make_graph(nodes, "star", inputs, outputs), ir_version=9), path)
        return seconds_to_code(path)

    few, many = (min(user_seconds(count) for _ in range(2)) for count in (1000, 4000))
    assert many < 6 * few + 0.1, (few, many)


@pytest.mark.parametrize(
    "form, count",
    [
        ("open_concat", 1000),
        ("open_columns", 1000),
        ("open_parts", 1000),
        ("open_concats", 1000),
        ("open_most", 200),
        ("open_pads", 200),
        ("open_cuts", 200),
        ("open_sizes", 40),
        ("open_pools", 200),
    ],
)
def test_code_of_open_dims_takes_no_time(form, count, tmp_path):
    """Compiles models with symbolic dims to machine code. The compiler merges identical kernels.
    The test bounds the time that LLVM takes for the remaining ones."""

    def fastest(size):
        onnx.save(compile_time.FORMS[form](size), tmp_path / "open.onnx")
        return min(seconds_to_code(tmp_path / "open.onnx") for _ in range(2))

    few, many = fastest(count // 2), fastest(count)
    assert many < 3 * few + 0.1, (few, many)


@pytest.mark.parametrize(
    "op, attributes", [("Conv", {"pads": [2**31 - 1] * 2}), ("ConvTranspose", {"output_padding": [2**31]})]
)
def test_rows_are_not_counted_one_by_one(op, attributes, tmp_path):
    """The input has 2^32 rows. The compiler computes in closed form which rows overlap the padding,
    and does not enumerate rows."""
    nodes = [
        helper.make_node("Constant", [], ["w"], value_floats=[1.0] * 12),
        helper.make_node("Constant", [], ["s"], value_ints=[2, 2, 3]),
        helper.make_node("Reshape", ["w", "s"], ["v"]),
        helper.make_node(op, ["x", "v"], ["y"], **attributes),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4])
    y = helper.make_value_info("y", onnx.TypeProto())
    onnx.save(helper.make_model(helper.make_graph(nodes, "long", [x], [y]), ir_version=9), tmp_path / "long.onnx")
    tool = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([tool, "check", tmp_path / "long.onnx", "--compile-only"], check=True, timeout=600)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2


def test_more_nodes_than_the_limit_compile_where_it_is_raised(tmp_path):
    """Compiles a chain of 2^17 nodes, twice the default limit, to machine code.
    test/Error/limits.test checks its import."""
    folder = pathlib.Path(__file__).parents[1] / "Error" / "Inputs"
    subprocess.run([sys.executable, folder / "limits.py", tmp_path], check=True)
    tool = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    flags = ["--compile-only", "--limit", "nodes=1000000"]
    subprocess.run([tool, "check", tmp_path / "calls.onnx", *flags], check=True, timeout=600)

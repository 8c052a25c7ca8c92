# SPDX-License-Identifier: Apache-2.0
"""Innermost loops as LLVM's machine code analyser sees them: figures that no noise can move.

Whole models keep all vectors in registers. Each case compiles a model of one product for a machine that need not be this one, and
looks at the loop with the most products: how many there are, that no accumulator leaves its register inside, and the cycles that
one trip takes by the machine's model. A figure may be changed with a reason.
"""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from libraries import MODELS
from onnx import TensorProto, helper

HEWN = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
MCA = shutil.which("llvm-mca-22") or "/usr/lib/llvm-22/bin/llvm-mca"


# What ends a loop, of x86 and of AArch64.
BRANCH = r"(j\w+|b\.\w+|cbn?z|tbn?z|b)\s"


def product(rows, summed, columns):
    weights = np.ones((summed, columns), np.float32)
    return model("MatMul", [rows, summed], weights)


def convolution(channels, features, size, groups=1, window=3):
    weights = np.ones((features, channels // groups, window, window), np.float32)
    return model("Conv", [1, channels, size, size], weights, group=groups, pads=[window // 2] * 4)


def integers(rows, summed, columns):
    weights = np.ones((summed, columns), np.int8)
    return model("MatMulInteger", [rows, summed], weights, kinds=(TensorProto.UINT8, TensorProto.INT32))


def model(op, shape, weights, kinds=(TensorProto.FLOAT, TensorProto.FLOAT), **attributes):
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w"], ["y"], **attributes)],
        "one",
        [helper.make_tensor_value_info("x", kinds[0], shape)],
        [helper.make_tensor_value_info("y", kinds[1], None)],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# model, flags, machine, the product's instruction, how many in the loop, cycles a trip by the machine's model (None: its model
# is wrong for this instruction)
CASES = {
    "product-512": (product(96, 256, 1024), [], "znver4", "vfmadd", 24, 24.0),
    # LLVM reckons Zen 5 with Zen 4's model, whose cycles are not its own.
    "product-512-zen5": (product(96, 256, 1024), [], "znver5", "vfmadd", 24, None),
    "product-512-intel": (product(96, 256, 1024), [], "icelake-server", "vfmadd", 24, 24.0),
    "product-256": (product(96, 256, 1024), [], "haswell", "vfmadd", 12, 6.0),
    "narrow-columns": (product(96, 256, 32), [], "znver4", "vfmadd", 28, 28.0),
    "one-row": (product(1, 256, 1024), [], "znver4", "vfmadd", 4, 4.0),
    "convolution": (convolution(64, 64, 56, window=5), [], "znver4", "vfmadd", 24, 24.0),
    "minimal-filtering": (convolution(64, 64, 56), [], "znver4", "vfmadd", 20, 20.0),
    "minimal-filtering-256": (convolution(64, 64, 56), [], "haswell", "vfmadd", 12, 6.0),
    # Of 14 columns beside the border by three taps, one product is with the border, and left out.
    "depthwise": (convolution(128, 128, 28, groups=128), [], "znver4", "vfmadd", 41, 41.0),
    "matrix-bfloat16": (product(96, 256, 1024), ["--float32-precision=medium"], "sapphirerapids", "tdpbf16ps", 4, None),
    "matrix-three": (product(96, 256, 1024), ["--float32-precision=high"], "sapphirerapids", "tdpbf16ps", 12, None),
    "matrix-six": (product(96, 256, 1024), [], "sapphirerapids", "tdpbf16ps", 24, None),
    "matrix-six-line": (convolution(256, 256, 14, window=5), [], "sapphirerapids", "tdpbf16ps", 24, None),
    "bfloat16": (product(96, 256, 1024), ["--float32-precision=medium"], "znver4", "vdpbf16ps", 24, None),
    # Five rows by four vectors, four steps along the sum at a time: two products a cycle, and four.
    "product-n1": (product(100, 256, 1024), [], "neoverse-n1", "fmla", 80, 40.0),
    "product-v1": (product(100, 256, 1024), [], "neoverse-v1", "fmla", 80, 20.0),
    "product-v2": (product(100, 256, 1024), [], "neoverse-v2", "fmla", 80, 20.0),
    # By LLVM's model of Apple's processors, which has three pipes for vectors; M1 has four.
    "product-m1": (product(100, 256, 1024), [], "apple-m1", "fmla", 80, 26.7),
    "integers-n1": (integers(100, 256, 1024), [], "neoverse-n1", "sdot", 80, 40.0),
    "integers-v2": (integers(100, 256, 1024), [], "neoverse-v2", "dot", 80, 20.0),
    "integers-m1": (integers(100, 256, 1024), [], "apple-m1", "sdot", 80, 26.7),
    # LLVM 22 takes a lane of bfloat16s as a factor only where they don't come from memory: each is spread first.
    "bfloat16-v2": (product(100, 256, 1024), ["--float32-precision=medium"], "neoverse-v2", "bfdot", 80, 25.0),
    # Four rows, which divide a line of 56.
    "convolution-n1": (convolution(64, 64, 56, window=5), [], "neoverse-n1", "fmla", 64, 33.3),
}


def loops(text):
    """Bodies of the loops without branches inside, as lists of instructions."""
    found, label, body = [], None, []
    for line in text.splitlines():
        line = re.split(r"#(?! ?-?\d)|//", line)[0].strip()  # "#1" is a number of AArch64's
        if re.fullmatch(r"\.L\w+:", line):
            label, body = line[:-1], []
        elif line and not line.startswith(".") and label:
            body.append(line)
            if re.match(BRANCH, line):
                if line.split()[-1] == label:
                    found.append(body)
                label = None
    return found


def assemble(proto, folder, machine, *flags):
    onnx.save(proto, folder / "one.onnx")
    assembly = folder / "one.s"
    command = [HEWN, "compile", folder / "one.onnx", "--emit=asm", f"--target={machine}", "-o", assembly, *flags]
    subprocess.run(command, check=True)
    return assembly.read_text()


# (Machines of sixteen registers spill in exponentials: their formulas' factors alone are more.)
@pytest.mark.parametrize("machine", ["x86-64-v4", "znver4", "sapphirerapids"])
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_spilled(name, machine, tmp_path):
    """No innermost loop of a whole model puts vector registers on the stack, but for one sum of a tile that leaves no register over, where the
    allocator keeps a factor of what follows the sums in it: it is stored in the time of the other products."""
    bodies = loops(assemble(MODELS[name](), tmp_path, machine))
    assert len(bodies) >= 3
    for body in bodies:
        spilled = [line for line in body if re.search(r"[xyz]mm\d+.*, -?\d*\(%rsp\)$", line)]
        products = sum("vfmadd" in line for line in body)
        assert len(spilled) <= (products >= 24), "\n".join(body)


@pytest.mark.parametrize("case", CASES)
def test_inner_loop(case, tmp_path):
    proto, flags, machine, instruction, count, cycles = CASES[case]
    body = max(loops(assemble(proto, tmp_path, machine, *flags)), key=lambda b: sum(instruction in line for line in b))
    assert sum(instruction in line for line in body) == count
    spills = [
        line for line in body if (re.search(r"[xyzt]mm", line) and "(%rsp" in line) or re.search(r"\bq\d+.*\[sp", line)
    ]
    assert not spills, "an accumulator is spilled"
    if cycles is None:
        return
    block = tmp_path / "block.s"
    block.write_text("\n".join(line for line in body if not re.match(BRANCH, line)) + "\n")
    architecture = "aarch64" if re.match("neoverse|apple|cortex", machine) else "x86_64"
    report = subprocess.run(
        [MCA, f"-mcpu={machine}", f"-mtriple={architecture}", "-iterations=100", block],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert float(re.search(r"Block RThroughput:\s*([\d.]+)", report)[1]) <= cycles * 1.02

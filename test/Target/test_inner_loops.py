# SPDX-License-Identifier: Apache-2.0
"""Analyzes innermost loops with LLVM's machine code analyzer, llvm-mca. Its figures are
deterministic.

Each case compiles a model with one contraction for a target that need not be the host. It checks
the loop with the most multiply-adds: their number, that no accumulator is spilled, and the cycles
per iteration by LLVM's processor model. Models of several layers must keep all vectors in
registers. A change of a figure needs a reason.
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


# Branch instructions of x86 and AArch64 that end a loop.
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


# Cases: model, flags, target, multiply-add instruction, number of these instructions in the loop,
# and cycles per iteration by LLVM's processor model (None if that is wrong for the instruction).
CASES = {
    "product-512": (product(96, 256, 1024), [], "znver4", "vfmadd", 24, 24.0),
    # LLVM uses its model of Zen 4 for Zen 5, although Zen 5 needs other numbers of cycles.
    "product-512-zen5": (product(96, 256, 1024), [], "znver5", "vfmadd", 24, None),
    "product-512-intel": (product(96, 256, 1024), [], "icelake-server", "vfmadd", 24, 24.0),
    "product-256": (product(96, 256, 1024), [], "haswell", "vfmadd", 12, 6.0),
    "narrow-columns": (product(96, 256, 32), [], "znver4", "vfmadd", 28, 28.0),
    "one-row": (product(1, 256, 1024), [], "znver4", "vfmadd", 4, 4.0),
    "convolution": (convolution(64, 64, 56, window=5), [], "znver4", "vfmadd", 24, 24.0),
    "minimal-filtering": (convolution(64, 64, 56), [], "znver4", "vfmadd", 20, 20.0),
    "minimal-filtering-256": (convolution(64, 64, 56), [], "haswell", "vfmadd", 12, 6.0),
    # A tile of 14 columns next to the padding, with three window columns each. One multiply-add
    # would read padding and is omitted.
    "depthwise": (convolution(128, 128, 28, groups=128), [], "znver4", "vfmadd", 41, 41.0),
    "matrix-bfloat16": (product(96, 256, 1024), ["--float32-precision=medium"], "sapphirerapids", "tdpbf16ps", 4, None),
    "matrix-three": (product(96, 256, 1024), ["--float32-precision=high"], "sapphirerapids", "tdpbf16ps", 12, None),
    "matrix-six": (product(96, 256, 1024), [], "sapphirerapids", "tdpbf16ps", 24, None),
    "matrix-six-line": (convolution(256, 256, 14, window=5), [], "sapphirerapids", "tdpbf16ps", 24, None),
    "matrix-bytes": (integers(96, 256, 1024), [], "sapphirerapids", "tdpbusd", 4, None),
    # On Intel processors without AMX, bfloat16 dot products are slower than FMAs, so that GEMMs
    # with the precision `medium` use float32.
    "medium-intel": (product(96, 256, 1024), ["--float32-precision=medium"], "sapphirerapids-amx", "vfmadd", 24, 24.0),
    # If memory bounds the GEMM kernel on these Intel processors, `medium` uses bfloat16 weights,
    # which halve the bytes.
    "medium-intel-one-row": (
        product(1, 1024, 4096),
        ["--float32-precision=medium"],
        "sapphirerapids-amx",
        "vdpbf16ps",
        4,
        8.0,
    ),
    "bfloat16": (product(96, 256, 1024), ["--float32-precision=medium"], "znver4", "vdpbf16ps", 24, None),
    # Tiles of five rows by four vectors, with four K steps per iteration. The targets execute two
    # and four multiply-adds per cycle.
    "product-n1": (product(100, 256, 1024), [], "neoverse-n1", "fmla", 80, 40.0),
    "product-v1": (product(100, 256, 1024), [], "neoverse-v1", "fmla", 80, 20.0),
    "product-v2": (product(100, 256, 1024), [], "neoverse-v2", "fmla", 80, 20.0),
    # The expected cycles are those of LLVM's model of Apple's processors, which has three vector
    # pipes; M1 has four.
    "product-m1": (product(100, 256, 1024), [], "apple-m1", "fmla", 80, 26.7),
    "integers-n1": (integers(100, 256, 1024), [], "neoverse-n1", "sdot", 80, 40.0),
    "integers-v2": (integers(100, 256, 1024), [], "neoverse-v2", "dot", 80, 20.0),
    "integers-m1": (integers(100, 256, 1024), [], "apple-m1", "sdot", 80, 26.7),
    # LLVM 22 uses the bfdot instruction that reads a single lane only for operands in registers.
    # The analyzed code of this case broadcasts each lane first.
    "bfloat16-v2": (product(100, 256, 1024), ["--float32-precision=medium"], "neoverse-v2", "bfdot", 80, 25.0),
    # The register tiles of this convolution have four rows, because four divides the image's 56
    # rows.
    "convolution-n1": (convolution(64, 64, 56, window=5), [], "neoverse-n1", "fmla", 64, 33.3),
}


def loops(text):
    """Returns the bodies of loops without inner branches, as lists of instructions."""
    found, label, body = [], None, []
    for line in text.splitlines():
        line = re.split(r"#(?! ?-?\d)|//", line)[0].strip()  # "#1" is an immediate of AArch64
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


# The models omit targets with sixteen vector registers, whose loops with exponentials spill,
# because an exponential needs more constants than that.
@pytest.mark.parametrize("machine", ["x86-64-v4", "znver4", "sapphirerapids"])
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_spilled(name, machine, tmp_path):
    """No innermost loop of a full model spills vector registers. There is one exception: in a tile
    that uses all registers, the register allocator may keep an epilogue operand in a register and
    spill one accumulator, because its store runs in parallel with other multiply-adds."""
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
        [MCA, f"-mcpu={machine.removesuffix('-amx')}", f"-mtriple={architecture}", "-iterations=100", block],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert float(re.search(r"Block RThroughput:\s*([\d.]+)", report)[1]) <= cycles * 1.02

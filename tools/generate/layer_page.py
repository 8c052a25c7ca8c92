#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/generated/a-resnet-layer.md, which shows the stages of the compilation of one layer.

tools/generate/layer_page.py --hewn build/dev/bin/hewn [--check]
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "generated" / "a-resnet-layer.md"
TARGET = "znver4"

TEXT = """# How a ResNet layer becomes a kernel

Written by `tools/generate/layer_page.py` from a compile for `{target}`; a test compares it with a fresh run. Long lists of numbers and
repeated attributes are replaced by `…`. `hewn compile model.onnx --emit=STAGE -o FILE` prints each stage of any model.

The model: a 1x1 convolution with Relu, a 3x3 convolution with padding and stride 2, BatchNormalization, the Add of the shortcut, and
Relu. All have 64 channels; the spatial size is 56 x 56, after the second convolution 28 x 28. (3x3 convolutions with stride 1 use
Winograd's algorithm: `docs/decisions/kernels/winograd.md`.)

## graph: graph ops

The importer maps each node to one op or expands it to simpler ops. Padding is a separate op, since convolutions have no padding
here. BatchNormalization becomes a multiplication and an addition. Their operands only depend on its four constant parameters, so
constant folding computes them.

```mlir
{graph}
```

## kernels: fusion and layouts

With `#graph.layout<[0, 2, 3, 1]>`, channels are the innermost dim in memory, and vectorized code computes several channels per vector.
A layout does not change the logical order of dims. Weights are packed at compile time into blocks of 64 output channels. The pad
and the elementwise ops after the convolution are fused into the kernel of the 3x3 convolution. It skips the padding instead of reading
zeros. A separate kernel transposes the output of the model to channels first, since it can transpose whole vectors in registers.

```mlir
{kernels}
```

The program converts the layout of the input, launches the kernels with the packed weights, and converts the layout of the output:

```mlir
{program}
```

## loops: a register tile

A register tile has {rows} rows (pixels of an image row) and 64 output channels: {sums} accumulators of 16 lanes, which stay in registers
over all input channels and window positions. This is its innermost loop for pixels away from the image edge (other loops compute
the edges and skip the products with padding). Each vector of weights is loaded once for all rows, and the value of each pixel is
broadcast to all lanes.

```mlir
{loop}
```

## asm: machine code

The same loop in x86-64 assembly. Each pixel value is broadcast once for four vectors of output channels, and no register is spilled.
`test/Target` checks with `llvm-mca` that such loops reach the throughput limit of the processor.

```asm
{asm}
```
"""


def model() -> onnx.ModelProto:
    """Returns the model of the page: the first layers of an image classifier."""
    generator = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return np.abs(generator.standard_normal(shape)).astype(np.float32)

    def tensor(name: str, size: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 64, size, size])

    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["c1"], name="reduce"),
        helper.make_node("Relu", ["c1"], ["r1"], name="reduce_relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="conv", pads=[1] * 4, strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c2", "scale", "bias", "mean", "variance"], ["n"], name="norm"),
        helper.make_node("Add", ["n", "shortcut"], ["a"], name="add"),
        helper.make_node("Relu", ["a"], ["features"], name="relu"),
    ]
    weights = {"w1": numbers(64, 64, 1, 1), "w2": numbers(64, 64, 3, 3)}
    weights |= {name: numbers(64) for name in ("scale", "bias", "mean", "variance")}
    graph = helper.make_graph(
        nodes,
        "layer",
        [tensor("image", 56), tensor("shortcut", 28)],
        [tensor("features", 28)],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def function(text: str, start: str) -> str:
    """Returns the lines of the op whose first line matches `start`, up to its closing brace.

    The lines are returned without their common indentation.
    """
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if re.search(start, line))
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(i for i in range(first + 1, len(lines)) if lines[i] == " " * indent + "}")
    return "\n".join(line[indent:] for line in lines[first : last + 1])


def shortened(text: str) -> str:
    """Returns the IR without long constants and without the attributes that the page does not explain."""
    text = re.sub(r"dense<\[.*?\]+>", "dense<…>", text)
    text = re.sub(r"dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: ., .>", "…", text)
    text = re.sub(r"high = \[0, 0, 1, 1\], low = \[0, 0, 1, 1\]", "…", text)
    return re.sub(r"( attributes)? \{graph\.\w+ = [^}]*\}", "", text)


def innermost(text: str, opening: str, product: str, is_end: Callable[[str], bool]) -> list[str]:
    """Returns the lines of the innermost loop that contains `product` most often."""
    best: list[str] = []
    body: list[str] | None = None
    for line in text.splitlines():
        if re.search(opening, line):
            body = []
        if body is not None:
            body.append(line)
            if is_end(line):
                count = sum(product in each for each in body)
                if count > sum(product in each for each in best):
                    best = body
                body = None
    return best


def excerpt(lines: list[str], most: int) -> str:
    """Returns the lines without comments and common indentation, at most `most` of them."""
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    lines = [line[indent:].replace("\t", " ").split("#")[0].rstrip() for line in lines]
    lines = [line if len(line) <= 170 else line[:168] + " …" for line in lines]
    half = most // 2
    return "\n".join(lines if len(lines) <= most else [*lines[:half], "…", *lines[-half:]])


def page(hewn: str) -> str:
    """Returns the page, for which the compiler `hewn` prints each stage of the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "layer.onnx"
        onnx.save(model(), path)
        stage = {}
        for name in ("graph", "kernels", "loops", "asm"):
            out = path.with_suffix("." + name)
            subprocess.run([hewn, "compile", path, f"--target={TARGET}", f"--emit={name}", "-o", out], check=True)
            stage[name] = out.read_text()
    loop = innermost(stage["loops"], r"scf\.for", "vector.fma", lambda line: "scf.yield" in line)
    products = sum("vector.fma" in line for line in loop)
    asm = innermost(stage["asm"], r"^\.L\w+:", "vfmadd", lambda line: bool(re.match(r"\s+j\w+\s", line)))
    unrolled = sum("vfmadd" in line for line in asm) // max(products, 1)
    assert unrolled >= 1 and products % 4 == 0
    return TEXT.format(
        target=TARGET,
        graph=shortened(function(stage["graph"], "func.func @main")),
        kernels=shortened(function(stage["kernels"], "plan.kernel @pad_conv")),
        program=shortened(function(stage["kernels"], "func.func @main")),
        rows=products // 4,
        sums=products,
        loop=excerpt(loop, 24),
        asm=excerpt(asm, 24),
    )


def main() -> None:
    """Writes the page, or compares it with a fresh one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hewn", required=True, help="path of the compiler")
    parser.add_argument("--check", action="store_true", help="fail if the page differs from a fresh one")
    args = parser.parse_args()
    text = page(args.hewn)
    if not args.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(f"error: {PAGE} is out of date; run tools/generate/{pathlib.Path(__file__).name} --hewn {args.hewn}")


if __name__ == "__main__":
    main()

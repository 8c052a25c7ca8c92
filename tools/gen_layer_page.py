#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/generated/a-resnet-layer.md: what the compiler makes of a layer, stage by stage, from a fresh compile.

tools/gen_layer_page.py --hewn build/dev/bin/hewn [--check]
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "generated" / "a-resnet-layer.md"
TARGET = "znver4"

TEXT = """# How a layer of ResNet becomes a kernel

Made by `tools/gen_layer_page.py` from a compile for `{target}`; a test compares it with a fresh run. Long lists of numbers and
attributes that repeat are left out (`…`). Every stage can be had from any model: `hewn compile model.onnx --emit=STAGE -o FILE`.

The model: a 1x1 convolution with Relu, then a 3x3 convolution with padding that goes two pixels a step, BatchNormalization, the
shortcut's Add and Relu, all over 64 channels, of 56 x 56 and then 28 x 28 pixels. (Where a 3x3 window goes one pixel a step it is
done by minimal filtering: `docs/decisions/kernels/winograd.md`.)

## graph: ONNX's ops in ours

Each node has become one op, or is written in simpler ones. Padding is an op of its own: a convolution here reads only what is
there. BatchNormalization has become a multiplication and an addition; what it makes of its four parameters is constant, so it
was compiled, run, and replaced by its result.

```mlir
{graph}
```

## kernels: what is computed together, and how it lies in memory

`#graph.layout<[0, 2, 3, 1]>` says that channels are innermost in memory, since they are the lanes of vectors; no dim changes its
meaning. Weights were packed into blocks of 64 features while compiling. The 3x3 convolution's kernel has taken its border, which
it leaves out instead of reading zeros, and all that is done with its sums. (That the model's output has channels first is left to a
kernel of its own, which turns vectors instead of writing sums one by one.)

```mlir
{kernels}
```

The program launches them, between changes of layout of the input and of the output, and names the packed weights:

```mlir
{program}
```

## loops: a register tile

A tile is {rows} rows (pixels of a line) by 64 features: {sums} vectors of 16 sums, which stay in registers over all channels and
window positions. This is the innermost loop of the tile inside of the line (at its ends there are others, without the products
that lie outside): a vector of weights is loaded once for all rows, a pixel's value is spread over the lanes.

```mlir
{loop}
```

## asm: what runs

The same loop as x86. A pixel's value is spread over a register once for four vectors of features; nothing is spilled.
`test/Target` holds loops like it to the machine's limit by `llvm-mca`.

```asm
{asm}
```
"""


def model():
    generator = np.random.default_rng(0)

    def numbers(*shape):
        return np.abs(generator.standard_normal(shape)).astype(np.float32)

    def tensor(name, size):
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


def function(text, start):
    """The lines of the op whose first line matches `start`, up to its closing brace, without its indent."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if re.search(start, line))
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(i for i in range(first + 1, len(lines)) if lines[i] == " " * indent + "}")
    return "\n".join(line[indent:] for line in lines[first : last + 1])


def shortened(text):
    text = re.sub(r"dense<\[.*?\]+>", "dense<…>", text)
    text = re.sub(r"dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: ., .>", "…", text)
    text = re.sub(r"high = \[0, 0, 1, 1\], low = \[0, 0, 1, 1\]", "…", text)
    return re.sub(r"( attributes)? \{graph\.\w+ = [^}]*\}", "", text)


def innermost(text, opening, product, is_end):
    """The lines of the loop without loops inside that has the most products."""
    best, body = [], None
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


def excerpt(lines, most):
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    lines = [line[indent:].replace("\t", " ").split("#")[0].rstrip() for line in lines]
    lines = [line if len(line) <= 170 else line[:168] + " …" for line in lines]
    half = most // 2
    return "\n".join(lines if len(lines) <= most else [*lines[:half], "…", *lines[-half:]])


def page(hewn):
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
    asm = innermost(stage["asm"], r"^\.L\w+:", "vfmadd", lambda line: re.match(r"\s+j\w+\s", line))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hewn", required=True, help="the compiler to ask")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()
    text = page(args.hewn)
    if not args.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(f"error: {PAGE} is not what the compiler makes today; {pathlib.Path(__file__).name} writes it anew")


if __name__ == "__main__":
    main()

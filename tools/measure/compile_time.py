#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how compile time grows with the number of nodes, on generated graphs.

The functions of this file generate these graphs, each with one structure ("form") and any number of
nodes.

    compile_time.py [--forms chain,star] [--sizes 100,1000,20000] [--emit plan]

Prints a line per form and size: the processor time of the compilation in seconds, and its ratio to
the processor time for half as many nodes. A ratio of 2 is linear growth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

import hewn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def finish(
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[str],
    weights: Sequence[TensorProto] = (),
    shape: Sequence[int | str] = (4, 8),
    made: Sequence[int] | None = None,
) -> onnx.ModelProto:
    """Returns a model with the input `x` of shape `shape`.

    Its outputs have the shape `made`, or the shape `shape` if `made` is not given.
    """
    info = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, made or shape if name != "x" else shape)
        for name in ("x", *outputs)
    ]
    graph = helper.make_graph(nodes, "graph", info[:1], info[1:], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def chain(count: int) -> onnx.ModelProto:
    """Elementwise ops, each of which reads the result of the previous one."""
    ops = ["Relu", "Neg", "Abs"]
    names = ["x"] + [f"v{i}" for i in range(count)]
    return finish([helper.make_node(ops[i % 3], [names[i]], [names[i + 1]]) for i in range(count)], names[-1:])


def star(count: int) -> onnx.ModelProto:
    """Elementwise ops that all read the same value, and Adds that sum up their results."""
    nodes = [helper.make_node("Neg" if i % 2 else "Abs", ["x"], [f"v{i}"]) for i in range(count - 1)]
    return finish([*nodes, helper.make_node("Sum", [f"v{i}" for i in range(count - 1)], ["y"])], ["y"])


def fan(count: int) -> onnx.ModelProto:
    """Elementwise ops that all read the same value; each result is an output of the model."""
    nodes = [helper.make_node("Neg" if i % 2 else "Abs", ["x"], [f"v{i}"]) for i in range(count)]
    return finish(nodes, [f"v{i}" for i in range(count)])


def concat(count: int) -> onnx.ModelProto:
    """A chain of ops, and a Concat of all their results."""
    ops, names = ["Relu", "Neg", "Abs"], ["x"] + [f"v{i}" for i in range(count - 1)]
    nodes = [helper.make_node(ops[i % 3], [names[i]], [names[i + 1]]) for i in range(count - 1)]
    return finish([*nodes, helper.make_node("Concat", names[1:], ["y"], axis=0)], ["y"], made=(4 * (count - 1), 8))


def grid(count: int) -> onnx.ModelProto:
    """Adds in rows and columns: each value is the sum of its neighbors above and to the left."""
    side = max(2, round(count**0.5))

    def name(i: int, j: int) -> str:
        return "x" if i < 0 or j < 0 else f"v{i}_{j}"

    nodes = [
        helper.make_node("Add", [name(i - 1, j), name(i, j - 1)], [name(i, j)])
        for i in range(side)
        for j in range(side)
    ]
    return finish(nodes, [name(side - 1, side - 1)])


def layers(count: int) -> onnx.ModelProto:
    """Matmuls with different weights, each followed by an activation.

    The matmuls are not fused with each other.
    """
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i in range(count // 2):
        weights.append(numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Relu", [f"p{i}"], [f"v{i}"]))
        last = f"v{i}"
    return finish(nodes, [last], weights)


def kept(count: int) -> onnx.ModelProto:
    """Matmuls with a dynamic number of rows.

    Later nodes read the results in the opposite order, so half of all values are live at the same
    time.
    """
    rng, products = np.random.default_rng(0), count // 3
    weights = [numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32) / 8, f"w{i}") for i in range(2)]
    names = ["x"] + [f"p{i}" for i in range(products)]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i % 2}"], [names[i + 1]]) for i in range(products)]
    last = names[-1]
    for i in reversed(range(products - 1)):
        nodes.append(helper.make_node("MatMul", [last, f"w{i % 2}"], [f"q{i}"]))
        nodes.append(helper.make_node("Add", [f"q{i}", f"p{i}"], [f"r{i}"]))
        last = f"r{i}"
    return finish(nodes, [last], weights, ("n", 8))


def opened(nodes: Sequence[onnx.NodeProto], inputs: Sequence[tuple[str, str]], made: str) -> onnx.ModelProto:
    """Returns a model with the output `made`, whose number of rows depends on data.

    `inputs` are pairs of an input's name and the symbol for its number of rows.
    """
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4]) for name, rows in inputs]
    made = helper.make_tensor_value_info(made, TensorProto.FLOAT, [None, 4])
    graph = helper.make_graph(nodes, "graph", infos, [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def open_concat(count: int) -> onnx.ModelProto:
    """A Concat of values with different symbolic numbers of rows."""
    names = [f"x{i}" for i in range(count)]
    nodes = [helper.make_node("Concat", names, ["y"], axis=0)]
    return opened(nodes, [(name, f"rows_of_{name}") for name in names], "y")


def open_live(count: int) -> onnx.ModelProto:
    """A Concat of results of ops on values with different symbolic numbers of rows.

    Many buffers of different sizes are live at the same time.
    """
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"v{i}"]) for i in range(count // 2)]
    nodes.append(helper.make_node("Concat", [f"v{i}" for i in range(count // 2)], ["y"], axis=0))
    return opened(nodes, [(f"x{i}", f"rows_of_{i}") for i in range(count // 2)], "y")


def open_adds(count: int) -> onnx.ModelProto:
    """A chain of Adds.

    The second operands have different symbolic numbers of rows, so each Add may broadcast.
    """
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Add", [names[i], f"z{i}"], [names[i + 1]]) for i in range(count)]
    return opened(nodes, [("x", "rows"), *((f"z{i}", f"rows_of_{i}") for i in range(count))], names[-1])


def open_concats(count: int) -> onnx.ModelProto:
    """A chain of Concats. The second operands have different symbolic numbers of rows."""
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Concat", [names[i], f"z{i}"], [names[i + 1]], axis=0) for i in range(count)]
    return opened(nodes, [("x", "rows"), *((f"z{i}", f"rows_of_{i}") for i in range(count))], names[-1])


def open_slices(count: int) -> onnx.ModelProto:
    """A chain of Slices, each of which removes a row."""
    numbers = [helper.make_node("Constant", [], [name], value_ints=[n]) for name, n in (("one", 1), ("end", 2**62))]
    zero = helper.make_node("Constant", [], ["zero"], value_ints=[0])
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Slice", [names[i], "one", "end", "zero"], [names[i + 1]]) for i in range(count)]
    return opened([*numbers, zero, *nodes], [("x", "rows")], names[-1])


def open_columns(count: int) -> onnx.ModelProto:
    """A Concat, along the columns, of values with different symbolic numbers of columns.

    Each row of the result has elements of all values.
    """
    names = [f"x{i}" for i in range(count)]
    return of_inputs(
        [helper.make_node("Concat", names, ["y"], axis=1)], {name: ["rows", f"columns_of_{name}"] for name in names}
    )


def open_parts(count: int) -> onnx.ModelProto:
    """A Split into `count` parts and a Concat of the parts in reverse order."""
    names = [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Split", ["x"], names, axis=0, num_outputs=count)]
    nodes.append(helper.make_node("Concat", names[::-1], ["y"], axis=0))
    return of_inputs(nodes, {"x": ["rows", 4]})


def open_most(count: int) -> onnx.ModelProto:
    """A Max of many values.

    Each of them may be broadcast, because their dims are different symbols.
    """
    names = [f"x{i}" for i in range(count)]
    return of_inputs([helper.make_node("Max", names, ["y"])], {name: [f"rows_of_{name}", 4] for name in names})


def open_chain(count: int, op: str, more: Mapping[str, Sequence[int]], **attributes: Any) -> onnx.ModelProto:
    """A chain of `count` nodes of type `op`, each of which also reads inputs of its own.

    `more` maps the names of these inputs to their element types and shapes, in which a size of 0 is
    replaced by a new symbol.
    """
    names, nodes = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"], []
    inputs: dict[str, Sequence[Any]] = {"x": ["rows", 4]}
    for i in range(count):
        own = {f"{name}{i}": shape for name, shape in more.items()}
        for name, (kind, *shape) in own.items():
            inputs[name] = (kind, *(dim or f"rows_of_{name}" for dim in shape))
        operands = [names[i], *own]
        if op == "Where":  # the condition is the first operand
            operands[0], operands[1] = operands[1], operands[0]
        nodes.append(helper.make_node(op, operands, [names[i + 1]], **attributes))
    return of_inputs(nodes, inputs)


def open_wheres(count: int) -> onnx.ModelProto:
    """A chain of Wheres whose conditions and last operands are model inputs with dynamic rows."""
    return open_chain(count, "Where", {"c": (TensorProto.BOOL, 0, 4), "z": (TensorProto.FLOAT, 0, 4)})


def open_pads(count: int) -> onnx.ModelProto:
    """A chain of Pads whose padding widths are model inputs."""
    return open_chain(count, "Pad", {"p": (TensorProto.INT64, 4)})


def open_cuts(count: int) -> onnx.ModelProto:
    """A chain of Slices whose start and end indices are model inputs."""
    return open_chain(count, "Slice", {"b": (TensorProto.INT64, 2), "e": (TensorProto.INT64, 2)})


def open_picks(count: int) -> onnx.ModelProto:
    """A chain of Gathers with a dynamic number of indices."""
    return open_chain(count, "Gather", {"i": (TensorProto.INT64, 0)}, axis=0)


def open_sizes(count: int) -> onnx.ModelProto:
    """A chain of Resizes whose output sizes depend on data."""
    names, sizes = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"], [f"s{i}" for i in range(count)]
    nodes = [
        helper.make_node("Resize", [names[i], "", "", sizes[i]], [names[i + 1]], mode="linear") for i in range(count)
    ]
    return of_inputs(nodes, {"x": ["n", 2, "d"]} | {size: (TensorProto.INT64, 3) for size in sizes})


def open_pools(count: int) -> onnx.ModelProto:
    """A chain of pooling ops, each of which halves the size and rounds up."""
    names = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"]
    window: dict[str, Any] = {"kernel_shape": [3], "strides": [2], "pads": [1, 1], "ceil_mode": 1}
    nodes = [helper.make_node("AveragePool", [names[i]], [names[i + 1]], **window) for i in range(count)]
    return of_inputs(nodes, {"x": [1, 4, "d"]})


def of_inputs(nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, Sequence[Any]]) -> onnx.ModelProto:
    """Returns a model with the output `y` and with the inputs of the dict `inputs`, from names to shapes.

    Inputs are float32 unless an element type precedes the shape.
    """
    typed = {name: (TensorProto.FLOAT, *dims) if isinstance(dims, list) else dims for name, dims in inputs.items()}
    infos = [helper.make_tensor_value_info(name, kind, dims) for name, (kind, *dims) in typed.items()]
    graph = helper.make_graph(nodes, "graph", infos, [helper.make_value_info("y", onnx.TypeProto())])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


FORMS = {"chain": chain, "star": star, "fan": fan, "concat": concat, "grid": grid, "layers": layers, "kept": kept}
FORMS |= {f.__name__: f for f in (open_concat, open_live, open_adds, open_concats, open_slices)}
OPEN = (open_columns, open_parts, open_most, open_wheres, open_pads, open_cuts, open_picks, open_sizes, open_pools)
FORMS |= {f.__name__: f for f in OPEN}


def seconds(model: onnx.ModelProto, emit: str) -> float:
    """Returns the processor time of a compilation, summed over all threads of the process.

    Other load on the machine hardly affects processor time.
    """
    begin = time.process_time()
    hewn._compile(model, emit=emit)
    return time.process_time() - begin


def main() -> None:
    """Prints the compile time of each form for each number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--sizes", default="100,1000,5000,10000,20000")
    parser.add_argument("--emit", default="asm", help="last stage to run; asm includes everything except linking")
    said = parser.parse_args()
    for form in said.forms.split(","):
        for count in map(int, said.sizes.split(",")):
            half, whole = (seconds(FORMS[form](n), said.emit) for n in (count // 2, count))
            print(
                f"{form:12} {count:6} nodes {whole:7.2f} s  {whole / half:5.2f} times those of half the nodes",
                flush=True,
            )


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How compile time grows with a graph: graphs of one form and more and more nodes, which are a few kernels again and again.

    compile_time.py [--forms chain,star] [--sizes 100,1000,20000] [--emit plan]

A line each: seconds of the processor, and how many times those of half the nodes. 2 is linear.
"""

import argparse
import time

import hewn
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def finish(nodes, outputs, weights=(), shape=(4, 8), made=None):
    """A model of one input `x` of this shape; the outputs are of the same, or of the shape `made`."""
    info = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, made or shape if name != "x" else shape)
        for name in ("x", *outputs)
    ]
    graph = helper.make_graph(nodes, "graph", info[:1], info[1:], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def chain(count):
    """Elementwise ops, one after another."""
    ops = ["Relu", "Neg", "Abs"]
    names = ["x"] + [f"v{i}" for i in range(count)]
    return finish([helper.make_node(ops[i % 3], [names[i]], [names[i + 1]]) for i in range(count)], names[-1:])


def star(count):
    """Ops that all read one value, and a sum of them all."""
    nodes = [helper.make_node("Neg" if i % 2 else "Abs", ["x"], [f"v{i}"]) for i in range(count - 1)]
    return finish([*nodes, helper.make_node("Sum", [f"v{i}" for i in range(count - 1)], ["y"])], ["y"])


def fan(count):
    """Ops that all read one value, each of them an output."""
    nodes = [helper.make_node("Neg" if i % 2 else "Abs", ["x"], [f"v{i}"]) for i in range(count)]
    return finish(nodes, [f"v{i}" for i in range(count)])


def concat(count):
    """A chain of ops, and all of what they make one after another."""
    ops, names = ["Relu", "Neg", "Abs"], ["x"] + [f"v{i}" for i in range(count - 1)]
    nodes = [helper.make_node(ops[i % 3], [names[i]], [names[i + 1]]) for i in range(count - 1)]
    return finish([*nodes, helper.make_node("Concat", names[1:], ["y"], axis=0)], ["y"], made=(4 * (count - 1), 8))


def grid(count):
    """Each value the sum of its neighbours above and to the left."""
    side = max(2, round(count**0.5))
    name = lambda i, j: "x" if i < 0 or j < 0 else f"v{i}_{j}"  # noqa: E731
    nodes = [
        helper.make_node("Add", [name(i - 1, j), name(i, j - 1)], [name(i, j)])
        for i in range(side)
        for j in range(side)
    ]
    return finish(nodes, [name(side - 1, side - 1)])


def layers(count):
    """Products with weights of their own, with an activation behind each: kernels that do not join."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i in range(count // 2):
        weights.append(numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Relu", [f"p{i}"], [f"v{i}"]))
        last = f"v{i}"
    return finish(nodes, [last], weights)


def kept(count):
    """Products of rows whose number is open, each of which is read again in the opposite order: half of all values are live at once."""
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


def opened(nodes, inputs, made):
    """A model of one output, `made`, whose rows are as many as a run tells; the inputs are of rows of their own, or of those named."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4]) for name, rows in inputs]
    made = helper.make_tensor_value_info(made, TensorProto.FLOAT, [None, 4])
    graph = helper.make_graph(nodes, "graph", infos, [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def open_concat(count):
    """Values of rows of their own each, one after another."""
    names = [f"x{i}" for i in range(count)]
    nodes = [helper.make_node("Concat", names, ["y"], axis=0)]
    return opened(nodes, [(name, f"rows_of_{name}") for name in names], "y")


def open_live(count):
    """The same of what is computed from each: as many buffers of unlike sizes live at once."""
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"v{i}"]) for i in range(count // 2)]
    nodes.append(helper.make_node("Concat", [f"v{i}" for i in range(count // 2)], ["y"], axis=0))
    return opened(nodes, [(f"x{i}", f"rows_of_{i}") for i in range(count // 2)], "y")


def open_adds(count):
    """A chain of sums with values of rows of their own, each of which may be broadcast."""
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Add", [names[i], f"z{i}"], [names[i + 1]]) for i in range(count)]
    return opened(nodes, [("x", "rows"), *((f"z{i}", f"rows_of_{i}") for i in range(count))], names[-1])


def open_concats(count):
    """A chain of Concats with values of rows of their own."""
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Concat", [names[i], f"z{i}"], [names[i + 1]], axis=0) for i in range(count)]
    return opened(nodes, [("x", "rows"), *((f"z{i}", f"rows_of_{i}") for i in range(count))], names[-1])


def open_slices(count):
    """A chain of Slices, each of which takes a row away."""
    numbers = [helper.make_node("Constant", [], [name], value_ints=[n]) for name, n in (("one", 1), ("end", 2**62))]
    zero = helper.make_node("Constant", [], ["zero"], value_ints=[0])
    names = ["x"] + [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Slice", [names[i], "one", "end", "zero"], [names[i + 1]]) for i in range(count)]
    return opened([*numbers, zero, *nodes], [("x", "rows")], names[-1])


def open_columns(count):
    """Values of columns of their own each, one after another: each row of the result has a part of each."""
    names = [f"x{i}" for i in range(count)]
    return of_inputs(
        [helper.make_node("Concat", names, ["y"], axis=1)], {name: ["rows", f"columns_of_{name}"] for name in names}
    )


def open_parts(count):
    """As many parts of one value, the last one first."""
    names = [f"v{i}" for i in range(count)]
    nodes = [helper.make_node("Split", ["x"], names, axis=0, num_outputs=count)]
    nodes.append(helper.make_node("Concat", names[::-1], ["y"], axis=0))
    return of_inputs(nodes, {"x": ["rows", 4]})


def open_most(count):
    """The largest of many values, each of which may be broadcast."""
    names = [f"x{i}" for i in range(count)]
    return of_inputs([helper.make_node("Max", names, ["y"])], {name: [f"rows_of_{name}", 4] for name in names})


def open_chain(count, op, more, **attributes):
    """A chain of an op that has inputs of its own each: names with their shapes, of which 0 stands for a symbol."""
    names, inputs, nodes = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"], {"x": ["rows", 4]}, []
    for i in range(count):
        own = {f"{name}{i}": shape for name, shape in more.items()}
        for name, (kind, *shape) in own.items():
            inputs[name] = (kind, *(dim or f"rows_of_{name}" for dim in shape))
        operands = [names[i], *own]
        if op == "Where":  # whose condition comes first
            operands[0], operands[1] = operands[1], operands[0]
        nodes.append(helper.make_node(op, operands, [names[i + 1]], **attributes))
    return of_inputs(nodes, inputs)


def open_wheres(count):
    return open_chain(count, "Where", {"c": (TensorProto.BOOL, 0, 4), "z": (TensorProto.FLOAT, 0, 4)})


def open_pads(count):
    """Each with borders that a run tells."""
    return open_chain(count, "Pad", {"p": (TensorProto.INT64, 4)})


def open_cuts(count):
    """Slices whose bounds a run tells."""
    return open_chain(count, "Slice", {"b": (TensorProto.INT64, 2), "e": (TensorProto.INT64, 2)})


def open_picks(count):
    """Gathers by as many indices as a run has."""
    return open_chain(count, "Gather", {"i": (TensorProto.INT64, 0)}, axis=0)


def open_sizes(count):
    """Resizes to sizes that a run tells."""
    names, sizes = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"], [f"s{i}" for i in range(count)]
    nodes = [
        helper.make_node("Resize", [names[i], "", "", sizes[i]], [names[i + 1]], mode="linear") for i in range(count)
    ]
    return of_inputs(nodes, {"x": ["n", 2, "d"]} | {size: (TensorProto.INT64, 3) for size in sizes})


def open_pools(count):
    """Each half as long as the one before, rounded up."""
    names = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"]
    window = {"kernel_shape": [3], "strides": [2], "pads": [1, 1], "ceil_mode": 1}
    nodes = [helper.make_node("AveragePool", [names[i]], [names[i + 1]], **window) for i in range(count)]
    return of_inputs(nodes, {"x": [1, 4, "d"]})


def of_inputs(nodes, inputs):
    """A model that makes `y` of inputs of these shapes, of floats where no type stands before them."""
    typed = {name: (TensorProto.FLOAT, *dims) if isinstance(dims, list) else dims for name, dims in inputs.items()}
    infos = [helper.make_tensor_value_info(name, kind, dims) for name, (kind, *dims) in typed.items()]
    graph = helper.make_graph(nodes, "graph", infos, [helper.make_value_info("y", onnx.TypeProto())])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


FORMS = {"chain": chain, "star": star, "fan": fan, "concat": concat, "grid": grid, "layers": layers, "kept": kept}
FORMS |= {f.__name__: f for f in (open_concat, open_live, open_adds, open_concats, open_slices)}
OPEN = (open_columns, open_parts, open_most, open_wheres, open_pads, open_cuts, open_picks, open_sizes, open_pools)
FORMS |= {f.__name__: f for f in OPEN}


def seconds(model, emit):
    """Time of all of the process's threads: a busy machine changes little of it."""
    begin = time.process_time()
    hewn._compile(model, emit=emit)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--sizes", default="100,1000,5000,10000,20000")
    parser.add_argument("--emit", default="asm", help="the stage to stop at: asm is all but linking")
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

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


FORMS = {"chain": chain, "star": star, "fan": fan, "concat": concat, "grid": grid, "layers": layers, "kept": kept}
FORMS |= {f.__name__: f for f in (open_concat, open_live, open_adds, open_concats, open_slices)}


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

# SPDX-License-Identifier: Apache-2.0
"""Models of a few kilobytes that expand to far more."""

import pathlib
import sys

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
folder = pathlib.Path(sys.argv[1])


def save(name, nodes, functions=(), initializers=(), sparse=(), shape=(2,), out=(2,)):
    x, y = (helper.make_tensor_value_info(v, TensorProto.FLOAT, s) for v, s in (("x", shape), ("y", out)))
    graph = helper.make_graph(nodes, "g", [x], [y], initializers, sparse_initializer=sparse)
    model = helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=10)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [2])])


# Each function calls the next one twice: 2^17 nodes in total.
functions = []
for i in range(17):
    inner = ("my", f"f{i + 1}") if i < 16 else ("", "Neg")
    nodes = [helper.make_node(inner[1], [a], [b], domain=inner[0]) for a, b in (("x", "t"), ("t", "y"))]
    functions.append(helper.make_function("my", f"f{i}", ["x"], ["y"], nodes, OPSETS))
save("calls", [helper.make_node("f0", ["x"], ["y"], domain="my")], functions)

# Each function passes its graph to the next one twice in one node.
functions = []
for i in range(24):

    def choice(output, i=i):
        node = helper.make_node("If", ["c"], [output])
        for attribute in ("then_branch", "else_branch"):
            node.attribute.append(AttributeProto(name=attribute, ref_attr_name="g", type=AttributeProto.GRAPH))
        return node

    call = helper.make_node(f"f{i + 1}" if i < 23 else "Last", ["x", "c"], ["y"], domain="my")
    call.attribute.append(helper.make_attribute("g", branch("b", [choice("v")], "v")))
    functions.append(helper.make_function("my", f"f{i}", ["x", "c"], ["y"], [call], OPSETS, ["g"]))
last = helper.make_node("If", ["c"], ["y"])
for attribute in ("then_branch", "else_branch"):
    last.attribute.append(AttributeProto(name=attribute, ref_attr_name="g", type=AttributeProto.GRAPH))
functions.append(helper.make_function("my", "Last", ["x", "c"], ["y"], [last], OPSETS, ["g"]))
first = helper.make_node("f0", ["x", "c"], ["y"], domain="my")
first.attribute.append(helper.make_attribute("g", branch("b", [helper.make_node("Neg", ["x"], ["v"])], "v")))
positive = [
    helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
    helper.make_node("Greater", ["m", "zero"], ["c"]),
]
zero = numpy_helper.from_array(np.float32(0), "zero")
save("graphs", [*positive, first], functions, [zero])


# Nested loops, each of which must import its body again because a loop-carried dim changes.
def loop(depth):
    info = [
        helper.make_tensor_value_info(n, t, s)
        for n, t, s in (
            (f"i{depth}", TensorProto.INT64, []),
            (f"c{depth}", TensorProto.BOOL, []),
            (f"v{depth}", TensorProto.FLOAT, ["n"]),
        )
    ]
    inner = [helper.make_node("Concat", [f"v{depth}", f"v{depth}"], [f"w{depth}"], axis=0)]
    if depth < 20:
        inner = [loop(depth + 1), helper.make_node("Concat", [f"r{depth + 1}", f"v{depth}"], [f"w{depth}"], axis=0)]
    inner.append(helper.make_node("Identity", [f"c{depth}"], [f"d{depth}"]))
    outputs = [
        helper.make_tensor_value_info(f"d{depth}", TensorProto.BOOL, []),
        helper.make_tensor_value_info(f"w{depth}", TensorProto.FLOAT, ["n"]),
    ]
    start = f"v{depth - 1}" if depth else "x"
    return helper.make_node(
        "Loop",
        ["trips", "", start],
        [f"r{depth}" if depth else "y"],
        body=helper.make_graph(inner, f"b{depth}", info, outputs),
    )


trips = numpy_helper.from_array(np.int64(3), "trips")
save("loops", [loop(0)], initializers=[trips], out=("n",))

values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
indices = helper.make_tensor("i", TensorProto.INT64, [1], [5])
wide = helper.make_sparse_tensor(values, indices, [1_000_000_000])
save(
    "sparse", [helper.make_node("Add", ["x", "w"], ["y"])], sparse=[wide], shape=(1_000_000_000,), out=(1_000_000_000,)
)

nodes = [helper.make_node("Neg", ["x"], ["v"])]
for depth in range(20):
    nodes = [
        helper.make_node(
            "If",
            ["c"],
            ["v"],
            then_branch=branch(f"t{depth}", nodes, "v"),
            else_branch=branch("e", [helper.make_node("Abs", ["x"], ["v"])], "v"),
        )
    ]
save("nested", [*positive, *nodes, helper.make_node("Identity", ["v"], ["y"])], initializers=[zero])

# A constant that is concatenated with itself 30 times.
nodes = [helper.make_node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0) for i in range(30)]
nodes += [helper.make_node("ReduceSum", ["v30"], ["s"], keepdims=0), helper.make_node("Add", ["x", "s"], ["y"])]
save("doubled", nodes, initializers=[numpy_helper.from_array(np.ones(4, np.float32), "v0")])

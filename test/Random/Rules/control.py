# SPDX-License-Identifier: Apache-2.0
"""Control flow and sequences. Bodies are graphs that read values of the enclosing graph."""

import contextlib

import numpy as np
from graph import Reject, Value
from onnx import helper
from records import BOOL, F32, FLOATS, I64

from Rules import RULES, rule
from Rules.elementwise import by_schema


def some_nodes(g, count):
    """Adds nodes to a body."""
    names = [
        "Add",
        "Mul",
        "Sub",
        "Neg",
        "Relu",
        "Tanh",
        "Max",
        "Transpose",
        "Slice",
        "ReduceMax",
        "Concat",
        "Abs",
        "Reshape",
    ]
    for _ in range(count):
        name = g.choice.choice([n for n in names if n in g.ops])
        with contextlib.suppress(Reject):
            (RULES.get(name) or by_schema)(g, g.ops[name])


def result_like(g, value):
    """Returns a value of the body with the type and dims of `value`."""
    found = next((v for v in reversed(g.values) if v.dims == value.dims and v.dtype == value.dtype), None)
    if found is None:
        found = g.like(value.dims, value.dtype)
    if not any(found.name in n.output for n in g.nodes):
        other = g.broadcast(value.dims, value.dtype) if g.choice.random() < 0.6 else found
        if value.dtype in FLOATS:
            found = g.node(g.choice.choice(["Sub", "Max", "Min"]) if g.opset >= 8 else "Sub", [found, other])
            if found.dims != value.dims:
                raise Reject("other dims")
        else:
            found = g.node("Identity", [found])
    return found


def add_with_bodies(g, op, operands, bodies, outputs, **attributes):
    """Adds a node with bodies. `graph.node` gets the values that the bodies read as additional
    operands, so that it can compute the results."""
    proto = helper.make_node(op, [v.name for v in operands], [g.name("v") for _ in range(outputs)], **attributes)
    for name, body in bodies.items():
        attribute = proto.attribute.add()
        attribute.name, attribute.type = name, attribute.GRAPH
        attribute.g.CopyFrom(body)
    import oracle

    read = oracle.captured(proto)
    seen = {v.name: v for v in g.visible()}
    seen.update((t.name, Value(t.name, oracle.constant(t.SerializeToString()), ())) for t in all_initializers(g))
    around = [seen[name] for name in read if name in seen]
    results = g.add(proto, [*operands, *around], outputs)
    return results if isinstance(results, list) else [results]


def all_initializers(g):
    return g.initializers + (all_initializers(g.parent) if g.parent else [])


def depth(g):
    return 1 + depth(g.parent) if g.parent else 0


@rule("If")
def branches(g, op):
    if depth(g) > 1 or g.opset < 11:
        raise Reject("deep enough")
    condition = g.find(lambda v: v.dtype == BOOL and v.size == 1 and v.rank == 0)
    if condition is None or g.choice.random() < 0.5:
        condition = g.leaf(BOOL, (), constant=0.1)
    wanted = [g.value([F32, *FLOATS, I64], 0, 4, test=lambda v: v.size) for _ in range(g.choice.randint(1, 2))]
    bodies = {}
    for name in ("then_branch", "else_branch"):
        body = g.body()
        some_nodes(body, g.choice.randint(0, 3))
        results = [result_like(body, v) for v in wanted]
        if len({v.name for v in results}) < len(results):
            raise Reject("one value twice")
        bodies[name] = body.proto(results, name=name)
    return add_with_bodies(g, "If", [condition], bodies, len(wanted))[0]


def carried(g, body, value, stem):
    inner = Value(g.name(stem), value.array, value.labels)
    body.values.append(inner)
    return inner


@rule("Loop")
def loop(g, op):
    if depth(g) > 1 or g.opset < 11:
        raise Reject("deep enough")
    trips = g.leaf(I64, (), 1, 4, 0.5)
    condition = g.constant(np.asarray(True))
    states = [g.value([F32, *FLOATS, I64], 0, 3, test=lambda v: v.size) for _ in range(g.choice.randint(1, 2))]
    if len({v.name for v in states}) < len(states):
        states = states[:1]
    body = g.body()
    count = Value(g.name("i"), np.asarray(0, I64), ())
    again = Value(g.name("b"), np.asarray(True), ())
    body.values.append(count)
    inner = [carried(g, body, v, "s") for v in states]
    some_nodes(body, g.choice.randint(1, 4))
    next_states = [result_like(body, v) for v in inner]
    kept = [body.node("Identity", [again])]
    made = [v for v in body.values if any(v.name in n.output for n in body.nodes) and v.dtype != BOOL and v.rank < 4]
    scans = [body.node("Identity", [g.choice.choice(made)])] if made and g.choice.random() < 0.6 else []
    if len({v.name for v in next_states}) < len(next_states):
        raise Reject("one value twice")
    graph = body.proto([*kept, *next_states, *scans], [count, again, *inner])
    return add_with_bodies(g, "Loop", [trips, condition, *states], {"body": graph}, len(states) + len(scans))[0]


@rule("Scan")
def scan(g, op):
    if depth(g) > 1 or g.opset < 11:
        raise Reject("deep enough")
    line = g.value([F32], 2, 3, test=lambda v: v.size)
    axis = g.choice.randrange(line.rank)
    item = Value(g.name("x"), np.take(line.array, 0, axis), tuple(d for i, d in enumerate(line.labels) if i != axis))
    state = g.like(item.dims, F32)
    body = g.body()
    body.values.append(item)
    inner = carried(g, body, state, "s")
    some_nodes(body, g.choice.randint(1, 3))
    following = body.node(g.choice.choice(["Sub", "Max"]), [inner, result_like(body, item)])
    given = body.node("Identity", [following])
    if following.dims != state.dims:
        raise Reject("other dims")
    graph = body.proto([following, given], [inner, item])
    directions = {
        "scan_input_directions": [g.choice.choice((0, 1))],
        "scan_output_directions": [g.choice.choice((0, 1))],
    }
    results = add_with_bodies(
        g, "Scan", [state, line], {"body": graph}, 2, num_scan_inputs=1, scan_input_axes=[axis], **directions
    )
    return results[1]


@rule(
    "SequenceConstruct",
    "SequenceAt",
    "SequenceLength",
    "SequenceInsert",
    "SequenceErase",
    "ConcatFromSequence",
    "SequenceEmpty",
)
def sequence(g, op):
    first = g.value([F32, I64], 1, 3, test=lambda v: v.size)
    items = [first] + [g.like(first.dims, first.dtype) for _ in range(g.choice.randint(1, 2))]
    made = g.node("SequenceConstruct", items)
    if op.name == "SequenceEmpty":
        empty = g.node("SequenceEmpty", [], dtype=helper.np_dtype_to_tensor_dtype(first.dtype))
        made = g.node("SequenceInsert", [empty, first])
        items = [first]
    position = g.constant(np.asarray(g.choice.randint(-len(items), len(items) - 1), I64))
    if op.name == "SequenceInsert":
        made = g.node("SequenceInsert", [made, g.like(first.dims, first.dtype), position])
    if op.name == "SequenceErase" and len(items) > 1:
        made, position = g.node("SequenceErase", [made, position]), g.constant(np.asarray(0, I64))
    if op.name == "SequenceLength":
        return g.node("SequenceLength", [made])
    if op.name == "ConcatFromSequence" or g.choice.random() < 0.3:
        return g.node(
            "ConcatFromSequence", [made], axis=g.choice.randrange(first.rank), new_axis=g.choice.choice((0, 1))
        )
    return g.node("SequenceAt", [made, position])


@rule("SplitToSequence")
def split_to_sequence(g, op):
    value = g.value([F32, I64], 1, 3, test=lambda v: v.size and v.static)
    axis = g.choice.randrange(value.rank)
    parts = g.node("SplitToSequence", [value], axis=axis, keepdims=g.choice.choice((0, 1)))
    return g.node("SequenceAt", [parts, g.constant(np.asarray(g.choice.randint(-1, 0), I64))])


@rule("SequenceMap")
def sequence_map(g, op):
    first = g.value([F32], 1, 2, test=lambda v: v.size)
    made = g.node("SequenceConstruct", [first, g.like(first.dims, F32)])
    body = g.body()
    item = carried(g, body, first, "x")
    graph = body.proto([body.node("Neg", [item])], [item])
    mapped = add_with_bodies(g, "SequenceMap", [made], {"body": graph}, 1)[0]
    return g.node("SequenceAt", [mapped, g.constant(np.asarray(1, I64))])


@rule("Optional", "OptionalGetElement", "OptionalHasElement")
def optional(g, op):
    value = g.value([F32, I64], 1, 3)
    if g.opset >= 18:
        return g.node(op.name if op.name != "Optional" else "OptionalGetElement", [value])
    raise Reject("onnxruntime requires all of it in one graph")

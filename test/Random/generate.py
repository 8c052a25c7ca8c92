# SPDX-License-Identifier: Apache-2.0
"""Generates random models: a seed determines a model, its inputs, and the sizes of its symbols."""

import dataclasses
import random

import numpy as np
import onnx
import records
from graph import Graph, Reject
from onnx import helper
from oracle import Oracle
from records import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8
from Rules import IDIOMS, ROOMS, elementwise, load, others, views

RULES = load()
# Element types of which a graph mainly uses one. Earlier entries are more likely.
PALETTES = [(F32, I64, BOOL)] * 8 + [
    (F16, F32, BOOL),
    (F16, I64),
    (BF16, F32, BOOL),
    (BF16,),
    (F64, I64, BOOL),
    (I32, I64, BOOL),
    (I8, U8, F32),
]
PALETTES += [
    (np.dtype(np.uint32), np.dtype(np.int16), I64),
    (np.dtype(np.uint64), np.dtype(np.uint16), I32),
    (F32, F64, I32),
    (F32, F16, BF16),
]
OPSETS = (9, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 21, 22, 23, 24, 25, 26, 27)
# Themes of graphs: how likely each rule module is.
THEMES = {
    "plain": {"elementwise": 6, "views": 4, "moves": 2, "reductions": 4, "contractions": 1},
    "kernels": {"elementwise": 5, "views": 3, "contractions": 3, "windows": 3, "reductions": 3, "moves": 1},
    "subviews": {"elementwise": 4, "views": 5, "moves": 6, "windows": 1, "reductions": 1},
    "quantized": {"elementwise": 2, "views": 2, "quantized": 5, "windows": 1, "contractions": 1, "reductions": 1},
    "control": {"elementwise": 3, "views": 2, "control": 3, "reductions": 2, "indices": 1, "moves": 1},
    "all": dict.fromkeys(ROOMS, 1),
    "networks": dict.fromkeys(IDIOMS, 2) | {"elementwise": 3, "views": 1, "moves": 1},
}
COMPOSITES = [name for name in RULES if "-" in name]
# Rules that are drawn more often than the others of their module.
OFTEN = {
    "moves": ["Concat"] * 12,
    "reductions": ["Reduce-back"] * 4 + ["Softmax"] * 2,
    "elementwise": ["Add", "Mul", "Sub", "Div", "Max", "Where", "Cast"] * 3,
}


@dataclasses.dataclass
class Case:
    """A model, its sets of inputs, and its name in reports."""

    name: str
    model: onnx.ModelProto
    feeds: list


def rooms(ops):
    """Groups the names of ops and of composite rules by the module that has their rule."""
    found = {}
    for name in [*ops, *COMPOSITES]:
        if name in others.WITHOUT:
            continue
        if name in RULES:
            found.setdefault(RULES[name].__module__.split(".")[-1], []).append(name)
        elif ops[name].kind == "Elementwise" or name in ("Sum", "Mean"):
            found.setdefault("elementwise", []).append(name)
    return found


def add(g, name):
    op = g.ops.get(name)
    try:
        RULES.get(name, elementwise.by_schema)(g, op)
        return True
    # A rule that raises Reject may leave nodes in the graph. A KeyError means that the graph's
    # opset is too old for an op of the rule.
    except (Reject, KeyError):
        return False


def drawn(seed, oracle, theme=None):
    choice = random.Random(seed)
    opset = choice.choice(OPSETS)
    theme = theme or choice.choice(list(THEMES))
    network, theme = theme == "networks", THEMES[theme]
    pool = choice.choice(
        [
            (1, 2, 3),
            (2, 3, 4, 1),
            (4, 8, 1),
            (1, 5, 7),
            (3, 16, 1),
            (6, 9, 13),
            (1, 17, 32),
            (28, 2),
            (1, 1, 64, 2),
            (33, 3),
        ]
    )
    if network and choice.random() < 0.4:
        pool = choice.choice(
            [(8, 16, 64), (1, 24, 128), (7, 49, 14, 2), (196, 1, 2), (32, 128, 1), (56, 4, 1), (257, 2)]
        )
    sizes = sorted(choice.sample(pool, choice.randint(min(2, len(pool)), len(pool))))
    symbols = {}
    if choice.random() < 0.4:
        symbols = {name: choice.choice(sizes) for name in ("N", "S", "batch")[: choice.randint(1, 3)]}
    most = choice.choice((4096, 16384, 65536, 65536) if network else (256, 1024, 4096, 16384))
    g = Graph(choice, opset, oracle, sizes, symbols, most=most)
    g.palette, g.any_view = choice.choice(PALETTES), views.any_view
    g.rounding = choice.choice((0, 0, 0, 0, 0.1, 0.9))
    by_room = rooms(g.ops)
    everything = sorted(name for room in (IDIOMS if network else by_room) for name in by_room[room])
    names = [everything[seed % len(everything)]]
    wanted = choice.choice((4, 8, 16, 24, 40, 60) if network else (2, 3, 4, 5, 6, 8, 10, 14, 20))
    for _ in range(3 * wanted + 4):
        if len(g.nodes) >= wanted:
            break
        if names:
            for _ in range(3):
                if add(g, names[-1]):
                    break
            names.pop()
            continue
        room = choice.choices(list(theme), list(theme.values()))[0]
        offered = by_room.get(room, []) + [n for n in OFTEN.get(room, []) if n in g.ops or n in COMPOSITES]
        if offered:
            add(g, choice.choice(offered))
    return g


def outputs_of(g):
    """Returns the values that no node reads, and some of the others, as the model's outputs."""
    made = {name for node in g.nodes for name in node.output}
    results = [v for v in g.values if v.name in made and not isinstance(v.array, list)]
    ends = [v for v in results if v.name not in g.used]
    more = [v for v in results if v.name in g.used and g.choice.random() < 0.15]
    return (ends + more)[:24]


def pruned(g, outputs):
    """Removes nodes and inputs that no output needs."""
    from oracle import captured

    needed, nodes = {v.name for v in outputs}, []
    for node in reversed(g.nodes):
        if needed & set(node.output):
            nodes.append(node)
            needed |= set(node.input) | set(captured(node))
    g.nodes = nodes[::-1]
    g.inputs = [(v, make) for v, make in g.inputs if v.name in needed]
    g.initializers = [t for t in g.initializers if t.name in needed]


def crossed(g):
    """Inserts nodes before some operands, or combines these operands with another value of the same
    dims."""
    for _ in range(g.choice.choice((0, 0, 0, 1, 2, 4))):
        made = {name: i for i, node in enumerate(g.nodes) for name in node.output}
        values = {v.name: v for v in g.values if not isinstance(v.array, list) and v.dtype in (F32, F16) and v.size}
        i = g.choice.randrange(len(g.nodes))
        node = g.nodes[i]
        spots = [k for k, name in enumerate(node.input) if name in values]
        if not spots or g.opset < 7:
            continue
        spot = g.choice.choice(spots)
        value, result = values[node.input[spot]], g.name("v")
        others = [v for v in values.values() if (v.dims, v.dtype) == (value.dims, value.dtype) and v is not value]
        others = [v for v in others if made.get(v.name, -1) < i]
        if others and g.choice.random() < 0.7:
            operands = g.choice.sample([value.name, g.choice.choice(others).name], 2)
            g.nodes.insert(i, helper.make_node(g.choice.choice(("Add", "Add", "Sub", "Mul")), operands, [result]))
        else:
            g.nodes.insert(i, helper.make_node(g.choice.choice(("Abs", "Neg", "Relu")), [value.name], [result]))
        node.input[spot] = result


def model_of(g, outputs, name):
    # The outputs of the random model declare no dims, so that the compiler infers them.
    graph = g.proto(outputs, [v for v, _ in g.inputs], name)
    opsets = [helper.make_opsetid("", g.opset)] + [
        helper.make_opsetid(d, records.version_of(d)) for d in sorted(g.domains)
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if g.opset < 23 else 11)


def share_names(g, model):
    """Declares the same name for dims that differ, as some exporters do."""
    first, second = g.choice.sample(sorted(g.symbols), 2)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == second:
                dim.dim_param = first


def one_node(name, seed):
    """Returns a model with a node of that op and the nodes that its rule adds, or None if the rule
    rejects."""
    g = Graph(random.Random(seed), max(OPSETS), Oracle(), [2, 4, 8])
    g.palette, g.any_view = PALETTES[0], views.any_view
    if not add(g, name):
        return None
    outputs = outputs_of(g)
    pruned(g, outputs)
    return model_of(g, outputs, name) if any(node.op_type == name.split(".")[-1] for node in g.nodes) else None


def one_idiom(name, seed):
    """Returns True if the rule of an idiom adds its nodes to an empty graph without rejecting."""
    choice = random.Random(seed)
    g = Graph(choice, choice.choice((12, 17, 21)), Oracle(), [2, 4, 8], most=16384)
    g.palette, g.any_view = PALETTES[0], views.any_view
    return add(g, name)


def generate(seed, oracle=None, bindings=3, theme=None):
    """Returns the case of a seed, optionally of a given theme. Returns None if no node could be
    drawn."""
    g = drawn(seed, oracle or Oracle(), theme)
    outputs = outputs_of(g)
    if not outputs:
        return None
    crossed(g)
    pruned(g, outputs)
    model = model_of(g, outputs, f"seed{seed}")
    if len(g.symbols) > 1 and g.choice.random() < 0.1:
        share_names(g, model)
    feeds = [{v.name: v.array for v, _ in g.inputs}]
    if any(not v.static for v, _ in g.inputs):
        random_arrays = np.random.default_rng(seed)
        for _ in range(bindings):
            sizes = {name: g.choice.choice((0, 1, 1, 2, 3, 5, 16, 17, 67, *g.sizes)) for name in g.symbols}
            feeds.append({v.name: bound(v, make, sizes, random_arrays, g.most) for v, make in g.inputs})
        feeds = [f for f in feeds if all(value is not None for value in f.values())]
    return Case(f"seed {seed}", model, feeds)


def bound(value, make, sizes, random_arrays, most):
    """Draws another array for an input, with the current sizes of its symbols. Returns None if the
    array is too large."""
    shape = tuple(sizes.get(label, size) for size, label in value.dims)
    return make(random_arrays, shape) if np.prod(shape) <= 64 * most else None


def without_rules():
    """Returns the ops of the ONNX records that have neither a rule nor an entry in the list of
    excluded ops."""
    known = {op for opset in set(OPSETS) for op in records.ops_of(opset)}
    covered = {op for opset in set(OPSETS) for names in rooms(records.ops_of(opset)).values() for op in names}
    return sorted(known - covered - set(others.WITHOUT))

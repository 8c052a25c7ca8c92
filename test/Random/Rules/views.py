# SPDX-License-Identifier: Apache-2.0
"""Views: ops that change only the shape or the order of elements. Kernels may read any operand
through them."""

import math

import numpy as np
import records
from graph import Reject
from records import I64

from Rules import rule


def any_view(g, value):
    if isinstance(value.array, list) or value.dtype in records.STORED:
        raise Reject("no view")
    drawn = g.choice.choice(
        ("Transpose", "Slice", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Identity", "Split")
    )
    return VIEWS[drawn](g, value)


def taken(g, op, low=0, high=5):
    return g.value(
        [t for t in op.types(op.schema.inputs[0].type_str) if t not in records.STORED or g.opset >= 25], low, high
    )


def negative(g, axis, rank):
    return axis - rank if g.choice.random() < 0.3 else axis


def by_axes(g, op, value, axes, run_time=0.0, **attributes):
    """Adds a node whose axes are an attribute or an operand, as the opset requires."""
    if axes is None:
        return g.node(op, [value], **attributes)
    if g.ops[op].has_input("axes"):
        return g.node(op, [value, g.ints(axes, run_time)], **attributes)
    return g.node(op, [value], axes=axes, **attributes)


def transpose(g, value):
    perm = list(range(value.rank))
    g.choice.shuffle(perm)
    return g.node("Transpose", [value], perm=None if g.choice.random() < 0.1 else perm)


def reshape(g, value):
    """Adds a Reshape that merges, splits or refactors dims. Symbolic dims are given by 0 and -1, or
    by values that other nodes compute."""
    if value.dtype in records.STORED and g.opset < 21:
        raise Reject("not of this type yet")
    rank, shape = value.rank, []
    i = 0
    while i < rank:
        size, label = value.dims[i]
        roll = g.choice.random()
        if roll < 0.35 and i + 1 < rank:  # merges two dims
            size2, label2 = value.dims[i + 1]
            shape.append(-1 if label or label2 else size * size2)
            i += 2
            continue
        factors = [f for f in range(2, size) if size % f == 0]
        if roll < 0.6 and not label and factors:  # splits a dim
            factor = g.choice.choice(factors)
            shape += [factor, size // factor]
        elif label:
            shape.append(0 if len(shape) == i else -1)
        else:
            shape.append(size)
        if g.choice.random() < 0.1:
            shape.append(1)
        i += 1
    if value.static and g.choice.random() < 0.3 and value.size:
        shape = factored(g, value.size)
    if shape.count(-1) > 1:
        shape = (
            [-1] + [size for size, label in value.dims[1:] if not label] if rank and not any(value.labels[1:]) else [-1]
        )
    if -1 not in shape and value.size and shape and g.choice.random() < 0.3 and 0 not in shape:
        shape[g.choice.randrange(len(shape))] = -1
    if not value.size and -1 in shape:
        raise Reject("-1 of nothing")
    return g.node("Reshape", [value, g.ints(shape)])


def factored(g, size):
    shape = []
    while size > 1 and len(shape) < 4:
        divisors = [f for f in range(1, size + 1) if size % f == 0]
        shape.append(g.choice.choice(divisors))
        size //= shape[-1]
    return [*shape, size]


def squeeze(g, value):
    ones = [i for i, dim in enumerate(value.dims) if dim == (1, None)]
    if not ones:
        raise Reject("no dim of 1")
    if value.static and g.choice.random() < 0.2:
        return g.node("Squeeze", [value])
    axes = [negative(g, a, value.rank) for a in g.choice.sample(ones, g.choice.randint(1, len(ones)))]
    return by_axes(g, "Squeeze", value, axes)


def unsqueeze(g, value):
    rank = value.rank + g.choice.randint(1, 2)
    if rank > 5:
        raise Reject("many dims")
    axes = sorted(g.choice.sample(range(rank), rank - value.rank))
    return by_axes(g, "Unsqueeze", value, [negative(g, a, rank) if g.opset >= 11 else a for a in axes])


def flatten(g, value):
    return g.node("Flatten", [value], axis=g.choice.randint(0 if g.opset < 11 else -value.rank, value.rank))


# Starts, ends and steps beyond the dims, which ONNX clamps, and the values that exporters write for
# "to the end".
FAR = (-100, -9, -8, -3, 9, 100, 2**31 - 1, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63))
FAR_STEPS = (1, 2, -1, -2, -3, 2**62, 2**63 - 1, -(2**63 - 1), -(2**63))


def slices(g, value):
    if not value.rank:
        raise Reject("nothing to cut")
    axes = g.choice.sample(range(value.rank), g.choice.randint(1, value.rank))
    starts, ends, steps = [], [], []
    for axis in axes:
        size, label = value.dims[axis]
        step = g.choice.choice((1, 1, 1, 2, 3, -1, -1, -2)) if g.opset >= 10 else 1
        if g.opset >= 10 and g.choice.random() < 0.15:
            starts.append(g.choice.choice(FAR)), ends.append(g.choice.choice(FAR))
            steps.append(g.choice.choice(FAR_STEPS))
            continue
        if label:
            start, end = g.choice.choice([(0, 2**63 - 1), (1, 2**63 - 1), (0, -1), (-2, 2**63 - 1)])
            if step < 0:
                start, end = -1, -(2**63)
        else:
            cut = sorted((g.choice.randint(0, size), g.choice.randint(0, size)))
            cut = cut if cut[1] > cut[0] else [0, size]
            start, end = cut
            if step < 0:
                start, end = cut[1] - 1, (cut[0] - 1 if cut[0] else -(2**63))
            if end == size and g.choice.random() < 0.3:
                end = 2**63 - 1
            if start > 0 and g.choice.random() < 0.3:
                start -= size
        starts.append(start), ends.append(end), steps.append(step)
    if g.opset < 10:
        return g.node("Slice", [value], axes=axes, starts=starts, ends=ends)
    axes = [negative(g, a, value.rank) for a in axes]
    return g.node("Slice", [value, *(g.ints(v) for v in (starts, ends, axes, steps))])


def expand(g, value):
    if "Expand" not in g.ops:
        raise Reject("not yet")
    dims = [size if label is None else 1 for size, label in value.dims]
    for i in range(len(dims)):
        if value.dims[i] == (1, None) and g.choice.random() < 0.7:
            dims[i] = g.choice.choice(g.sizes)
    lead = [g.choice.choice(g.sizes) for _ in range(g.choice.randint(0, 1))]
    if math.prod(lead + dims) > g.most:
        raise Reject("large")
    return g.node("Expand", [value, g.ints(lead + dims)])


def identity(g, value):
    return g.node("Identity", [value])


def split_sizes(g, size):
    cuts = sorted(g.choice.sample(range(1, size), min(size - 1, g.choice.randint(1, 2))))
    return [b - a for a, b in zip([0, *cuts], [*cuts, size])]


def split(g, value):
    axes = [i for i, (size, label) in enumerate(value.dims) if label is None and size > 1]
    if not axes:
        raise Reject("nothing to split")
    axis = g.choice.choice(axes)
    parts, attributes = (
        split_sizes(g, value.shape[axis]),
        {"axis": axis if g.opset < 11 else negative(g, axis, value.rank)},
    )
    if g.opset >= 18 and g.choice.random() < 0.4:
        count = g.choice.randint(2, value.shape[axis])
        if -(-value.shape[axis] // count) * (count - 1) >= value.shape[axis] or count > 5:
            raise Reject("a part of nothing")
        results = g.node("Split", [value], outputs=count, num_outputs=count, **attributes)
    elif g.ops["Split"].has_input("split") and g.opset >= 13:
        results = g.node("Split", [value, g.ints(parts, 0)], outputs=len(parts), **attributes)
    else:
        results = g.node("Split", [value], outputs=len(parts), split=parts, **attributes)
    results = results if isinstance(results, list) else [results]
    return g.choice.choice(results)


VIEWS = {
    "Transpose": transpose,
    "Reshape": reshape,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Flatten": flatten,
    "Slice": slices,
    "Expand": expand,
    "Identity": identity,
    "Split": split,
}


@rule(*(name for name in VIEWS if name != "Identity"))
def viewed(g, op):
    low = {"Transpose": 1, "Slice": 1, "Split": 1}.get(op.name, 0)
    return VIEWS[op.name](g, taken(g, op, low))


@rule("Reshape-computed")
def computed_reshape(g, op):
    """Adds a Reshape to dims that are taken from Shape and concatenated, as exporters write it."""
    value = g.value([t for t in records.FLOATS if t in g.root.palette] or [records.F32], 2, 4)
    shape = g.node("Shape", [value])
    first = g.node("Gather", [shape, g.constant(np.asarray([0], I64))], axis=0)
    return g.node("Reshape", [value, g.node("Concat", [first, g.constant(np.asarray([-1], I64))], axis=0)])

# SPDX-License-Identifier: Apache-2.0
"""Ops whose access depends on data: indices, conditions, orders."""

import numpy as np
import records
from graph import Reject
from records import BOOL, F32, FLOATS, I32, I64, INTS

from Rules import ML, rule
from Rules.moves import some
from Rules.views import negative, taken


def indices(g, dims, size, below=True):
    """Returns int64 or int32 indices of a dim of `size`, possibly negative."""
    if not size:
        raise Reject("a dim of 0")
    return g.leaf(
        g.choice.choice((I64, I32)), dims, -size if below and g.opset >= 11 and g.choice.random() < 0.4 else 0, size - 1
    )


def fixed(g, value, axis):
    """Returns the size of a dim for which indices are drawn. Rejects symbolic dims."""
    size, label = value.dims[axis]
    if label:
        raise Reject("the bound is a symbol")
    return size


@rule("Gather")
def gather(g, op):
    value = taken(g, op, 1, 4)
    axis = g.choice.randrange(value.rank)
    picked = indices(g, g.dims(0, 2), fixed(g, value, axis))
    return g.node("Gather", [value, picked], axis=axis if g.opset < 11 else negative(g, axis, value.rank))


@rule("GatherElements")
def gather_elements(g, op):
    value = taken(g, op, 1, 4)
    axis, dims = g.choice.randrange(value.rank), list(value.dims)
    dims[axis] = g.dim()
    return g.node(
        "GatherElements", [value, indices(g, dims, fixed(g, value, axis))], axis=negative(g, axis, value.rank)
    )


@rule("GatherND")
def gather_nd(g, op):
    value = taken(g, op, 2, 4)
    batch = g.choice.randint(0, 1) if g.opset >= 12 else 0
    depth = g.choice.randint(1, value.rank - batch)
    if not value.static or not value.size:
        raise Reject("bounds are symbols")
    least = min(value.shape[batch : batch + depth])
    picked = g.leaf(I64, [*value.dims[:batch], *g.dims(1, 2), (depth, None)], 0, least - 1)
    return g.node("GatherND", [value, picked], **({"batch_dims": batch} if batch else {}))


@rule("Scatter", "ScatterElements")
def scatter_elements(g, op):
    value = taken(g, op, 1, 3)
    axis = g.choice.randrange(value.rank)
    size = fixed(g, value, axis)
    count = g.choice.randint(1, size) if size else 0
    if not value.size or not value.static:
        raise Reject("nothing to write to")
    # Draws each index of a scatter op only once, because ONNX does not define the result of two
    # updates of one element.
    rows = np.stack([g.arrays.permutation(size)[:count] for _ in range(value.size // size)])
    shape = [d for i, d in enumerate(value.shape) if i != axis] + [count]
    picked = g.constant(np.moveaxis(rows.reshape(shape), -1, axis).astype(g.choice.choice((np.int64, np.int32))))
    dims = list(value.dims)
    dims[axis] = (count, None)
    attributes = {"axis": axis}
    if op.name == "ScatterElements" and g.opset >= 16 and g.choice.random() < 0.5 and value.dtype in FLOATS + INTS:
        attributes["reduction"] = g.choice.choice(["add", "mul"] + ["min", "max"] * (g.opset >= 18))
    return g.node(op.name, [value, picked, g.like(dims, value.dtype)], **attributes)


@rule("ScatterND")
def scatter_nd(g, op):
    value = taken(g, op, 1, 3)
    size = fixed(g, value, 0)
    if not size or not value.size:
        raise Reject("nothing to write to")
    count = g.choice.randint(1, size)
    picked = g.constant(g.arrays.permutation(size)[:count].reshape(count, 1).astype(np.int64))
    attributes = {}
    if g.opset >= 16 and g.choice.random() < 0.5 and value.dtype in FLOATS + INTS:
        attributes["reduction"] = g.choice.choice(["add", "mul"] + ["min", "max"] * (g.opset >= 18))
    return g.node("ScatterND", [value, picked, g.like([(count, None), *value.dims[1:]], value.dtype)], **attributes)


@rule("OneHot")
def one_hot(g, op):
    depth = g.choice.choice((2, 3, 5))
    picked = g.leaf(I64, g.dims(1, 3), -depth, depth)
    values = g.leaf(g.choice.choice(some(g, op, "T3")), [(2, None)])
    return g.node(
        "OneHot", [picked, g.constant(np.asarray(depth, I64)), values], axis=g.choice.randint(-1, picked.rank)
    )


@rule("Compress")
def compress(g, op):
    value = taken(g, op, 1, 3)
    axis = g.choice.randrange(value.rank)
    condition = g.leaf(BOOL, [(fixed(g, value, axis), None)])
    return g.node("Compress", [value, condition], axis=axis)


@rule("NonZero")
def non_zero(g, op):
    return g.node("NonZero", [g.value([t for t in (BOOL, F32, I64, I32) if t in op.types()], 1, 3)])


@rule("Unique")
def unique(g, op):
    value = g.value([t for t in (F32, I64) if t in op.types()], 1, 2, test=lambda v: v.size)
    axis = {"axis": g.choice.randrange(value.rank)} if g.choice.random() < 0.3 else {}
    return g.node("Unique", [value], outputs=4, sorted=1, **axis)


@rule("TopK")
def top_k(g, op):
    value = g.value(
        [t for t in (F32, I64, I32) if t in (op.types() if g.opset >= 11 else [F32])], 1, 4, test=lambda v: v.size
    )
    axis = g.choice.randrange(value.rank)
    k = g.choice.randint(1, max(1, fixed(g, value, axis)))
    order = {"largest": g.choice.choice((0, 1))} if g.opset >= 11 else {}
    if g.opset < 10:
        return g.node("TopK", [value], outputs=2, axis=axis, k=k)
    return g.node("TopK", [value, g.ints([k])], outputs=2, axis=axis, **order)


@rule("ArgMax", "ArgMin")
def arg(g, op):
    value = g.value(
        [t for t in (F32, I32, *g.root.palette) if t in op.types() and t not in records.STORED],
        1,
        4,
        test=lambda v: v.size,
    )
    last = {"select_last_index": g.choice.choice((0, 1))} if g.opset >= 12 else {}
    axis = g.choice.randrange(value.rank)
    return g.node(
        op.name,
        [value],
        axis=axis if g.opset < 11 else negative(g, axis, value.rank),
        keepdims=g.choice.choice((0, 1)),
        **last,
    )


@rule(f"{ML}.ArrayFeatureExtractor")
def array_feature_extractor(g, op):
    value = g.value([F32, I64], 2, 2, test=lambda v: v.size)
    return g.node(
        op.name, [value, g.leaf(I64, [(g.choice.randint(1, 3), None)], 0, fixed(g, value, 1) - 1)], domain=op.domain
    )

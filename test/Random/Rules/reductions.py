# SPDX-License-Identifier: Apache-2.0
"""Reductions, prefix scans and normalizations."""

import numpy as np
import records
from graph import Reject
from records import F32, FLOATS, I32, I64, INTS

from Rules import MICROSOFT, ML, rule
from Rules.elementwise import within
from Rules.moves import some
from Rules.views import by_axes, negative

POSITIVE = ("ReduceLogSum",)


def reduced(g, op, value):
    count = g.choice.choice((1, 1, 1, 2, value.rank, 0)) if value.rank else 0
    axes = sorted(g.choice.sample(range(value.rank), min(count, value.rank)))
    keepdims = g.choice.choice((0, 0, 1))
    if not axes:
        return g.node(op.name, [value], keepdims=keepdims)
    return by_axes(
        g, op.name, value, [negative(g, a, value.rank) if g.opset >= 11 else a for a in axes], 0, keepdims=keepdims
    )


@rule(
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)
def reduce(g, op):
    types = [
        t
        for t in op.types()
        if t in FLOATS or (g.choice.random() < 0.4 and op.name in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"))
    ]
    value = g.value(
        [t for t in types if t in g.root.palette] or [F32], 0 if g.opset >= 18 else 1, 5, test=lambda v: v.size
    )
    if op.name == "ReduceProd":
        value = within(g, value, -1.5, 1.5)
    if op.name in POSITIVE:
        value = within(g, value, 0.1, 100)
    return reduced(g, op, value)


@rule("Reduce-back")
def reduced_and_back(g, op):
    """Adds a reduction with keepdims=0. Its result is broadcast with its operand, or with another
    value of the operand's shape, along any dim."""
    names = ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"]
    value = g.value([t for t in FLOATS if t in g.root.palette] or [F32], 2, 4, test=lambda v: v.size)
    result = reduced(g, g.ops[g.choice.choice(names)], value)
    others = [v for v in (value, g.like(value.dims, value.dtype)) if fits(result, v)]
    for other in others:
        result = g.node(g.choice.choice(["Add", "Sub", "Mul", "Max"]), g.choice.sample([result, other], 2))
    return result


def fits(a, b):
    return all(x == y or (1, None) in (x, y) for x, y in zip(a.dims[::-1], b.dims[::-1]))


@rule("CumSum", "CumProd")
def running(g, op):
    value = g.value([t for t in (F32, I32, I64) if t in op.types()], 1, 4)
    if op.name == "CumProd":
        value = within(g, value, -1.5, 1.5)
    axis = g.constant(np.asarray(negative(g, g.choice.randrange(value.rank), value.rank), I64))
    return g.node(op.name, [value, axis], exclusive=g.choice.choice((0, 1)), reverse=g.choice.choice((0, 1)))


@rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, op):
    value = g.value(some(g, op), 1, 4, test=lambda v: v.size)
    axis = g.choice.randrange(value.rank)
    return g.node(op.name, [value], axis=axis if g.opset < 11 else negative(g, axis, value.rank))


@rule("LpNormalization")
def lp_normalization(g, op):
    value = g.value(some(g, op), 1, 4, test=lambda v: v.size and np.all(v.array != 0))
    return g.node(op.name, [value], axis=g.choice.randrange(value.rank), p=g.choice.choice((1, 2)))


@rule("MeanVarianceNormalization")
def mean_variance(g, op):
    # Some rows have no variance: the dims are 1, or all elements are equal.
    sizes = [(g.choice.choice((1, n)), None) for n in (3, 4, 5)]
    value = g.leaf(F32, [g.dim(), *sizes])
    if g.choice.random() < 0.2:
        value = g.node("Mul", [value, g.constant(np.asarray(0, F32))])
        value = g.node("Add", [value, g.constant(np.asarray(g.choice.uniform(-3, 3), F32))])
    axes = {"axes": sorted(g.choice.sample(range(4), g.choice.randint(1, 4)))} if g.choice.random() < 0.5 else {}
    return g.node(op.name, [value], **axes)


def channels(g, value, axis=1):
    """Returns a vector of positive numbers, one for each channel of the value."""
    return g.leaf(value.dtype, [value.dims[axis]], 0.5, 2)


@rule("BatchNormalization")
def batch_normalization(g, op):
    value = g.value([F32], 2, 4, test=lambda v: v.size and not v.labels[1])
    return g.node(op.name, [value, *(channels(g, value) for _ in range(4))])


@rule("InstanceNormalization")
def instance_normalization(g, op):
    value = g.value([F32], 3, 4, test=lambda v: v.size and not v.labels[1])
    return g.node(op.name, [value, channels(g, value), channels(g, value)], epsilon=0.01)


@rule("GroupNormalization")
def group_normalization(g, op):
    groups, each = g.choice.choice((1, 2, 3)), g.choice.choice((1, 2, 4))
    value = g.like([g.dim(), (groups * each, None), g.dim(), g.dim()][: g.choice.choice((3, 4))], F32)
    dims = [(groups * each if g.opset >= 21 else groups, None)]
    return g.node(op.name, [value, g.leaf(F32, dims, 0.5, 2), g.leaf(F32, dims)], num_groups=groups, epsilon=0.01)


@rule("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
def layer_normalization(g, op):
    value = g.value(
        [t for t in FLOATS if t in g.root.palette and t != records.F64] or [F32], 1, 4, test=lambda v: v.size
    )
    axis = g.choice.randrange(value.rank) if op.name != "SimplifiedLayerNormalization" else value.rank - 1
    scale = g.leaf(value.dtype, value.dims[axis:], 0.5, 2)
    bias = (
        [g.leaf(value.dtype, value.dims[axis:])] if op.name == "LayerNormalization" and g.choice.random() < 0.6 else []
    )
    return g.node(op.name, [value, scale, *bias], axis=negative(g, axis, value.rank), epsilon=0.01)


@rule(f"{MICROSOFT}.SkipLayerNormalization", f"{MICROSOFT}.SkipSimplifiedLayerNormalization")
def skip_layer_normalization(g, op):
    value = g.value([F32], 3, 3, test=lambda v: v.size)
    skip, gamma = g.like(value.dims, F32), g.leaf(F32, value.dims[2:], 0.5, 2)
    beta = [g.leaf(F32, value.dims[2:])] if op.name == "SkipLayerNormalization" else []
    return g.node(op.name, [value, skip, gamma, *beta], domain=op.domain, epsilon=0.01)


@rule("LRN")
def local_response(g, op):
    value = g.value([F32], 4, 4, test=lambda v: v.size)
    return g.node(op.name, [value], size=g.choice.choice((1, 3, 5)), alpha=0.1, beta=0.75, bias=1.0)


@rule(f"{ML}.Normalizer", f"{ML}.Scaler", f"{ML}.LinearRegressor", f"{ML}.Binarizer")
def of_features(g, op):
    value = g.value([F32], 2, 2, test=lambda v: v.size and v.static and np.all(v.array != 0))
    width = value.shape[1]
    if op.name == "Normalizer" and g.choice.random() < 0.3:  # the largest element of a row is negative
        value = g.node("Neg", [g.node("Abs", [value])])
    if op.name == "Normalizer":
        return g.node(op.name, [value], domain=op.domain, norm=g.choice.choice(["MAX", "L1", "L2"]))
    if op.name == "Binarizer":
        return g.node(op.name, [value], domain=op.domain, threshold=0.3)
    numbers = [g.choice.randint(-4, 4) / 2 for _ in range(width)]
    if op.name == "Scaler":
        return g.node(op.name, [value], domain=op.domain, offset=numbers, scale=[0.5] * width)
    return g.node(op.name, [value], domain=op.domain, coefficients=numbers, intercepts=[0.25], targets=1)


@rule("Einsum")
def einsum(g, op):
    dtype = g.choice.choice([t for t in some(g, op) if t in (*FLOATS, I32, I64)] or [F32])
    letters = {letter: g.dim() for letter in "abcd"}
    left = g.choice.sample("abcd", g.choice.randint(1, 3))
    right = g.choice.sample("abcd", g.choice.randint(1, 3))
    result = [x for x in dict.fromkeys(left + right) if g.choice.random() < 0.7]
    g.choice.shuffle(result)
    operands = [g.like([letters[x] for x in side], dtype, -2, 2) for side in (left, right)]
    if g.choice.random() < 0.15 and len(left) == len(set(left)):
        return g.node("Einsum", operands[:1], equation="".join(left) + "->" + "".join(x for x in result if x in left))
    return g.node("Einsum", operands, equation=f"{''.join(left)},{''.join(right)}->{''.join(result)}")


@rule("Sum-of-ints")
def sum_of_ints(g, op):
    value = g.value([t for t in INTS if t in g.root.palette] or [I32], 1, 4, test=lambda v: v.size)
    if value.dtype not in g.ops["ReduceSum"].types():
        raise Reject("not a type of ReduceSum")
    return reduced(g, g.ops["ReduceSum"], value)

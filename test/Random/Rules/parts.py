# SPDX-License-Identifier: Apache-2.0
"""Building blocks of idioms, as exporters write them: shapes, matmuls with weights, activations,
normalizations."""

import dataclasses

import numpy as np
from graph import Reject
from onnx import helper
from records import BF16, F16, F32, I64

from Rules.quantized import rounded
from Rules.views import by_axes


def chance(g, share):
    return g.choice.random() < share


def real(g):
    return g.choice.choice([t for t in (F32, F16, BF16) if t in g.root.palette] or [F32])


def known(*sizes):
    """Returns dims that have no symbols."""
    return [(size, None) for size in sizes]


def number(g, value, dtype):
    """Returns a constant with one element, as a scalar or with dims of 1."""
    return g.constant(np.full(g.choice.choice(((), (), (1,))), value, dtype))


def weights(g, sizes, dtype, low=-0.5, high=0.5):
    return g.leaf(dtype, known(*sizes), low, high, 0.85)


def either(g, op, a, b):
    """Adds a node of a commutative op with its operands in random order."""
    return g.node(op, [a, b] if chance(g, 0.5) else [b, a])


def labelled(g, value, labels):
    """Sets the value's dim labels, which the rule knows. ONNX's shape inference may have lost
    them."""
    if len(labels) != value.rank:
        raise Reject("other dims: the added operand has a larger rank")
    told = dataclasses.replace(value, labels=tuple(labels))
    g.values[:] = [told if v.name == value.name else v for v in g.values]
    return told


def like_of(g, value, other):
    if value.shape != other.shape:
        raise Reject("other dims: the added operand is larger")
    return labelled(g, value, other.labels)


# Operands


def amount(g, few, many=(16, 24, 32, 48, 64, 96)):
    """Draws a number of channels or features. The number is small or, in graphs of large values, so
    large that the compiler uses another layout or tile."""
    return g.choice.choice(many if g.root.most >= 65536 and chance(g, 0.5) else few)


def sequence(g, widths=(2, 4, 6, 8, 12, 16, 24)):
    """Returns a value of [batch, positions, features] with a constant number of features."""
    types = (F32, F16, BF16)
    found = g.find(lambda v: v.dtype in types and v.rank == 3 and v.size and not v.labels[2] and 2 <= v.shape[2] <= 128)
    if found is not None and chance(g, 0.7):
        return found
    return g.like([g.dim(), g.dim(), (amount(g, widths), None)], real(g), -1, 1)


def image(g, channels=(1, 2, 3, 4, 6, 8, 12, 16), multiple=1, symbols=True):
    """Returns an image with a constant number of channels, and with height and width that are
    multiples of `multiple`."""

    def fits(v):
        return (
            v.dtype in (F32, F16, BF16)
            and v.rank == 4
            and v.size
            and not v.labels[1]
            and (1 in channels or v.shape[1] in channels)
            and all(n % multiple == 0 and (not label or (multiple == 1 and symbols)) for n, label in v.dims[2:])
        )

    found = g.find(fits)
    if found is not None and chance(g, 0.7):
        return found
    spatial = [g.dim() for _ in range(2)]
    if multiple > 1 or not symbols:
        spatial = known(*(multiple * g.choice.randint(1, 4) for _ in spatial))
    while np.prod([d for d, _ in spatial]) > 1024:
        spatial[g.choice.randrange(2)] = (4, None)
    batch = g.dim() if chance(g, 0.5) else (1, None)
    return g.like([batch, (amount(g, channels), None), *spatial], real(g), -1, 1)


# Shapes


def reshaped(g, x, dims):
    """Adds a Reshape to `dims`, given by 0 and -1 or by a shape computed from Shape, as exporters
    write it for symbolic dims."""
    dims = tuple(dims)
    computed, sizes, whole = chance(g, 0.2), [], None
    for i, dim in enumerate(dims):
        if dim[1] is None:
            sizes.append(dim[0])
        elif not computed and i < x.rank and x.dims[i] == dim:
            sizes.append(0)
        elif dim in x.dims and not dim[1].startswith("?"):
            whole = whole or g.node("Shape", [x])
            sizes.append(g.node("Gather", [whole, g.constant(np.asarray([x.dims.index(dim)], I64))], axis=0))
        else:
            sizes.append(-1)
    if sizes.count(-1) > 1:
        raise Reject("two unknown dims")
    if -1 not in sizes and chance(g, 0.3):
        sizes[g.choice.randrange(len(sizes))] = -1
    if whole is None:
        shape = g.ints(sizes, 0.05)
    else:
        joined = []
        for size in sizes:
            if isinstance(size, int) and joined and isinstance(joined[-1], list):
                joined[-1].append(size)
            else:
                joined.append([size] if isinstance(size, int) else size)
        shape = g.node("Concat", [g.constant(np.asarray(s, I64)) if isinstance(s, list) else s for s in joined], axis=0)
    return labelled(g, g.node("Reshape", [x, shape]), [label for _, label in dims])


def transposed(g, x, perm):
    return labelled(g, g.node("Transpose", [x], perm=perm), [x.labels[p] for p in perm])


def product(g, *dims):
    """Returns size and label of the dim that results from merging `dims`."""
    size = int(np.prod([d for d, _ in dims]))
    symbolic = [d for d in dims if d[1]]
    if not symbolic:
        return size, None
    if len(symbolic) == 1 and size == symbolic[0][0]:
        return symbolic[0] if all(d == (1, None) for d in dims if not d[1]) else (size, g.unknown())
    return size, g.unknown()


def sliced(g, x, axis, start, end, step=1):
    """Adds a Slice. If `end` is None, the slice ends with the dim."""
    end = (2**63 - 1 if step > 0 else -(2**63)) if end is None else end
    if g.opset < 10:
        if step != 1:
            raise Reject("no steps yet")
        return g.node("Slice", [x], axes=[axis], starts=[start], ends=[end])
    operands = [g.constant(np.asarray([n], I64)) for n in (start, end, axis, step)]
    return g.node("Slice", [x, *(operands if step != 1 else operands[:3])])


def split(g, x, axis, sizes):
    """Splits a dim of constant size by Split or by Slices."""
    if len(sizes) == 1:
        return [x]
    if chance(g, 0.3):
        ends = np.cumsum(sizes)
        found = [sliced(g, x, axis, int(end - size), int(end)) for size, end in zip(sizes, ends)]
    elif g.opset >= 13:
        found = g.node("Split", [x, g.constant(np.asarray(sizes, I64))], outputs=len(sizes), axis=axis)
    else:
        found = g.node("Split", [x], outputs=len(sizes), axis=axis, split=list(sizes))
    return [labelled(g, v, [None if i == axis else label for i, label in enumerate(x.labels)]) for v in found]


def concat(g, values, axis):
    if len(values) == 1:
        return values[0]
    labels = list(values[0].labels)
    labels[axis] = None if not any(v.labels[axis] for v in values) else g.unknown()
    return labelled(g, g.node("Concat", values, axis=axis), labels)


def unsqueezed(g, x, axis):
    labels = list(x.labels)
    labels.insert(axis, None)
    return labelled(g, by_axes(g, "Unsqueeze", x, [axis]), labels)


def squeezed(g, x, axis):
    return labelled(g, by_axes(g, "Squeeze", x, [axis]), x.labels[:axis] + x.labels[axis + 1 :])


def reduced(g, name, x, axes, keepdims=1):
    labels = [None if i in axes else label for i, label in enumerate(x.labels) if keepdims or i not in axes]
    return labelled(g, by_axes(g, name, x, axes, keepdims=keepdims), labels)


def softmax(g, x, axis=-1):
    """Adds a softmax over one axis. Before opset 13, Softmax normalizes over all dims from an axis
    on, so that other nodes may be needed."""
    axis %= x.rank
    if (g.opset >= 13 or axis == x.rank - 1) and chance(g, 0.8):
        return like_of(g, g.node("Softmax", [x], axis=axis), x)
    shifted = g.node("Sub", [x, reduced(g, "ReduceMax", x, [axis])])
    powers = g.node("Exp", [shifted])
    return like_of(g, g.node("Div", [powers, reduced(g, "ReduceSum", powers, [axis])]), x)


# Functions that insert nodes between other nodes of a graph


def stored(g, x):
    """In a graph whose contractions are quantized, adds QuantizeLinear and DequantizeLinear of the
    value."""
    if x.dtype == F32 and x.size and chance(g, g.root.rounding):
        return like_of(g, rounded(g, x), x)
    return x


def between(g, x):
    """Sometimes adds a node that keeps the dims."""
    if not chance(g, 0.12):
        return x
    way = g.choice.choice(("Identity", "Dropout", "Neg", "Abs", "Mul", "Relu", "Cast", "turned"))
    if way == "Mul":
        return like_of(g, either(g, "Mul", x, number(g, 0.5, x.dtype)), x)
    if way == "Cast":
        other = F16 if x.dtype == F32 else F32
        wide = g.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(other))
        return like_of(g, g.node("Cast", [wide], to=helper.np_dtype_to_tensor_dtype(x.dtype)), x)
    if way == "turned":
        perm = list(range(x.rank))
        g.choice.shuffle(perm)
        seen = transposed(g, x, perm)
        seen = like_of(g, g.node("Abs", [seen]), seen) if chance(g, 0.5) else seen
        return transposed(g, seen, [perm.index(i) for i in range(x.rank)])
    return like_of(g, g.node(way, [x]), x)


def residual(g, x, y):
    """Adds a residual to y: `x`, or another value of the same dims."""
    if not chance(g, 0.7):
        return y
    other = g.find(lambda v: v.dtype == y.dtype and v.dims == y.dims and v.name != y.name)
    if x.dims == y.dims and x.dtype == y.dtype and (other is None or chance(g, 0.6)):
        other = x
    if other is None or any(label and label.startswith("?") for label in y.labels):
        return y
    return like_of(g, either(g, "Add", other, y), y)


def linear(g, x, width, bias=0.6):
    """Adds a matmul with weights along the last dim."""
    if x.labels[-1]:
        raise Reject("the K dimension is symbolic")
    depth, x = x.shape[-1], stored(g, x)
    labels = (*x.labels[:-1], None)
    if x.rank == 2 and chance(g, 0.5) and g.opset >= 11:
        turned = g.choice.choice((0, 1))
        packed = stored(g, weights(g, (width, depth) if turned else (depth, width), x.dtype))
        vector = [weights(g, (width,), x.dtype)] if chance(g, bias) else []
        return labelled(g, g.node("Gemm", [x, packed, *vector], transB=turned), labels)
    if chance(g, 0.3):
        packed = g.node("Transpose", [stored(g, weights(g, (width, depth), x.dtype))], perm=[1, 0])
    else:
        packed = stored(g, weights(g, (depth, width), x.dtype))
    result = labelled(g, g.node("MatMul", [x, packed]), labels)
    if chance(g, bias):
        result = like_of(g, either(g, "Add", result, weights(g, (width,), x.dtype)), result)
    return result


def activation(g, x):
    """Adds an activation, as one node or in separate nodes."""
    way = g.choice.choice(sorted(WAYS))
    return like_of(g, WAYS[way](g, x), x)


def silu(g, x):
    return either(g, "Mul", x, g.node("Sigmoid", [x]))


def gelu(g, x):
    if chance(g, 0.3):
        return g.node("Gelu", [x])
    inner = g.node("Div", [x, number(g, 2**0.5, x.dtype)])
    factor = either(g, "Add", g.node("Erf", [inner]), number(g, 1, x.dtype))
    if chance(g, 0.5):
        return either(g, "Mul", either(g, "Mul", x, factor), number(g, 0.5, x.dtype))
    return either(g, "Mul", either(g, "Mul", x, number(g, 0.5, x.dtype)), factor)


def gelu_by_tanh(g, x):
    cube = g.node("Mul", [g.node("Mul", [x, x]), x]) if chance(g, 0.5) else g.node("Pow", [x, number(g, 3, x.dtype)])
    inner = either(g, "Add", x, either(g, "Mul", cube, number(g, 0.044715, x.dtype)))
    inner = g.node("Tanh", [either(g, "Mul", inner, number(g, 0.79788456, x.dtype))])
    return g.node("Mul", [g.node("Mul", [x, number(g, 0.5, x.dtype)]), either(g, "Add", inner, number(g, 1, x.dtype))])


def clipped(g, x, low, high):
    if g.opset < 11:
        return g.node("Clip", [x], min=float(low), max=float(high))
    return g.node("Clip", [x, *(g.constant(np.asarray(n, x.dtype)) for n in (low, high))])


def hard_swish(g, x):
    factor = clipped(g, either(g, "Add", x, number(g, 3, x.dtype)), 0, 6)
    return g.node("Div", [either(g, "Mul", x, factor), number(g, 6, x.dtype)])


def mish(g, x):
    return either(g, "Mul", x, g.node("Tanh", [g.node("Softplus", [x])]))


WAYS = {
    "silu": silu,
    "gelu": gelu,
    "gelu by tanh": gelu_by_tanh,
    "hard swish": hard_swish,
    "mish": mish,
    "clip": lambda g, x: clipped(g, x, 0, 6),
    "none": lambda g, x: x,
} | {name: (lambda g, x, name=name: g.node(name, [x])) for name in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu")}

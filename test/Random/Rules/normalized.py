# SPDX-License-Identifier: Apache-2.0
"""Normalizations written as separate nodes. Exporters do so if the opset has no op for them, or
only one of lower accuracy."""

import numpy as np
from onnx import helper
from records import F32

from Rules import rule
from Rules.parts import (
    activation,
    between,
    chance,
    either,
    image,
    like_of,
    linear,
    number,
    reduced,
    reshaped,
    residual,
    sequence,
    weights,
)


def over(g, x, axes):
    """Divides x by the root of the mean of its squares."""
    square = g.node("Mul", [x, x]) if chance(g, 0.5) else g.node("Pow", [x, number(g, 2, x.dtype)])
    mean = reduced(g, "ReduceMean", like_of(g, square, x), axes)
    mean = like_of(g, either(g, "Add", mean, number(g, 0.01, x.dtype)), mean)
    way = g.choice.choice(("Div", "Reciprocal", "one over", "Pow"))
    if way == "Pow":
        factor = g.node("Pow", [mean, number(g, -0.5, x.dtype)])
    else:
        root = like_of(g, g.node("Sqrt", [mean]), mean)
        if way == "Div":
            return like_of(g, g.node("Div", [x, root]), x)
        factor = g.node("Reciprocal", [root]) if way == "Reciprocal" else g.node("Div", [number(g, 1, x.dtype), root])
    return like_of(g, either(g, "Mul", x, factor), x)


def affine(g, x, axis, bias=True):
    """Scales, and optionally shifts, along one dim."""
    shape = (x.shape[axis],) + (1,) * (x.rank - 1 - axis % x.rank)
    x = like_of(g, either(g, "Mul", x, weights(g, shape, x.dtype, 0.5, 1.5)), x)
    return like_of(g, either(g, "Add", x, weights(g, shape, x.dtype)), x) if bias else x


def normalized(g, x, axes=None, center=None):
    """Normalizes x over `axes`, by default the last dim, with or without subtracting the mean, in
    its own type or in float32."""
    axes = [x.rank - 1] if axes is None else axes
    center = chance(g, 0.6) if center is None else center
    dtype, wide = x.dtype, x
    if dtype != F32 and chance(g, 0.6):
        wide = like_of(g, g.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(F32)), x)
    if center:
        wide = like_of(g, g.node("Sub", [wide, reduced(g, "ReduceMean", wide, axes)]), x)
    wide = over(g, wide, axes)
    if wide.dtype != dtype:
        wide = like_of(g, g.node("Cast", [wide], to=helper.np_dtype_to_tensor_dtype(dtype)), x)
    if not x.labels[axes[0]] and chance(g, 0.85):
        wide = affine(g, wide, axes[0] if len(axes) == 1 else 1, center)
    return wide


def norm(g, x):
    """Adds a normalization before a matmul: as separate nodes, as one op, or none at all."""
    way = g.choice.choice(("parts", "parts", "op", "none"))
    if way == "none":
        return x
    if way == "op" and g.opset >= 17:
        vectors = [weights(g, x.shape[-1:], x.dtype, 0.5, 1.5) for _ in range(g.choice.randint(1, 2))]
        return like_of(g, g.node("LayerNormalization", [x, *vectors], axis=-1, epsilon=0.01), x)
    return between(g, normalized(g, x))


@rule("LayerNorm-by-parts")
def layer_norm(g, op):
    x = sequence(g)
    y = normalized(g, x, center=True)
    return residual(g, x, linear(g, y, x.shape[-1]) if chance(g, 0.5) else activation(g, y))


@rule("RMSNorm-by-parts")
def rms_norm(g, op):
    x = sequence(g)
    y = normalized(g, x, center=False)
    return residual(g, x, linear(g, y, x.shape[-1]) if chance(g, 0.5) else y)


@rule("LayerNorm-of-channels")
def channels_norm(g, op):
    """Normalizes over the channels of NCHW, as in ConvNeXt, or over all dims but the batch."""
    x = image(g)
    y = normalized(g, x, [1] if chance(g, 0.7) else [1, 2, 3])
    return residual(g, x, activation(g, y))


@rule("GroupNorm-by-parts")
def group_norm(g, op):
    """Normalizes groups of channels, which are reshaped to rows of a matrix. The normalization is
    by InstanceNormalization or by mean and variance."""
    x = image(g, (2, 4, 6, 8, 12))
    groups = g.choice.choice([n for n in (1, 2, 3, 4, x.shape[1]) if x.shape[1] % n == 0])
    rest = (int(np.prod(x.shape[1:])) // groups, g.unknown() if any(x.labels[2:]) else None)
    rows = reshaped(g, x, [x.dims[0], (groups, None), rest])
    if chance(g, 0.5):
        ones, zeros = (g.constant(np.full(groups, n, x.dtype)) for n in (1, 0))
        rows = like_of(g, g.node("InstanceNormalization", [rows, ones, zeros], epsilon=0.01), rows)
    else:
        rows = like_of(g, g.node("Sub", [rows, reduced(g, "ReduceMean", rows, [2])]), rows)
        rows = over(g, rows, [2])
    if any(x.labels[1:]):
        shape = g.node("Shape", [x])
        back = like_of(g, g.node("Reshape", [rows, shape]), x)
    else:
        back = reshaped(g, rows, x.dims)
    return residual(g, x, activation(g, affine(g, back, 1)))

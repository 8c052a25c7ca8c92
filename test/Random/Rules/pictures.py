# SPDX-License-Identifier: Apache-2.0
"""Ops of vision networks other than convolutions: shuffles of channels and pixels, windows,
pyramids, patches."""

import numpy as np
from graph import Reject
from records import F32, I64

from Rules import rule
from Rules.attention import attended
from Rules.blocks import channels, conv, unit
from Rules.normalized import norm
from Rules.parts import (
    activation,
    between,
    chance,
    concat,
    either,
    image,
    known,
    labelled,
    like_of,
    linear,
    product,
    reduced,
    reshaped,
    residual,
    sliced,
    split,
    transposed,
    weights,
)


@rule("Shuffle-of-channels")
def shuffled(g, op):
    """Interleaves groups of channels. Optionally half of the channels first pass through a branch,
    as in ShuffleNet."""
    x = image(g, (2, 4, 6, 8, 12))
    if chance(g, 0.5):
        kept, moved = split(g, x, 1, [x.shape[1] // 2, x.shape[1] - x.shape[1] // 2])
        y = concat(
            g, [kept, unit(g, unit(g, moved, moved.shape[1], (3, 3), moved.shape[1]), moved.shape[1], (1, 1))], 1
        )
    else:
        y = unit(g, x, x.shape[1], (1, 1)) if chance(g, 0.5) else x
    groups = g.choice.choice([n for n in (2, 3, 4) if y.shape[1] % n == 0] or [1])
    five = reshaped(g, y, [y.dims[0], *known(groups, y.shape[1] // groups), *y.dims[2:]])
    y = reshaped(g, transposed(g, five, [0, 2, 1, 3, 4]), y.dims)
    if chance(g, 0.4):
        return residual(g, x, y)
    return between(g, split(g, y, 1, [1, y.shape[1] - 1])[1])


@rule("Shuffle-of-pixels")
def pixels(g, op):
    """Converts channels to pixels or pixels to channels: by DepthToSpace, by Reshape and Transpose,
    or by Slices."""
    if chance(g, 0.5):
        block = g.choice.choice((2, 3))
        x = image(g, (block * block, 2 * block * block))
        if x.shape[1] % (block * block):
            raise Reject("the number of channels does not fit")
        x = activation(g, conv(g, x, x.shape[1])) if chance(g, 0.5) else x
        if chance(g, 0.4):
            return between(g, g.node("DepthToSpace", [x], blocksize=block))
        if any(x.labels[2:]):
            raise Reject("sizes would be products of symbols")
        count = x.shape[1] // block**2
        h, w = x.shape[2:]
        first = chance(g, 0.5)
        six = reshaped(
            g, x, [x.dims[0], *(known(count, block, block, h, w) if first else known(block, block, count, h, w))]
        )
        six = transposed(g, six, [0, 1, 4, 2, 5, 3] if first else [0, 3, 4, 1, 5, 2])
        y = reshaped(g, six, [x.dims[0], *known(count, h * block, w * block)])
        return unit(g, y, channels(g)) if chance(g, 0.5) else y
    x, block = image(g, multiple=2), 2
    h, w = (n // 2 for n in x.shape[2:])
    if chance(g, 0.5):
        corners = [sliced(g, sliced(g, x, 2, i, None, 2), 3, j, None, 2) for i in range(2) for j in range(2)]
        y = concat(g, g.choice.sample(corners, 4) if chance(g, 0.5) else corners, 1)
    else:
        six = reshaped(g, x, [*x.dims[:2], *known(h, block, w, block)])
        y = reshaped(g, transposed(g, six, [0, 1, 3, 5, 2, 4]), [x.dims[0], *known(4 * x.shape[1], h, w)])
    return unit(g, y, channels(g)) if chance(g, 0.6) else y


def rolled(g, x, axis, by):
    """Rotates a dim by Slice and Concat."""
    return concat(g, [sliced(g, x, axis, by, None), sliced(g, x, axis, 0, by)], axis)


@rule("Windows-shifted")
def windows(g, op):
    """Adds a Swin block: rolls an image, splits it into windows, applies attention or a mixer
    within each window, merges the windows and rolls back."""
    side = g.choice.choice((2, 3, 4))
    h, w = (side * g.choice.randint(1, 3) for _ in range(2))
    x = g.like([g.dim(), *known(h, w, g.choice.choice((2, 4, 8)))], F32, -1, 1)
    batch, width, shift = x.dims[0], x.shape[3], g.choice.choice((0, 1, side // 2))
    y = norm(g, x)
    for axis in (1, 2) if shift else ():
        y = rolled(g, y, axis, shift)
    six = reshaped(g, y, [batch, *known(h // side, side, w // side, side, width)])
    many = (batch[0] * h * w // side**2, batch[1] and g.unknown())
    rows = reshaped(g, transposed(g, six, [0, 1, 3, 2, 4, 5]), [many, *known(side * side, width)])
    if chance(g, 0.6):
        heads = g.choice.choice((1, 2))
        packed = reshaped(g, linear(g, rows, 3 * width), [many, *known(side * side, 3, heads, width // heads)])
        three = transposed(g, packed, [2, 0, 3, 1, 4])
        q, k, v = (
            labelled(g, g.node("Gather", [three, g.constant(np.asarray(i, I64))], axis=0), three.labels[1:])
            for i in range(3)
        )
        made = transposed(g, attended(g, q, k, v), [0, 2, 1, 3])
        rows = linear(g, reshaped(g, made, [many, *known(side * side, width)]), width)
    else:
        rows = activation(g, linear(g, rows, width))
    six = reshaped(g, rows, [batch, *known(h // side, w // side, side, side, width)])
    y = reshaped(g, transposed(g, six, [0, 1, 3, 2, 4, 5]), x.dims)
    for axis in (1, 2) if shift else ():
        y = rolled(g, y, axis, (h if axis == 1 else w) - shift)
    y = residual(g, x, y)
    if h % 2 == 0 and w % 2 == 0 and chance(g, 0.4):  # merges four adjacent patches into one
        corners = [sliced(g, sliced(g, y, 1, i, None, 2), 2, j, None, 2) for j in range(2) for i in range(2)]
        y = linear(g, norm(g, concat(g, corners, 3)), 2 * width)
    return y


def resized(g, x, factor):
    attributes = g.choice.choice(
        (
            {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        )
    )
    if x.dtype != F32:
        raise Reject("onnxruntime supports only float32")
    if g.opset < 11:
        raise Reject("of another kind")
    roi = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    scales = np.asarray([1, 1, factor, factor], np.float32)
    if any(x.labels[2:]) or chance(g, 0.6):
        return g.node("Resize", [x, roi, g.constant(scales)], **attributes)
    empty = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    sizes = [int(n * f) for n, f in zip(x.shape, scales)]
    if x.labels[0]:
        whole = sliced(g, g.node("Shape", [x]), 0, 0, 2)
        sizes = g.node("Concat", [whole, g.constant(np.asarray(sizes[2:], I64))], axis=0)
    else:
        sizes = g.ints(sizes, 0)
    return g.node("Resize", [x, roi, empty, sizes], **attributes)


@rule("Pyramid-of-pictures")
def pyramid(g, op):
    """Adds a feature pyramid: downsamples by strides, upsamples by Resize, and combines each level
    with the one of the same size."""
    x = image(g, multiple=4)
    count, levels = channels(g), [unit(g, x, channels(g))]
    for _ in range(g.choice.randint(1, 2)):
        y = levels[-1]
        if chance(g, 0.3):
            levels.append(g.node("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2]))
        else:
            levels.append(unit(g, y, channels(g), (3, 3), strides=(2, 2)))
    top, joined = conv(g, levels[-1], count, (1, 1)), chance(g, 0.5)
    for level in levels[-2::-1]:
        factor = level.shape[2] // top.shape[2]
        up = resized(g, top, factor)
        if up.shape[2:] != level.shape[2:]:
            return up
        if joined:
            top = unit(g, concat(g, [up, level], 1), count)
        else:
            top = either(g, "Add", up, conv(g, level, count, (1, 1)))
            top = conv(g, top, count, (3, 3)) if chance(g, 0.6) else top
    return top


@rule("Patches-of-picture")
def patches(g, op):
    """Adds a vision transformer's input and output. The input has patches as tokens, a class token
    and positions. The output has scores of the class token or of the mean."""
    side = g.choice.choice((1, 2, 4))
    x = image(g, (1, 2, 3, 4), multiple=side, symbols=False)
    if any(x.labels[2:]) or any(n % side for n in x.shape[2:]):
        raise Reject("the number of patches is symbolic")
    width = g.choice.choice((2, 4, 8, 12))
    tokens = g.node(
        "Conv",
        [x, weights(g, (width, x.shape[1], side, side), x.dtype), weights(g, (width,), x.dtype)],
        kernel_shape=[side] * 2,
        strides=[side] * 2,
    )
    tokens = labelled(g, tokens, (x.labels[0], None, None, None))
    flat = reshaped(g, tokens, [tokens.dims[0], (width, None), product(g, *tokens.dims[2:])])
    rows = transposed(g, flat, [0, 2, 1])
    if chance(g, 0.7):
        token = weights(g, (1, 1, width), x.dtype)
        if x.labels[0]:
            size = g.node("Gather", [g.node("Shape", [x]), g.constant(np.asarray([0], I64))], axis=0)
            shape = g.node("Concat", [size, g.constant(np.asarray([1, width], I64))], axis=0)
            token = g.node("Expand", [token, shape])
        else:
            token = g.node("Expand", [token, g.constant(np.asarray([x.shape[0], 1, width], I64))])
        token = labelled(g, token, (x.labels[0], None, None))
        rows = concat(g, [token, rows] if chance(g, 0.8) else [rows, token], 1)
    if chance(g, 0.8):
        rows = like_of(g, either(g, "Add", rows, weights(g, (1, rows.shape[1], width), x.dtype)), rows)
    rows = residual(g, rows, linear(g, activation(g, linear(g, norm(g, rows), width)), width))
    way = g.choice.choice(("tokens", "class", "mean", "picture"))
    if way == "class":
        picked = g.node("Gather", [norm(g, rows), g.constant(np.asarray(0, I64))], axis=1)
        return linear(g, labelled(g, picked, (x.labels[0], None)), channels(g))
    if way == "mean":
        return linear(g, reduced(g, "ReduceMean", norm(g, rows), [1], 0), channels(g))
    if way == "picture" and rows.shape[1] == flat.shape[2]:
        return conv(g, reshaped(g, transposed(g, rows, [0, 2, 1]), tokens.dims), channels(g))
    return rows


@rule("Unfold-of-picture")
def unfolded(g, op):
    """Adds im2col: Slices and Concat, or Gathers, write each window as a column. A matmul
    follows."""
    x = image(g, (1, 2, 3, 4), symbols=False)
    (h, w), k = x.shape[2:], g.choice.choice((1, 2, 3))
    if any(x.labels[2:]) or min(h, w) < k:
        raise Reject("the number of windows is symbolic")
    rows, columns = h - k + 1, w - k + 1
    if chance(g, 0.5):
        seen = [sliced(g, sliced(g, x, 2, i, i + rows), 3, j, j + columns) for i in range(k) for j in range(k)]
        seen = concat(g, seen, 1)
        count = k * k * x.shape[1]
    else:
        places = [np.arange(n)[:, None] + np.arange(k)[None] for n in (rows, columns)]
        seen = g.node("Gather", [x, g.constant(places[0].astype(np.int64))], axis=2)
        seen = g.node("Gather", [seen, g.constant(places[1].astype(np.int64))], axis=4)
        seen = transposed(g, labelled(g, seen, (x.labels[0], *[None] * 5)), [0, 1, 3, 5, 2, 4])
        count = k * k * x.shape[1]
    flat = reshaped(g, seen, [x.dims[0], *known(count, rows * columns)])
    made = g.node("MatMul", [weights(g, (channels(g), count), x.dtype), flat])
    made = labelled(g, made, (x.labels[0], None, None))
    return between(g, reshaped(g, made, [x.dims[0], *known(made.shape[1], rows, columns)]))

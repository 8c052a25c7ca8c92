# SPDX-License-Identifier: Apache-2.0
"""Rules that draw attention as separate nodes, as exporters of transformers write it. The attention
is over tokens or over channels."""

import numpy as np
from graph import Reject
from onnx import helper
from records import BOOL, F16, F32, I64

from Rules import rule
from Rules.normalized import norm
from Rules.parts import (
    activation,
    amount,
    between,
    chance,
    concat,
    either,
    image,
    known,
    labelled,
    like_of,
    linear,
    number,
    product,
    real,
    reduced,
    reshaped,
    residual,
    sequence,
    sliced,
    softmax,
    split,
    squeezed,
    stored,
    transposed,
    unsqueezed,
    weights,
)
from Rules.sequences import rotated


def in_heads(g, x, heads):
    """Converts [batch, positions, heads * depth] to [batch, heads, positions, depth]."""
    depth = x.shape[2] // heads
    if heads > 1 and chance(g, 0.15):
        return concat(g, [unsqueezed(g, v, 1) for v in split(g, x, 2, [depth] * heads)], 1)
    return transposed(g, reshaped(g, x, [*x.dims[:2], *known(heads, depth)]), [0, 2, 1, 3])


def out_of_heads(g, x, batch, positions):
    heads, depth = x.shape[1], x.shape[3]
    return reshaped(g, transposed(g, x, [0, 2, 1, 3]), [batch, positions, (heads * depth, None)])


def repeated(g, x, times):
    """Repeats the heads of keys or values for the query heads that share them."""
    if times == 1:
        return x
    batch, heads, positions, depth = x.dims
    wide, ones = unsqueezed(g, x, 2), [1, 1, times, 1, 1]
    labels = (batch[1], None, None, positions[1], None)
    wide = labelled(g, g.node(g.choice.choice(("Expand", "Tile")), [wide, g.constant(np.asarray(ones, I64))]), labels)
    return reshaped(g, wide, [batch, (heads[0] * times, None), positions, depth])


def projections(g, x, source, heads, shared, depth):
    """Computes queries, keys and values, by three matmuls or by one."""
    sizes = [heads * depth, shared * depth, shared * depth]
    if source is x and chance(g, 0.4):
        packed = linear(g, x, sum(sizes))
        if shared == heads and chance(g, 0.5):
            five = reshaped(g, packed, [*packed.dims[:2], *known(3, heads, depth)])
            five = transposed(g, five, [2, 0, 3, 1, 4])
            if chance(g, 0.5):
                return [squeezed(g, v, 0) for v in split(g, five, 0, [1, 1, 1])]
            return [
                labelled(g, g.node("Gather", [five, g.constant(np.asarray(i, I64))], axis=0), five.labels[1:])
                for i in range(3)
            ]
        parts = split(g, packed, 2, sizes)
    else:
        parts = [linear(g, v, n) for v, n in zip((x, source, source), sizes)]
    return [in_heads(g, v, n) for v, n in zip(parts, (heads, shared, shared))]


def lower(g, scores):
    """Returns a causal mask for the scores. A Trilu node computes the mask, or the mask is a
    constant."""
    rows = scores.dims[-2:]
    if any(label for _, label in rows):
        ones = g.node("Expand", [number(g, 1, F32), g.node("Shape", [scores])])
    else:
        ones = g.constant(np.ones([n for n, _ in rows], np.float32))
        if "Trilu" not in g.ops or chance(g, 0.3):
            return g.constant(np.tri(*ones.shape, dtype=bool))
    return g.node("Cast", [g.node("Trilu", [ones], upper=0)], to=helper.np_dtype_to_tensor_dtype(BOOL))


def masked(g, scores):
    """Returns the scores with masked positions set to a large negative number."""
    low, rows = -1e3 if scores.dtype == F16 else -1e4, scores.dims[-2:]
    way = g.choice.choice(("none", "Add", "padding", "Where", "causal", "causal", "positions"))
    if way == "Add":
        return like_of(g, either(g, "Add", scores, g.broadcast(rows, scores.dtype)), scores)
    if way == "padding":
        bits = g.leaf(I64, [scores.dims[0], rows[1]], 0, 1)
        seen = unsqueezed(g, unsqueezed(g, bits, 1), 2)
        seen = like_of(g, g.node("Cast", [seen], to=helper.np_dtype_to_tensor_dtype(scores.dtype)), seen)
        lacking = g.node("Sub", [number(g, 1, scores.dtype), seen])
        lacking = like_of(g, g.node("Mul", [lacking, number(g, low, scores.dtype)]), seen)
        return like_of(g, either(g, "Add", scores, lacking), scores)
    if way == "Where":
        seen = g.leaf(BOOL, [scores.dims[0] if chance(g, 0.5) else (1, None), (1, None), *rows])
        operands = [scores, number(g, low, scores.dtype)]
        return like_of(g, g.node("Where", [seen, *(operands if chance(g, 0.5) else operands[::-1])]), scores)
    if way == "causal":
        return like_of(g, g.node("Where", [lower(g, scores), scores, number(g, low, scores.dtype)]), scores)
    if way == "positions" and not any(label for _, label in (*rows, scores.dims[1])):
        count, heads = g.choice.randint(1, 8), scores.shape[1]
        table = weights(g, (count, heads), scores.dtype)
        numbers = g.constant(g.arrays.integers(0, count, [n for n, _ in rows]).astype(np.int64))
        if chance(g, 0.5):
            flat = g.node("Gather", [table, g.node("Reshape", [numbers, g.constant(np.asarray([-1], I64))])], axis=0)
            bias = reshaped(g, flat, [*rows, (heads, None)])
        else:
            bias = g.node("Gather", [table, numbers], axis=0)
        bias = transposed(g, bias, [2, 0, 1])
        bias = unsqueezed(g, bias, 0) if chance(g, 0.7) else bias
        return like_of(g, either(g, "Add", scores, bias), scores)
    return scores


def attended(g, q, k, v, scale=True):
    """Computes softmax(q k^T) v, where q, k and v are [..., positions, depth]."""
    depth, dtype = q.shape[-1] or 1, q.dtype
    way = g.choice.choice(("before", "both", "after", "Div", "none")) if scale else "none"
    if way in ("before", "both"):
        factor = depth ** (-0.5 if way == "before" else -0.25)
        q = like_of(g, either(g, "Mul", q, number(g, factor, dtype)), q)
        if way == "both":
            k = like_of(g, either(g, "Mul", k, number(g, factor, dtype)), k)
    turned = transposed(g, k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    scores = labelled(g, g.node("MatMul", [stored(g, q), stored(g, turned)]), (*q.labels[:-1], k.labels[-2]))
    if way in ("after", "Div"):
        name, factor = ("Mul", depth**-0.5) if way == "after" else ("Div", depth**0.5)
        scores = like_of(g, g.node(name, [scores, number(g, factor, dtype)]), scores)
    scores = masked(g, scores) if scores.rank == 4 and scale else scores
    if dtype != F32 and chance(g, 0.4):
        scores = like_of(g, g.node("Cast", [scores], to=helper.np_dtype_to_tensor_dtype(F32)), scores)
    shares = between(g, softmax(g, scores))
    if shares.dtype != dtype:
        shares = like_of(g, g.node("Cast", [shares], to=helper.np_dtype_to_tensor_dtype(dtype)), shares)
    return labelled(g, g.node("MatMul", [stored(g, shares), stored(g, v)]), (*q.labels[:-1], v.labels[-1]))


@rule("Attention-by-parts")
def attention(g, op):
    x = sequence(g)
    y = norm(g, x)
    heads, depth = g.choice.choice((1, 2, 2, 3, 4)), g.choice.choice((1, 2, 4, 8, 16))
    shared = g.choice.choice([n for n in (1, heads, heads) if heads % n == 0])
    source = y
    if chance(g, 0.2):
        source = g.like([y.dims[0], g.dim(), (g.choice.choice((4, 6, 8)), None)], y.dtype, -1, 1)
    q, k, v = projections(g, y, source, heads, shared, depth)
    if chance(g, 0.3) and depth > 1:
        q, k = rotated(g, q), rotated(g, k)
    if chance(g, 0.25):
        past = [g.like([k.dims[0], k.dims[1], g.dim(), k.dims[3]], k.dtype, -1, 1) for _ in range(1)]
        past.append(g.leaf(k.dtype, past[0].dims, -1, 1))
        k, v = (concat(g, [before, now], 2) for before, now in zip(past, (k, v)))
    k, v = (repeated(g, between(g, n), heads // shared) for n in (k, v))
    batch, positions = q.dims[0], q.dims[2]
    if chance(g, 0.2):  # merges batch and heads into one dim
        merged = product(g, batch, q.dims[1])
        q, k, v = (reshaped(g, n, [merged, *n.dims[2:]]) for n in (q, k, v))
        made = attended(g, q, k, v)
        made = reshaped(g, made, [batch, (heads, None), positions, (depth, None)])
    else:
        made = attended(g, q, k, v)
    made = between(g, out_of_heads(g, made, batch, positions))
    if chance(g, 0.8):
        made = linear(g, made, x.shape[2])
    return residual(g, x, made)


def unit(g, x):
    """Divides x by its L2 norm along the last dim."""
    way = g.choice.choice(("ReduceL2", "parts", "LpNormalization"))
    if way == "LpNormalization" and x.dtype == F32 and np.all(x.array):
        return like_of(g, g.node("LpNormalization", [x], axis=-1, p=2), x)
    if way == "ReduceL2":
        length = reduced(g, "ReduceL2", x, [x.rank - 1])
    else:
        square = like_of(g, g.node("Mul", [x, x]), x)
        total = reduced(g, "ReduceSum", square, [x.rank - 1])
        length = like_of(g, g.node("Sqrt", [total]), total)
    least = g.constant(np.asarray(0.01, x.dtype))
    if g.opset >= 12 and chance(g, 0.6):
        length = like_of(g, g.node("Clip", [length, least]), length)
    else:
        length = like_of(g, g.node("Max", [length, least]), length)
    if chance(g, 0.4):
        length = like_of(g, g.node("Expand", [length, g.node("Shape", [x])]), x)
    return like_of(g, g.node("Div", [x, length]), x)


@rule("Attention-of-channels")
def channel_attention(g, op):
    """Adds XCiT's cross-covariance attention: queries and keys are normalized, and the softmax is
    over channels."""
    picture = image(g, (2, 4, 6, 8, 12)) if chance(g, 0.5) else None
    if picture is None:
        x = sequence(g, (2, 4, 8, 12))
    else:
        seen = cascaded(g, picture) if chance(g, 0.5) else picture
        flat = reshaped(g, seen, [*picture.dims[:2], product(g, *picture.dims[2:])])
        x = transposed(g, flat, [0, 2, 1])
        if chance(g, 0.6):
            x = either(g, "Add", x, transposed(g, positions_of(g, picture, flat.dims), [0, 2, 1]))
            x = labelled(g, x, (flat.labels[0], flat.labels[2], None))
    width = x.shape[2]
    heads = g.choice.choice([n for n in (1, 2, 4) if width % n == 0])
    y = norm(g, x)
    q, k, v = projections(g, y, y, heads, heads, width // heads)
    q, k, v = (transposed(g, n, [0, 1, 3, 2]) for n in (q, k, v))
    q, k = unit(g, q), unit(g, k)
    if chance(g, 0.7):
        q = like_of(g, either(g, "Mul", q, weights(g, (heads, 1, 1), q.dtype, 0.5, 2)), q)
    made = attended(g, q, k, v, scale=False)
    made = transposed(g, made, [0, 3, 1, 2])
    made = reshaped(g, made, [*made.dims[:2], (width, None)])
    made = residual(g, x, linear(g, made, width) if chance(g, 0.8) else made)
    if picture is not None and chance(g, 0.6):
        turned = transposed(g, made, [0, 2, 1])
        return residual(g, picture, like_of(g, g.node("Reshape", [turned, g.node("Shape", [picture])]), picture))
    return made


def convolved(g, x, count):
    """Adds a convolution that keeps height and width."""
    k, group = g.choice.choice((1, 1, 3)), g.choice.choice((1, 1, x.shape[1]))
    group = group if count % group == 0 else 1
    packed = stored(g, weights(g, (count, x.shape[1] // group, k, k), x.dtype))
    bias = [weights(g, (count,), x.dtype)] if chance(g, 0.5) else []
    made = g.node("Conv", [stored(g, x), packed, *bias], pads=[k // 2] * 4, group=group)
    return labelled(g, made, (x.labels[0], None, *x.labels[2:]))


def cascaded(g, x):
    """Adds EdgeNeXt's split: splits the channels into parts, adds the result of the previous part
    to each part, and convolves the sum. Concatenates the results."""
    count = g.choice.choice([n for n in (2, 3, 4, 1) if x.shape[1] % n == 0])
    parts, made = split(g, x, 1, [x.shape[1] // count] * count), []
    for i, part in enumerate(parts):
        if made and chance(g, 0.6):
            part = like_of(g, either(g, "Add", made[-1], part), part)
        made.append(part if i == count - 1 and chance(g, 0.6) else between(g, convolved(g, part, part.shape[1])))
    return concat(g, made, 1)


def positions_of(g, picture, dims):
    """Returns EdgeNeXt's position encoding. The encoding concatenates encodings of rows and
    columns, or uses one of them. A convolution converts it to the number of channels of the
    image."""
    count = picture.shape[1]
    if any(picture.labels[2:]):
        raise Reject("the number of positions is symbolic")
    batch = picture.dims[0] if chance(g, 0.5) else (1, None)
    sides = [
        g.leaf(picture.dtype, [batch, *known(g.choice.choice((1, 2, 3, 4)), *picture.shape[2:])], -1, 1)
        for _ in range(g.choice.choice((1, 2)))
    ]
    if chance(g, 0.4):
        sides = [like_of(g, g.node("Sin" if i else "Cos", [side]), side) for i, side in enumerate(sides)]
    made = convolved(g, concat(g, sides, 1), count)
    return reshaped(g, made, [made.dims[0], (count, None), dims[2]])


@rule("Positions-of-picture")
def picture_positions(g, op):
    """Adds position encodings to an image that becomes tokens, before or after the Reshape and
    Transpose."""
    x = image(g, symbols=False)
    tokens = x
    for _ in range(g.choice.randint(1, 2)):
        tokens = cascaded(g, tokens) if chance(g, 0.5) else convolved(g, tokens, amount(g, (2, 4, 8)))
    flat = [tokens.dims[0], tokens.dims[1], product(g, *x.dims[2:])]
    rows, places = reshaped(g, tokens, flat), positions_of(g, tokens, flat)
    if chance(g, 0.3):
        return transposed(g, labelled(g, either(g, "Add", rows, places), rows.labels), [0, 2, 1])
    rows, places = transposed(g, rows, [0, 2, 1]), transposed(g, places, [0, 2, 1])
    made = labelled(g, either(g, "Add", rows, places), rows.labels)
    return norm(g, made) if chance(g, 0.5) else made


@rule("Attention-of-relative")
def relative_attention(g, op):
    """Adds relative attention (Transformer-XL): Pad and Reshape shift the matmuls of queries and
    positions, so that each row starts at its own position."""
    x = sequence(g)
    if any(x.labels[:2]):
        raise Reject("the sizes of the shift are symbolic")
    (batch, length, _), depth = x.shape, g.choice.choice((2, 4, 8))
    q, k, v = (linear(g, x, depth) for _ in range(3))
    table = weights(g, (2 * length - 1, depth), x.dtype)
    far = g.node("MatMul", [q, g.node("Transpose", [table], perm=[1, 0])])
    padded = concat(g, [g.constant(np.zeros((batch, length, 1), x.dtype)), far], 2)
    rows = reshaped(g, padded, known(batch, 2 * length, length))
    rows = reshaped(g, sliced(g, rows, 1, 1, None), known(batch, length, 2 * length - 1))
    far = sliced(g, rows, 2, 0, length)
    near = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 2, 1])])
    shares = softmax(g, g.node("Mul", [either(g, "Add", near, far), number(g, depth**-0.5, x.dtype)]))
    return residual(g, x, linear(g, g.node("MatMul", [shares, v]), x.shape[2]))


@rule("Attention-of-rows")
def row_attention(g, op):
    """Adds attention without heads, with two or three dims, followed by elementwise ops with
    another value of the result's shape."""
    rank, dtype = g.choice.choice((2, 3)), real(g)
    batch, depth = [g.dim()][: rank - 2], (amount(g, (2, 4, 8, 16)), None)
    q = g.like([*batch, g.dim(), depth], dtype, -1, 1)
    other = g.like(q.dims, dtype, -1, 1) if chance(g, 0.5) else q
    early = like_of(g, g.node(g.choice.choice(("Abs", "Neg", "Relu")), [other]), q) if chance(g, 0.6) else other
    if chance(g, 0.4):
        k, v = (g.like([*batch, g.dim(), depth], dtype, -1, 1),) * 2
    else:
        k = v = q
    q, k, v = (linear(g, n, depth[0]) if chance(g, 0.4) else n for n in (q, k, v))
    made = attended(g, q, k, v)
    if chance(g, 0.3):
        made = activation(g, made)
    made = like_of(g, either(g, g.choice.choice(("Add", "Add", "Mul", "Sub")), made, early), made)
    if chance(g, 0.4):
        made = like_of(g, either(g, "Add", made, g.broadcast(made.dims[-1:], dtype)), made)
    return norm(g, made)


@rule("Attention-of-pixels")
def pixel_attention(g, op):
    """Adds a non-local block: attention over all pixels, with channels as the first dim of the
    matmuls."""
    x = image(g, (1, 2, 4, 8), symbols=False)
    count, places = g.choice.choice((1, 2, 4, x.shape[1])), product(g, *x.dims[2:])
    rows = [reshaped(g, convolved(g, x, count), [x.dims[0], (count, None), places]) for _ in range(3)]
    q, k, v = (transposed(g, n, [0, 2, 1]) for n in rows)
    made = transposed(g, attended(g, q, k, v), [0, 2, 1])
    made = reshaped(g, made, [x.dims[0], (count, None), *x.dims[2:]])
    return activation(g, residual(g, x, convolved(g, made, x.shape[1])))

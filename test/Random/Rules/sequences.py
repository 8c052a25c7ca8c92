# SPDX-License-Identifier: Apache-2.0
"""Ops on token sequences other than attention: rotary positions, gates, experts, recurrent cells,
prefix sums, Fourier transforms by matmuls."""

import numpy as np
from graph import Reject
from onnx import helper
from records import F32, I64

from Rules import rule
from Rules.normalized import norm
from Rules.parts import (
    activation,
    between,
    chance,
    concat,
    either,
    known,
    labelled,
    like_of,
    linear,
    number,
    real,
    reduced,
    reshaped,
    residual,
    sequence,
    sliced,
    softmax,
    split,
    stored,
    transposed,
    unsqueezed,
    weights,
)
from Rules.views import by_axes


def angles(g, x):
    """Returns cosines and sines for a value [..., positions, depth]. They are constants, or nodes
    compute them from positions at run time."""
    depth, positions = x.shape[-1], x.dims[-2]
    if positions[1] is None and chance(g, 0.6):
        return [weights(g, (positions[0], depth), x.dtype, -1, 1) for _ in range(2)]
    if "Range" not in g.ops:
        raise Reject("nothing counts")
    size = g.node("Gather", [g.node("Shape", [x]), g.constant(np.asarray(x.rank - 2, I64))], axis=0)
    count = g.node("Range", [g.constant(np.asarray(n, I64)) if n is not None else size for n in (0, None, 1)])
    count = g.node("Cast", [labelled(g, count, (positions[1],))], to=helper.np_dtype_to_tensor_dtype(F32))
    rows = unsqueezed(g, labelled(g, count, (positions[1],)), 1)
    table = either(g, "Mul", rows, g.constant(np.float32(0.5) ** np.arange(depth // 2, dtype=np.float32)))
    table = concat(g, [table, table], 1) if depth > 1 else rows
    found = [g.node(name, [table]) for name in ("Cos", "Sin")]
    if x.dtype != F32:
        found = [g.node("Cast", [v], to=helper.np_dtype_to_tensor_dtype(x.dtype)) for v in found]
    return [labelled(g, v, (positions[1], None)) for v in found]


def rotated(g, x):
    """Adds a rotary embedding: x cos + (the halves of x exchanged, one negated) sin. The halves are
    contiguous or interleaved, as exporters write them."""
    depth = x.shape[-1]
    if depth % 2 or x.labels[-1]:
        return x
    cos, sin = angles(g, x)
    axis, half = x.rank - 1, depth // 2
    if chance(g, 0.7):
        low, high = split(g, x, axis, [half, half])
        other = concat(g, [like_of(g, g.node("Neg", [high]), high), low], axis)
    else:
        even, odd = sliced(g, x, axis, 0, None, 2), sliced(g, x, axis, 1, None, 2)
        ends = [unsqueezed(g, labelled(g, v, (*x.labels[:-1], None)), axis + 1) for v in (g.node("Neg", [odd]), even)]
        other = reshaped(g, concat(g, ends, axis + 1), x.dims)
    terms = [like_of(g, either(g, "Mul", a, b), x) for a, b in ((x, cos), (other, sin))]
    return like_of(g, either(g, "Add", *terms), x)


@rule("Rotary-by-parts")
def rotary(g, op):
    x = sequence(g, (2, 4, 8, 12))
    if chance(g, 0.5):
        return rotated(g, x)
    heads = g.choice.choice([n for n in (1, 2, 4) if x.shape[2] % n == 0])
    rows = transposed(g, reshaped(g, x, [*x.dims[:2], *known(heads, x.shape[2] // heads)]), [0, 2, 1, 3])
    if rows.shape[3] % 4 == 0 and chance(g, 0.4):  # rotates only some of the features
        turned, kept = split(g, rows, 3, [rows.shape[3] // 2] * 2)
        rows = concat(g, [rotated(g, turned), kept], 3)
    else:
        rows = rotated(g, rows)
    return reshaped(g, transposed(g, rows, [0, 2, 1, 3]), x.dims)


@rule("Linear-gated")
def gated(g, op):
    """Adds a gated MLP: two matmuls of the same rows, whose results are multiplied, and a matmul
    that restores the width."""
    x = sequence(g)
    y, width = norm(g, x), g.choice.choice((1, 2, 4, 8, 16))
    if chance(g, 0.5):
        gate, open_ = split(g, linear(g, y, 2 * width), 2, [width, width])
    else:
        gate, open_ = linear(g, y, width), linear(g, y, width)
    gate = activation(g, gate)
    hidden = between(g, like_of(g, either(g, "Mul", gate, open_), open_))
    return residual(g, x, linear(g, hidden, x.shape[2]))


@rule("Linear-mixer")
def mixer(g, op):
    """Adds an MLP-Mixer: a matmul along the features and, between two Transposes, one along the
    positions."""
    x = sequence(g)
    y = norm(g, x)
    if not x.labels[1] and chance(g, 0.7):
        turned = transposed(g, y, [0, 2, 1])
        turned = linear(g, activation(g, linear(g, turned, g.choice.choice((1, 3, 8)))), x.shape[1])
        x = residual(g, x, transposed(g, turned, [0, 2, 1]))
        y = norm(g, x)
    return residual(g, x, linear(g, activation(g, linear(g, y, g.choice.choice((2, 4, 16)))), x.shape[2]))


@rule("Experts-of-tokens")
def experts(g, op):
    """Adds a mixture of experts, selected by TopK. The nodes compute all experts and weight their
    results, or gather the weights of the selected experts."""
    x = sequence(g)
    count, width = g.choice.choice((2, 3, 4)), x.shape[2]
    most = g.choice.randint(1, min(2, count))
    scores = softmax(g, linear(g, x, count, 0))
    if g.opset < 11:
        raise Reject("TopK has another form in this opset")
    best, which = g.node("TopK", [scores, g.constant(np.asarray([most], I64))], outputs=2, axis=-1)
    best, which = (labelled(g, v, (*x.labels[:2], None)) for v in (best, which))
    if chance(g, 0.6):
        best = like_of(g, g.node("Div", [best, reduced(g, "ReduceSum", best, [2])]), best)
    if chance(g, 0.5):  # gathers the experts' matrices
        packed = weights(g, (count, width, width), x.dtype)
        matrices = labelled(g, g.node("Gather", [packed, which], axis=0), (*which.labels, None, None))
        rows = unsqueezed(g, unsqueezed(g, x, 2), 3)
        made = labelled(g, g.node("MatMul", [rows, matrices]), (*which.labels, None, None))
        made = either(g, "Mul", reshaped(g, made, [*which.dims, (width, None)]), unsqueezed(g, best, 3))
        made = labelled(g, made, (*which.labels, None))
        return residual(g, x, reduced(g, "ReduceSum", made, [2], 0))
    total = None
    for i in range(count):
        hit = like_of(g, g.node("Equal", [which, g.constant(np.asarray(i, I64))]), which)
        share = g.node("Where", [hit, best, number(g, 0, x.dtype)])
        share = reduced(g, "ReduceSum", like_of(g, share, best), [2])
        made = linear(g, activation(g, linear(g, x, g.choice.choice((2, 4)))), width)
        made = like_of(g, either(g, "Mul", share, made), x)
        total = made if total is None else like_of(g, either(g, "Add", total, made), x)
    return residual(g, x, total)


def cell(g, kind, x, state, width):
    """Adds one step of a recurrent cell. `state` holds the hidden rows and, for LSTM, the cell
    state."""
    hidden = state[0]
    gates = {"RNN": 1, "GRU": 2, "LSTM": 4}[kind]
    if chance(g, 0.4):
        total = linear(g, concat(g, [x, hidden], 1), gates * width)
    else:
        total = either(g, "Add", linear(g, x, gates * width), linear(g, hidden, gates * width))
        total = labelled(g, total, (x.labels[0], None))
    if kind == "RNN":
        return [like_of(g, g.node(g.choice.choice(("Tanh", "Relu")), [total]), total)]
    parts = split(g, total, 1, [width] * gates)
    opened = [like_of(g, g.node("Sigmoid", [v]), v) for v in parts[: 3 if kind == "LSTM" else 2]]
    if kind == "LSTM":
        kept = either(g, "Mul", opened[0], state[1])
        fresh = either(g, "Mul", opened[1], g.node("Tanh", [parts[3]]))
        new = like_of(g, either(g, "Add", kept, fresh), hidden)
        return [like_of(g, either(g, "Mul", opened[2], g.node("Tanh", [new])), hidden), new]
    reset = like_of(g, either(g, "Mul", opened[0], hidden), hidden)
    fresh = like_of(g, g.node("Tanh", [either(g, "Add", linear(g, x, width), linear(g, reset, width))]), hidden)
    left = either(g, "Mul", g.node("Sub", [number(g, 1, x.dtype), opened[1]]), fresh)
    return [like_of(g, either(g, "Add", left, either(g, "Mul", opened[1], hidden)), hidden)]


@rule("Cells-unrolled")
def unrolled(g, op):
    kind, width, steps = g.choice.choice(("RNN", "GRU", "LSTM")), g.choice.choice((1, 2, 4, 8)), g.choice.randint(1, 4)
    x = g.like([g.dim(), (steps, None), (g.choice.choice((1, 2, 4, 6)), None)], F32, -1, 1)
    rows = x.dims[0]
    if rows[1] is None and chance(g, 0.5):
        state = [g.constant(np.zeros((rows[0], width), np.float32)) for _ in range(2)]
    else:
        state = [g.leaf(F32, [rows, (width, None)], -1, 1) for _ in range(2)]
    seen, order = [], list(range(steps))
    for i in order if chance(g, 0.7) else order[::-1]:
        if chance(g, 0.5):
            step = g.node("Gather", [x, g.constant(np.asarray(i, I64))], axis=1)
        else:
            step = by_axes(g, "Squeeze", sliced(g, x, 1, i, i + 1), [1])
        state[: 2 if kind == "LSTM" else 1] = cell(g, kind, labelled(g, step, (x.labels[0], None)), state, width)
        seen.append(unsqueezed(g, state[0], 1))
    return concat(g, seen, 1) if chance(g, 0.7) else state[0]


@rule("CumSum-of-states")
def states(g, op):
    """Adds Mamba's linear recurrence as exporters write it: prefix sums of logarithms or of decayed
    values, followed by a matmul with C."""
    x = sequence(g)
    if "CumSum" not in g.ops:
        raise Reject("not yet")
    axis = g.choice.choice((0, 1, 2))
    axis = axis if not x.labels[axis] else 1
    step = g.node("Softplus", [x]) if chance(g, 0.6) else g.node("Sigmoid", [x])
    step = like_of(g, either(g, "Mul", step, number(g, 0.1, x.dtype)), x)

    def running(value):
        where = g.constant(np.asarray(axis, I64))
        return like_of(g, g.node("CumSum", [value, where], reverse=g.choice.choice((0, 0, 1))), value)

    total = running(step)
    if chance(g, 0.6):
        decay = like_of(g, g.node("Exp", [g.node("Neg", [total])]), x)
        total = running(like_of(g, either(g, "Mul", decay, x), x))
        total = like_of(g, g.node("Div", [total, g.node("Exp", [like_of(g, g.node("Neg", [step]), x)])]), x)
    if chance(g, 0.5):
        total = like_of(g, either(g, "Mul", total, activation(g, linear(g, x, x.shape[2]))), x)
    return residual(g, x, total)


@rule("Scan-unrolled")
def scan(g, op):
    """Adds a scan that is unrolled step by step. A matmul with C reads its state [batch, features,
    states]."""
    steps, width, count = g.choice.randint(1, 4), g.choice.choice((1, 2, 4)), g.choice.choice((1, 2, 4, 8))
    batch = g.dim()
    x = g.like([batch, (steps, None), (width, None)], F32, -1, 1)
    b, c = (linear(g, x, count, 0) for _ in range(2))
    state, made = None, []
    decay = weights(g, (width, count), F32, 0, 1)
    for i in range(steps):
        row, into, out = (sliced(g, v, 1, i, i + 1) for v in (x, b, c))
        row = transposed(g, labelled(g, row, (batch[1], None, None)), [0, 2, 1])
        fresh = labelled(g, either(g, "Mul", row, into), (batch[1], None, None))
        if state is not None:
            fresh = like_of(g, either(g, "Add", fresh, either(g, "Mul", state, decay)), fresh)
        state = fresh
        column = transposed(g, labelled(g, out, (batch[1], None, None)), [0, 2, 1])
        made.append(labelled(g, g.node("MatMul", [state, column]), (batch[1], None, None)))
    return residual(g, x, transposed(g, concat(g, made, 2), [0, 2, 1]))


@rule("Fourier-by-products")
def fourier(g, op):
    """Adds a Fourier transform by matmuls with cosines and sines, an op on the frequencies, and the
    inverse transform."""
    n = g.choice.choice((2, 3, 4, 8, 12))
    x = g.like([*g.dims(1, 2), (n, None)], real(g), -1, 1)
    grid = 2 * np.pi / n * np.outer(np.arange(n), np.arange(n // 2 + 1))
    tables = [g.constant(f(grid).astype(x.dtype)) for f in (np.cos, np.sin)]
    cos, sin = (labelled(g, g.node("MatMul", [x, t]), (*x.labels[:-1], None)) for t in tables)
    if chance(g, 0.4):
        power = either(g, "Add", g.node("Mul", [cos, cos]), g.node("Mul", [sin, sin]))
        return like_of(g, g.node("Sqrt", [power]), cos) if chance(g, 0.5) else like_of(g, power, cos)
    if chance(g, 0.6):  # multiplies by complex numbers
        a, b = (weights(g, (n // 2 + 1,), x.dtype) for _ in range(2))
        real_part = g.node("Sub", [either(g, "Mul", cos, a), either(g, "Mul", sin, b)])
        sin = like_of(g, either(g, "Add", either(g, "Mul", cos, b), either(g, "Mul", sin, a)), cos)
        cos = like_of(g, real_part, cos)
    back = [g.constant((f(grid).T / n).astype(x.dtype)) for f in (np.cos, np.sin)]
    made = [g.node("MatMul", [v, t]) for v, t in zip((cos, sin), back)]
    return residual(g, x, like_of(g, either(g, "Add", *made), x))


@rule("Einsum-chain")
def einsums(g, op):
    """Adds attention by Einsum, with the dims of batch, heads, positions and depth in any order."""
    if "Einsum" not in g.ops:
        raise Reject("not yet")
    sizes = {
        "b": g.dim(),
        "h": known(g.choice.choice((1, 2, 3)))[0],
        "q": g.dim(),
        "k": g.dim(),
        "d": known(g.choice.choice((2, 4, 8)))[0],
    }
    dtype = real(g)

    def drawn(letters):
        letters = list(letters)
        if chance(g, 0.5):
            g.choice.shuffle(letters)
        return stored(g, g.like([sizes[n] for n in letters], dtype, -1, 1)), "".join(letters)

    (q, left), (k, right), (v, third) = drawn("bhqd"), drawn("bhkd"), drawn("bhkd")
    middle = list("bhqk")
    if chance(g, 0.4):
        g.choice.shuffle(middle)
    middle, last = "".join(middle), g.choice.choice(("bhqd", "bqhd", "qbhd", "bqdh", "bqd"))
    scores = g.node("Einsum", [q, k], equation=f"{left},{right}->{middle}")
    scores = labelled(g, scores, [sizes[n][1] for n in middle])
    scores = like_of(g, either(g, "Mul", scores, number(g, 0.5, dtype)), scores) if chance(g, 0.5) else scores
    shares = between(g, softmax(g, scores, middle.index("k")))
    made = g.node("Einsum", [shares, v], equation=f"{middle},{third}->{last}")
    return labelled(g, made, [sizes[n][1] for n in last])


@rule("Softmax-of-any")
def any_softmax(g, op):
    """Adds a softmax along any dim. The result of the softmax is the weights of a weighted sum, or
    is multiplied by another value."""
    x = g.value([F32], 2, 4, test=lambda v: v.size)
    axis = g.choice.randrange(x.rank)
    shares = softmax(g, activation(g, x) if chance(g, 0.5) else x, axis)
    other = g.like(x.dims, x.dtype) if chance(g, 0.5) else x
    made = like_of(g, either(g, "Mul", between(g, shares), other), x)
    return reduced(g, g.choice.choice(("ReduceSum", "ReduceMax")), made, [axis], g.choice.choice((0, 1)))

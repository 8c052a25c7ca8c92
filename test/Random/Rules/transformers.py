# SPDX-License-Identifier: Apache-2.0
"""Rules for the ops of transformers and recurrent networks: attention, positions, and
recurrences."""

import numpy as np
from records import F32, I32, I64

from Rules import MICROSOFT, rule


@rule("Attention")
def attention(g, op):
    batch, heads, each, depth = g.dim(), g.choice.choice((1, 2, 4)), g.choice.choice((1, 2)), g.choice.choice((4, 8))
    rows, keys = g.dim(), g.dim()
    q = g.like([batch, (heads * each, None), rows, (depth, None)], F32, -1, 1)
    k = g.like([batch, (heads, None), keys, (depth, None)], F32, -1, 1)
    v = g.like([batch, (heads, None), keys, (depth, None)], F32, -1, 1)
    mask = [g.leaf(F32, [rows, keys])] if g.choice.random() < 0.3 else []
    return g.node(
        "Attention",
        [q, k, v, *mask],
        is_causal=g.choice.choice((0, 0, 1)),
        scale=0.5 if g.choice.random() < 0.3 else None,
    )


@rule("RotaryEmbedding")
def rotary(g, op):
    batch, heads, length, depth = g.dim(), g.choice.choice((1, 2)), g.choice.randint(1, 5), g.choice.choice((4, 8))
    value = g.like([batch, (heads, None), (length, None), (depth, None)], F32)
    caches = [g.leaf(F32, [(8, None), (depth // 2, None)], -1, 1, 1) for _ in range(2)]
    return g.node(
        "RotaryEmbedding",
        [value, *caches, g.leaf(I64, [batch, (length, None)], 0, 7)],
        interleaved=g.choice.choice((0, 1)),
    )


@rule(f"{MICROSOFT}.RotaryEmbedding")
def microsoft_rotary(g, op):
    batch, length = g.dim(), (g.choice.randint(1, 5), None)
    value = g.like([batch, length, (16, None)], F32)
    caches = [g.leaf(F32, [(8, None), (4, None)], -1, 1, 1) for _ in range(2)]
    return g.node(op.name, [value, g.leaf(I64, [batch, length], 0, 7), *caches], domain=op.domain, num_heads=2)


@rule(f"{MICROSOFT}.MultiHeadAttention")
def multi_head(g, op):
    batch, rows, keys = g.dim(), g.dim(), g.dim()
    q, k, v = (g.like([batch, d, (8, None)], F32, -1, 1) for d in (rows, keys, keys))
    return g.node(op.name, [q, k, v], domain=op.domain, num_heads=2)


@rule(f"{MICROSOFT}.Attention")
def packed_attention(g, op):
    value = g.like([g.dim(), g.dim(), (8, None)], F32, -1, 1)
    weights, bias = g.leaf(F32, [(8, None), (24, None)], -1, 1, 1), g.leaf(F32, [(24, None)], -1, 1, 1)
    return g.node(op.name, [value, weights, bias], domain=op.domain, num_heads=2)


@rule(f"{MICROSOFT}.GroupQueryAttention")
def group_query(g, op):
    length = g.choice.choice((1, 3, 5))
    q = g.like([(1, None), (length, None), (16, None)], F32, -1, 1)
    k, v = (g.like([(1, None), (length, None), (8, None)], F32, -1, 1) for _ in range(2))
    lengths, total = g.constant(np.asarray([length - 1], I32)), g.constant(np.asarray(length, I32))
    results = g.node(
        op.name, [q, k, v, None, None, lengths, total], outputs=3, domain=op.domain, num_heads=2, kv_num_heads=1
    )
    return results[0]


@rule(f"{MICROSOFT}.EmbedLayerNormalization")
def embed(g, op):
    batch, length = g.dim(), (g.choice.randint(1, 5), None)
    ids, segments = g.leaf(I32, [batch, length], 0, 6), g.leaf(I32, [batch, length], 0, 1)
    tables = [g.leaf(F32, [(n, None), (8, None)], -1, 1, 1) for n in (7, 9, 2)]
    scale, bias = (g.leaf(F32, [(8, None)], 0.5, 1, 1) for _ in range(2))
    return g.node(op.name, [ids, segments, *tables, scale, bias], outputs=2, domain=op.domain, epsilon=0.01)[0]


def recurrence(g, gates, biases, **attributes):
    directions = (attributes["direction"] == "bidirectional" and 2) or 1
    length, batch, width, hidden = (
        g.choice.choice((1, 2, 4)),
        g.dim(),
        g.choice.choice((1, 3, 4)),
        attributes["hidden_size"],
    )
    value = g.like([(length, None), batch, (width, None)], F32, -1, 1)
    weights = g.leaf(F32, [(directions, None), (gates * hidden, None), (width, None)], -0.5, 0.5, 1)
    turned = g.leaf(F32, [(directions, None), (gates * hidden, None), (hidden, None)], -0.5, 0.5, 1)
    bias = g.leaf(F32, [(directions, None), (biases * hidden, None)], -0.5, 0.5, 1) if g.choice.random() < 0.6 else None
    lengths = g.leaf(I32, [batch], 1, length) if batch[1] is None and g.choice.random() < 0.4 else None
    first = g.leaf(F32, [(directions, None), batch, (hidden, None)], -1, 1) if g.choice.random() < 0.4 else None
    return [value, weights, turned, bias, lengths, first]


@rule("RNN", "GRU", "LSTM")
def rnn(g, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op.name]
    attributes = {
        "hidden_size": g.choice.choice((1, 2, 5)),
        "direction": g.choice.choice(["forward", "reverse", "bidirectional"]),
    }
    operands = recurrence(g, gates, 2 * gates, **attributes)
    if op.name == "GRU":
        attributes["linear_before_reset"] = g.choice.choice((0, 1))
    if g.choice.random() < 0.3:
        attributes["clip"] = g.choice.choice((0.25, 0.5, 1.5))
    return g.node(op.name, operands, outputs=2 if op.name != "LSTM" else 3, **attributes)[0]

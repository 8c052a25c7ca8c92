# SPDX-License-Identifier: Apache-2.0
"""Rules that draw matmuls."""

import numpy as np
from graph import Reject
from records import BF16, F16, F32, FLOATS, I32, I64

from Rules import MICROSOFT, rule


def wanted(g, op, letter="T"):
    types = [t for t in op.types(letter) if t in (*FLOATS, I32, I64)]
    return [t for t in types if t in g.root.palette] or [F32]


def matrices(g, types):
    """Returns two operands for MatMul. Either operand may have batch dims, may be a vector, or may
    have batch dims of 1 that broadcast."""
    left = g.value(types, 1, 4, test=lambda v: v.size)
    columns = g.dim()
    right = [left.dims[-1], columns] if g.choice.random() < 0.85 else [left.dims[-1]]
    if len(right) == 2 and g.choice.random() < 0.4:
        right = [d if g.choice.random() < 0.6 else (1, None) for d in left.dims[:-2]] + right
        if g.choice.random() < 0.3:
            right = [(g.choice.choice((1, 2)), None), *right]
    return left, g.like(right, left.dtype, -2, 2)


@rule("MatMul")
def matmul(g, op):
    return g.node("MatMul", list(matrices(g, wanted(g, op))))


@rule("Gemm")
def gemm(g, op):
    a = g.value(wanted(g, op), 2, 2, test=lambda v: v.size)
    turn_a, turn_b, columns = g.choice.choice((0, 1)), g.choice.choice((0, 1)), g.dim()
    rows, depth = a.dims[::-1] if turn_a else a.dims
    b = g.like([columns, depth] if turn_b else [depth, columns], a.dtype, -2, 2)
    c = []
    if g.opset < 11 or g.choice.random() < 0.7:
        dims = [d if g.choice.random() < 0.6 else (1, None) for d in (rows, columns)]
        c = [g.like(dims[g.choice.choice((0, 0, 1)) :], a.dtype)]
    alpha = {"alpha": g.choice.choice((0.5, 2.0, 1.0)), "beta": g.choice.choice((1.0, 0.5, 3.0))}
    if g.opset < 7:
        raise Reject("broadcasting by attributes")
    return g.node("Gemm", [a, b, *c], transA=turn_a, transB=turn_b, **alpha)


@rule("Det")
def determinant(g, op):
    n = g.choice.choice((1, 2, 3, 4))
    return g.node("Det", [g.like([*g.dims(0, 2), (n, None), (n, None)], F32, -2, 2)])


@rule(f"{MICROSOFT}.FusedMatMul", f"{MICROSOFT}.TransposeMatMul")
def fused_matmul(g, op):
    left, depth, columns = g.value([F32], 2, 3, test=lambda v: v.size), None, g.dim()
    turn_a, turn_b = g.choice.choice((0, 1)), g.choice.choice((0, 1))
    depth = left.dims[-2] if turn_a else left.dims[-1]
    right = g.like([*left.dims[:-2], *([columns, depth] if turn_b else [depth, columns])], F32)
    return g.node(
        op.name, [left, right], domain=op.domain, transA=turn_a, transB=turn_b, alpha=g.choice.choice((1.0, 0.5))
    )


@rule(f"{MICROSOFT}.FusedGemm")
def fused_gemm(g, op):
    a = g.value([F32], 2, 2, test=lambda v: v.size)
    columns = g.dim()
    operands = [a, g.like([a.dims[1], columns], F32), g.like([columns], F32)]
    return g.node(
        op.name,
        operands,
        domain=op.domain,
        activation=g.choice.choice(["Relu", "LeakyRelu", "Sigmoid", "Tanh"]),
        activation_alpha=0.1,
    )


@rule(f"{MICROSOFT}.MatMulNBits")
def matmul_bits(g, op):
    bits, block, rows = g.choice.choice((4, 8)), g.choice.choice((16, 32)), g.choice.choice((1, 3, 8))
    blocks, columns = g.choice.choice((1, 2, 3)), g.choice.choice((1, 5, 16))
    depth = blocks * block - g.choice.choice((0, 0, 3))
    a = g.like([(rows, None), (depth, None)], F32)
    codes = g.constant(g.arrays.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8))
    scales = g.leaf(F32, [(columns * blocks, None)], 0.05, 0.5, constant=1)
    zeros = []
    if g.choice.random() < 0.5:
        width = columns * (-(-blocks * bits // 8))
        zeros = [g.constant(g.arrays.integers(0, 256, width, dtype=np.uint8))]
    return g.node(
        op.name, [a, codes, scales, *zeros], domain=op.domain, K=depth, N=columns, bits=bits, block_size=block
    )


@rule(f"{MICROSOFT}.GatherBlockQuantized")
def gather_block_quantized(g, op):
    rows, blocks = g.choice.choice((2, 5)), g.choice.choice((1, 2))
    codes = g.constant(g.arrays.integers(0, 256, (rows, blocks * 8), dtype=np.uint8))
    scales = g.leaf(F32, [(rows, None), (blocks, None)], 0.05, 0.5, constant=1)
    picked = g.leaf(I64, g.dims(1, 2), 0, rows - 1)
    return g.node(op.name, [codes, picked, scales], domain=op.domain, block_size=16, bits=4)


@rule("MatMul-chain")
def chain(g, op):
    """Adds two matmuls with ops in between, as in attention."""
    dtype = g.choice.choice([t for t in (F32, F16, BF16) if t in g.root.palette] or [F32])
    batch, rows, depth, keys, width = g.dims(0, 2), g.dim(), g.dim(), g.dim(), g.dim()
    q, k, v = (g.like([*batch, *d], dtype, -1, 1) for d in ((rows, depth), (keys, depth), (keys, width)))
    turned = g.node("Transpose", [k], perm=[*range(len(batch)), len(batch) + 1, len(batch)])
    scores = g.node("MatMul", [q, turned])
    if g.choice.random() < 0.5:
        scores = g.node("Mul", [scores, g.constant(np.asarray(0.5, dtype))])
    if g.choice.random() < 0.5:
        scores = g.node("Add", [scores, g.broadcast(scores.dims, dtype)])
    middle = g.choice.choice(["Softmax", "Softmax", "Relu", "Sigmoid"])
    scores = g.node(
        middle, [scores], **({"axis": -1 if g.opset >= 13 else scores.rank - 1} if middle == "Softmax" else {})
    )
    return g.node("MatMul", [scores, v])

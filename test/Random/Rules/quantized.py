# SPDX-License-Identifier: Apache-2.0
"""Quantized tensors: QuantizeLinear and DequantizeLinear around float ops, and integer ops."""

import numpy as np
import records
from graph import Reject
from onnx import helper
from records import F32, FLOATS, I8, I32, U8

from Rules import MICROSOFT, rule
from Rules.contractions import matrices
from Rules.windows import picture, window


def scale(g, dtype=F32, shape=()):
    """Draws scales that are powers of two, and others that cause rounding."""
    numbers = np.asarray(g.arrays.choice([0.015625, 0.03125, 0.1, 0.0471, 0.5], shape), dtype)
    return g.constant(numbers, "s")


def zero(g, dtype, shape=(), any_value=True):
    info_low, info_high = (0, 10) if str(dtype).startswith("uint") else (-3, 3)
    if dtype in records.STORED:
        return g.constant(np.zeros(shape, dtype), "z")
    if not any_value or dtype == I32:
        return g.constant(np.zeros(shape, dtype), "z")
    return g.constant(g.arrays.integers(info_low, info_high, shape).astype(dtype), "z")


def quantize(g, value, dtype, axis=None):
    if "QuantizeLinear" not in g.ops:
        raise Reject("not yet")
    shape = () if axis is None else (value.shape[axis],)
    rest = {} if axis is None else {"axis": axis}
    steps, point = scale(g, value.dtype, shape), zero(g, dtype, shape)
    return g.node("QuantizeLinear", [value, steps, point], **rest), steps, point, rest


def dequantize(g, codes, steps, point, rest):
    return g.node("DequantizeLinear", [codes, steps, point], **rest)


def rounded(g, value, dtype=None):
    """Adds a QuantizeLinear to 8-bit integers and a DequantizeLinear of its result."""
    dtype = dtype or g.choice.choice((U8, I8))
    axis = None
    if g.opset >= 13 and value.rank and not any(value.labels) and g.choice.random() < 0.2:
        axis = g.choice.randrange(value.rank)
    return dequantize(g, *quantize(g, value, dtype, axis))


@rule("QuantizeLinear")
def quantize_linear(g, op):
    value = g.value([F32] if g.opset < 19 else [t for t in (F32, records.F16) if t in g.root.palette] or [F32], 0, 4)
    types = [t for t in op.types("T2" if g.opset < 21 else "T3") if t in (U8, I8, *records.STORED) or g.opset >= 21]
    types = [t for t in types if t in (U8, I8)] if g.choice.random() < 0.6 else types
    codes, steps, point, rest = quantize(
        g, value, g.choice.choice([t for t in types if t.kind in "iu" or "int" in str(t)] or [U8])
    )
    return codes if codes.dtype in (U8, I8) and g.choice.random() < 0.5 else dequantize(g, codes, steps, point, rest)


@rule("DequantizeLinear")
def dequantize_linear(g, op):
    value = g.value([U8, I8], 0, 4)
    return dequantize(g, value, scale(g), zero(g, value.dtype), {})


@rule(f"{MICROSOFT}.QuantizeLinear", f"{MICROSOFT}.DequantizeLinear")
def microsoft_linear(g, op):
    dtype = g.choice.choice((U8, I8))
    value = g.value([F32], 0, 4)
    codes = g.node("QuantizeLinear", [value, (steps := scale(g)), (point := zero(g, dtype))], domain=MICROSOFT)
    return codes if op.name == "QuantizeLinear" else g.node("DequantizeLinear", [codes, steps, point], domain=MICROSOFT)


@rule("QDQ-blocks")
def blocks(g, op):
    """Adds low-bit weights with one scale per block of elements."""
    if g.opset < 21:
        raise Reject("not yet")
    dtype = records.TYPES[g.choice.choice(["int4", "uint4", "int8"])]
    depth, columns, block = g.choice.choice((16, 32)), g.choice.choice((1, 5, 16)), g.choice.choice((8, 16))
    low = 0 if "uint" in str(dtype) else -7
    codes = g.constant(g.arrays.integers(low, 8, (depth, columns)).astype(dtype))
    steps = g.leaf(F32, [(depth // block, None), (columns, None)], 0.05, 0.5, 1)
    weights = g.node("DequantizeLinear", [codes, steps], axis=0, block_size=block)
    return g.node("MatMul", [g.like([*g.dims(1, 2), (depth, None)], F32), weights])


@rule("DynamicQuantizeLinear")
def dynamic(g, op):
    value = g.value([F32], 0, 4, test=lambda v: v.size)
    codes, steps, point = g.node("DynamicQuantizeLinear", [value], outputs=3)
    return dequantize(g, codes, steps, point, {})


@rule("QDQ-MatMul")
def qdq_matmul(g, op):
    a, b = matrices(g, [F32])
    result = g.node("MatMul", [rounded(g, a), rounded(g, b)])
    if g.choice.random() < 0.4:
        result = g.node("Add", [result, g.broadcast(result.dims, F32)])
    if g.choice.random() < 0.4:
        result = g.node("Relu", [result])
    return rounded(g, result)


@rule("QDQ-Conv")
def qdq_conv(g, op):
    value = picture(g)
    attributes, results = window(g, value), g.choice.choice((1, 2, 4, 5))
    group = value.shape[1] if g.choice.random() < 0.3 else 1
    weights = g.leaf(
        F32, [(n, None) for n in (results * group, value.shape[1] // group, *attributes["kernel_shape"])], -1, 1, 1
    )
    axis = 0 if g.opset >= 13 and g.choice.random() < 0.5 else None
    packed = dequantize(g, *quantize(g, weights, I8, axis))
    result = g.node("Conv", [rounded(g, value), packed], group=group, **attributes)
    if g.choice.random() < 0.5:
        result = g.node("Relu", [result])
    return rounded(g, result)


@rule("QDQ-elementwise")
def qdq_elementwise(g, op):
    a = g.value([F32], 1, 4)
    b = g.broadcast(a.dims, F32)
    return rounded(g, g.node(g.choice.choice(["Add", "Mul", "Sub", "Max"]), [rounded(g, a), rounded(g, b)]))


@rule("MatMulInteger")
def matmul_integer(g, op):
    a, b = matrices(g, [U8])
    b = b if g.choice.random() < 0.5 else g.leaf(I8, b.dims, -9, 9)
    points = [zero(g, U8), zero(g, b.dtype)] if g.choice.random() < 0.6 else []
    return g.node("MatMulInteger", [a, b, *points])


@rule("ConvInteger")
def conv_integer(g, op):
    value = picture(g, (U8,))
    attributes = window(g, value)
    weights = g.leaf(
        g.choice.choice((U8, I8)), [(n, None) for n in (3, value.shape[1], *attributes["kernel_shape"])], -9, 9, 1
    )
    return g.node("ConvInteger", [value, weights, *([zero(g, U8)] if g.choice.random() < 0.5 else [])], **attributes)


@rule("QLinearMatMul")
def qlinear_matmul(g, op):
    a, b = matrices(g, [U8])
    dtype = g.choice.choice((U8, I8))
    b = b if dtype == U8 else g.leaf(I8, b.dims, -9, 9)
    return g.node("QLinearMatMul", [a, scale(g), zero(g, U8), b, scale(g), zero(g, b.dtype), scale(g), zero(g, U8)])


@rule("QLinearConv")
def qlinear_conv(g, op):
    value = picture(g, (U8,))
    attributes, results = window(g, value), g.choice.choice((1, 3, 4))
    dtype = g.choice.choice((U8, I8))
    weights = g.leaf(dtype, [(n, None) for n in (results, value.shape[1], *attributes["kernel_shape"])], -9, 9, 1)
    each = (results,) if g.choice.random() < 0.4 else ()
    bias = [g.leaf(I32, [(results, None)], -50, 50, 1)] if g.choice.random() < 0.4 else []
    operands = [
        value,
        scale(g),
        zero(g, U8),
        weights,
        scale(g, F32, each),
        zero(g, dtype, each, not each),
        scale(g),
        zero(g, U8),
    ]
    return g.node("QLinearConv", [*operands, *bias], **attributes)


@rule(f"{MICROSOFT}.QLinearAdd", f"{MICROSOFT}.QLinearMul")
def qlinear_binary(g, op):
    a = g.value([U8, I8], 1, 4)
    b = g.broadcast(a.dims, a.dtype)
    return g.node(
        op.name,
        [a, scale(g), zero(g, a.dtype), b, scale(g), zero(g, a.dtype), scale(g), zero(g, a.dtype)],
        domain=op.domain,
    )


@rule(f"{MICROSOFT}.QLinearLeakyRelu", f"{MICROSOFT}.QLinearSigmoid")
def qlinear_unary(g, op):
    a = g.value([U8, I8], 1, 4)
    return g.node(op.name, [a, scale(g), zero(g, a.dtype), scale(g), zero(g, a.dtype)], domain=op.domain)


@rule(f"{MICROSOFT}.QLinearConcat")
def qlinear_concat(g, op):
    a = g.value([U8], 2, 3)
    b = g.like([*a.dims[:-1], g.dim()], U8)
    return g.node(
        op.name,
        [scale(g), zero(g, U8), a, scale(g), zero(g, U8), b, scale(g), zero(g, U8)],
        domain=op.domain,
        axis=a.rank - 1,
    )


@rule(f"{MICROSOFT}.QLinearAveragePool", f"{MICROSOFT}.QLinearGlobalAveragePool")
def qlinear_pool(g, op):
    value = g.like([(1, None), (3, None), (6, None), (5, None)], U8)
    attributes = {"kernel_shape": [2, 2], "strides": [1, 2]} if op.name == "QLinearAveragePool" else {}
    return g.node(op.name, [value, scale(g), zero(g, U8), scale(g), zero(g, U8)], domain=op.domain, **attributes)


@rule(f"{MICROSOFT}.QLinearSoftmax")
def qlinear_softmax(g, op):
    value = g.like([*g.dims(1, 2), (8, None)], U8)
    steps, point = g.constant(np.asarray(1 / 256, np.float32)), zero(g, U8, (), False)
    return g.node(
        op.name, [value, scale(g), zero(g, U8), steps, point], domain=op.domain, axis=value.rank - 1, opset=13
    )


@rule(f"{MICROSOFT}.MatMulIntegerToFloat", f"{MICROSOFT}.DynamicQuantizeMatMul")
def integer_to_float(g, op):
    rows, depth, columns = g.dim(), (g.choice.choice((1, 4, 9)), None), (g.choice.choice((1, 3, 8)), None)
    b = g.leaf(g.choice.choice((U8, I8)), [depth, columns], -9, 9, 1)
    if op.name == "DynamicQuantizeMatMul":
        return g.node(op.name, [g.like([rows, depth], F32), b, scale(g), zero(g, b.dtype)], domain=op.domain)
    return g.node(
        op.name, [g.like([rows, depth], U8), b, scale(g), scale(g), zero(g, U8), zero(g, b.dtype)], domain=op.domain
    )


@rule(f"{MICROSOFT}.QGemm")
def qgemm(g, op):
    a = g.like([g.dim(), (6, None)], U8)
    b = g.leaf(I8, [(6, None), (5, None)], -9, 9, 1)
    bias = g.leaf(I32, [(5, None)], -50, 50, 1)
    return g.node(
        op.name,
        [a, scale(g), zero(g, U8), b, scale(g), zero(g, I8), bias, scale(g), zero(g, U8)],
        domain=op.domain,
        alpha=1.0,
    )


@rule(f"{MICROSOFT}.QAttention")
def qattention(g, op):
    value = g.like([g.dim(), g.dim(), (8, None)], U8)
    weights, bias = g.leaf(I8, [(8, None), (24, None)], -9, 9, 1), g.leaf(F32, [(24, None)], -1, 1, 1)
    mask = None
    return g.node(
        op.name,
        [value, weights, bias, scale(g), scale(g), mask, zero(g, U8), zero(g, I8)],
        domain=op.domain,
        num_heads=2,
    )


@rule("Cast-stored")
def through_stored(g, op):
    """Casts to a type in which ONNX's ops do not compute, permutes, and casts back."""
    dtype = g.choice.choice([t for t in g.ops["Cast"].types("T2") if t in records.STORED] or [None])
    if dtype is None:
        raise Reject("not yet")
    value = g.value([t for t in FLOATS if t in g.root.palette] or [F32], 1, 4, test=lambda v: v.size)
    if "int" in str(dtype):
        wide = value.array.astype(np.float64)
        if wide.min() < (0 if "uint" in str(dtype) else -1) or wide.max() > 1:
            value = g.leaf(value.dtype, value.dims, 0, 1)
    narrow = g.node("Cast", [value], to=helper.np_dtype_to_tensor_dtype(dtype))
    if g.opset >= 21 and g.choice.random() < 0.5:
        perm = list(range(narrow.rank))
        g.choice.shuffle(perm)
        narrow = g.node("Transpose", [narrow], perm=perm)
    return g.node("Cast", [narrow], to=helper.np_dtype_to_tensor_dtype(value.dtype))

# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops. By ONNX's schema, all operands have one type and broadcast. Other ops have a
rule of their own here."""

import numpy as np
import onnx
import records
from graph import Reject
from records import BF16, BOOL, F16, F32, FLOATS, INTS

from Rules import MICROSOFT, rule

# Ranges of operands in which each function is defined, does not overflow, and is not steep.
DOMAINS = {
    "Acos": (-0.95, 0.95),
    "Acosh": (1.05, 50),
    "Asin": (-0.95, 0.95),
    "Atanh": (-0.95, 0.95),
    "Cosh": (-6, 6),
    "Elu": (-9, 100),
    "Celu": (-9, 100),
    "Exp": (-9, 6),
    "Log": (0.05, 1e4),
    "Sinh": (-6, 6),
    "Sqrt": (0, 1e5),
    "Tan": (-1.4, 1.4),
    "Reciprocal": (0.1, 1e4),
    "Sin": (-50, 50),
    "Cos": (-50, 50),
}
UNARY_ATTRIBUTES = {
    "alpha": lambda c: round(c.uniform(0.05, 1.5), 3),
    "beta": lambda c: round(c.uniform(0.05, 0.9), 3),
    "gamma": lambda c: round(c.uniform(0.5, 1.5), 3),
    "lambd": lambda c: round(c.uniform(0.1, 1.0), 3),
    "bias": lambda c: round(c.uniform(-0.5, 0.5), 3),
    "approximate": lambda c: c.choice(["none", "tanh"]),
}


def within(g, value, low, high):
    """Returns the value, clipped to the range if necessary."""
    if value.dtype not in FLOATS:
        return value
    wide = value.array.astype(np.float64)
    if not value.size or (wide.min() >= low and wide.max() <= high):
        return value
    if g.opset < 11 or (value.dtype in (F16, BF16) and g.opset < 13):
        raise Reject("no Clip")
    bounds = [g.constant(np.asarray(b, value.dtype)) for b in (low, high)]
    return g.node("Clip", [value, *bounds])


def away_from_zero(g, value):
    """Returns the value, or a new one, without elements close to zero, so that it can be a
    divisor."""
    wide = np.abs(value.array.astype(np.float64))
    if value.size and wide.min() > 0.05:
        return value
    low, high = (1, 4) if value.dtype in INTS or g.choice.random() < 0.5 else (0.5, 4)
    return g.leaf(value.dtype, value.dims, low, high)


def by_schema(g, op):
    """Adds a node of an elementwise op without a rule of its own."""
    count = len(op.schema.inputs)
    if any(i.option == onnx.defs.OpSchema.FormalParameterOption.Variadic for i in op.schema.inputs):
        count = g.choice.randint(1, 4)
    letter = op.schema.inputs[0].type_str
    types = [
        t
        for t in (op.types(letter) if not letter.startswith("tensor") else [records.TYPES[letter[7:-1]]])
        if t not in records.STORED
    ]
    attributes = {
        k: UNARY_ATTRIBUTES[k](g.choice)
        for k in op.schema.attributes
        if k in UNARY_ATTRIBUTES and g.choice.random() < 0.7
    }
    first = g.value(types, 0, 5)
    if op.name in DOMAINS:
        first = within(g, first, *DOMAINS[op.name])
    operands = [first]
    for _ in range(count - 1):
        operands.append(g.broadcast(operands[g.choice.randrange(len(operands))].dims, first.dtype))
    if g.opset < 7 and count > 1:
        raise Reject("broadcasting by attributes")
    if g.choice.random() < 0.5 and count > 1:
        g.choice.shuffle(operands)
    if op.name in ("Div", "Mod"):
        operands[1] = away_from_zero(g, operands[1])
    return g.node(op.name, operands, domain=op.domain, **attributes)


@rule("Cast")
def cast(g, op):
    value = g.value([t for t in op.types("T1") if t not in records.STORED or g.opset >= 25], test=lambda v: v.size)
    targets = [t for t in op.types("T2") if t != value.dtype]
    likely = [t for t in targets if t in g.root.palette]
    return g.cast(value, g.choice.choice(likely if likely and g.choice.random() < 0.6 else targets))


@rule("CastLike")
def cast_like(g, op):
    value, other = g.value(FLOATS), g.value(op.types("T2"))
    if other.dtype in INTS:
        raise Reject("ranges are Cast's matter")
    return g.node("CastLike", [value, other])


@rule("BitCast")
def bit_cast(g, op):
    value = g.value([t for t in op.types("T1") if t.kind in "iuf" and t not in records.STORED])
    same = [t for t in op.types("T2") if t.itemsize == value.dtype.itemsize and t in INTS]
    return g.node("BitCast", [value], to=onnx.helper.np_dtype_to_tensor_dtype(g.choice.choice(same)))


@rule("BitShift")
def bit_shift(g, op):
    value = g.value(op.types())
    return g.node(
        "BitShift", [value, g.leaf(value.dtype, value.dims, 0, 7)], direction=g.choice.choice(["LEFT", "RIGHT"])
    )


@rule("Pow")
def power(g, op):
    value = g.value([t for t in op.types("T") if t in FLOATS or g.opset >= 12])
    if value.dtype in FLOATS and g.choice.random() < 0.3:
        power = g.choice.choice((0.5, 0.5, 1, 2, 3, -1, -0.5, 1.5))
        value = value if power == abs(int(power)) else within(g, value, 0.1, 9)
        return g.node("Pow", [value, g.constant(np.asarray(power, value.dtype))])
    if value.dtype in FLOATS:
        value = within(g, value, 0.1, 9)
        return g.node("Pow", [value, g.leaf(value.dtype, value.dims[g.choice.randint(0, value.rank) :], -2, 2)])
    return g.node("Pow", [value, g.leaf(value.dtype, value.dims, 0, 3)])


@rule("Mod")
def mod(g, op):
    value = g.value([t for t in op.types() if t not in records.STORED])
    other = away_from_zero(g, g.broadcast(value.dims, value.dtype))
    if other.dtype.kind == "i" and (other.array == -1).any():
        raise Reject("division of the smallest integer by -1")
    fmod = 1 if value.dtype in FLOATS else g.choice.choice([0, 1])
    return g.node("Mod", [value, other], fmod=fmod)


@rule("Clip")
def clip(g, op):
    value = g.value(op.types() if g.opset >= 12 else [F32], test=lambda v: v.dtype not in records.STORED)
    low, high = sorted(g.choice.sample(range(0 if value.dtype.kind == "u" else -3, 5), 2))
    if not op.has_input("min"):
        return g.node("Clip", [value], min=float(low), max=float(high))
    bounds = [g.constant(np.asarray(b, value.dtype)) if g.choice.random() < 0.8 else None for b in (low, high)]
    return g.node("Clip", [value, *bounds])


@rule("Where")
def where(g, op):
    value = g.value([t for t in op.types("T") if t not in records.STORED])
    return g.node("Where", [g.broadcast(value.dims, BOOL), value, g.broadcast(value.dims, value.dtype)])


@rule("PRelu")
def prelu(g, op):
    value = g.value(op.types(), 1)
    if g.opset < 7:
        raise Reject("another kind of broadcasting")
    kept = [d if g.choice.random() < 0.5 else (1, None) for d in value.dims]
    return g.node("PRelu", [value, g.leaf(value.dtype, kept[g.choice.randint(0, len(kept)) :], 0, 2)])


@rule("Dropout")
def dropout(g, op):
    return g.node("Dropout", [g.value(op.types("T"))])


@rule("Identity")
def identity(g, op):
    return g.node("Identity", [g.value([t for t in op.types("V" if g.opset >= 14 else "T")])])


@rule("HardSwish", "Mish", "Swish")
def composed(g, op):
    return by_schema(g, op)


@rule("SwiGLU")
def swiglu(g, op):
    value = g.value(op.types(), 1)
    return g.node("SwiGLU", [value, g.like(value.dims, value.dtype)])


@rule(f"{MICROSOFT}.BiasGelu")
def bias_gelu(g, op):
    value = g.value([F32], 1)
    return g.node(op.name, [value, g.like(value.dims[-1:], value.dtype)], domain=op.domain)


@rule(f"{MICROSOFT}.FastGelu", f"{MICROSOFT}.Gelu", f"{MICROSOFT}.QuickGelu")
def gelu(g, op):
    value = g.value([F32], 1)
    bias = [g.like(value.dims[-1:], value.dtype)] if op.name == "FastGelu" and g.choice.random() < 0.5 else []
    return g.node(op.name, [value, *bias], domain=op.domain)

# SPDX-License-Identifier: Apache-2.0
"""Indexing ops, which permute, repeat or insert elements."""

import math

import numpy as np
import records
from graph import Reject
from records import BOOL, F16, F32, FLOATS, I8, I64, INTS, U8

from Rules import rule
from Rules.views import negative, taken


@rule("Concat")
def concat(g, op):
    value = taken(g, op, 1)
    axis, operands = g.choice.randrange(value.rank), [value]
    for _ in range(g.choice.randint(1, 3)):
        found = g.find(
            lambda v: (
                v.dtype == value.dtype
                and v.rank == value.rank
                and all(a == b for i, (a, b) in enumerate(zip(v.dims, value.dims)) if i != axis)
            )
        )
        if found is None or g.choice.random() < 0.4:
            dims = list(value.dims)
            dims[axis] = g.dim()
            found = g.like(dims, value.dtype)
        operands.append(found)
    g.choice.shuffle(operands)
    return g.node("Concat", operands, axis=axis if g.opset < 11 else negative(g, axis, value.rank))


@rule("Tile")
def tile(g, op):
    value = taken(g, op, 1, 4)
    repeats = [g.choice.choice((1, 1, 2, 3)) for _ in range(value.rank)]
    if math.prod(repeats) * value.size > g.most or g.opset < 6:
        raise Reject("large")
    return g.node("Tile", [value, g.ints(repeats, 0.3)])


@rule("Pad")
def pad(g, op):
    value = taken(g, op, 1, 4)
    modes = ["constant", "reflect", "edge"] + ["wrap"] * (g.opset >= 19)
    mode = g.choice.choice(modes)
    if g.opset < 11 and value.dtype not in FLOATS:
        raise Reject("not yet")
    axes = list(range(value.rank))
    if g.opset >= 18 and g.choice.random() < 0.4:
        axes = g.choice.sample(axes, g.choice.randint(1, value.rank))
    pads = []
    for axis in axes * 2:
        size, label = value.dims[axis]
        most = 2 if mode == "constant" else 0 if label else min(2, size - 1)
        least = -1 if mode == "constant" and size > 3 and not label else 0
        pads.append(g.choice.randint(least, max(most, 0)))
    if g.opset < 11:
        return g.node("Pad", [value], mode=mode, pads=pads, value=0.5)
    filler = g.constant(np.asarray(1, value.dtype)) if mode == "constant" and g.choice.random() < 0.5 else None
    operands = [value, g.ints(pads, 0.3), filler]
    if (g.opset >= 18 and len(axes) < value.rank) or sorted(axes) != axes:
        operands.append(g.ints([negative(g, a, value.rank) for a in axes], 0))
    return g.node("Pad", operands, mode=mode)


@rule("DepthToSpace")
def depth_to_space(g, op):
    block, (n, c, h, w) = g.choice.choice((1, 2, 3)), (g.dim() for _ in range(4))
    value = g.like([n, (block * block * min(c[0], 3), None), h, w], g.choice.choice(some(g, op)))
    modes = {"mode": g.choice.choice(["DCR", "CRD"])} if g.opset >= 11 else {}
    return g.node("DepthToSpace", [value], blocksize=block, **modes)


@rule("SpaceToDepth")
def space_to_depth(g, op):
    block, dims = g.choice.choice((1, 2, 3)), [g.dim() for _ in range(4)]
    dims[2:] = [(block * min(size, 4), None) for size, _ in dims[2:]]
    return g.node("SpaceToDepth", [g.like(dims, g.choice.choice(some(g, op)))], blocksize=block)


def some(g, op, letter="T"):
    """Returns the types that the op accepts and this graph uses, or all types that the op
    accepts."""
    types = [t for t in op.types(letter) if t not in records.STORED]
    return [t for t in types if t in g.root.palette] or types


@rule("Trilu")
def trilu(g, op):
    value = taken(g, op, 2)
    k = [g.constant(np.asarray(g.choice.randint(-3, 3), I64))] if g.choice.random() < 0.6 else []
    return g.node("Trilu", [value, *k], upper=g.choice.choice((0, 1)))


@rule("EyeLike")
def eye_like(g, op):
    return g.node("EyeLike", [g.value([t for t in op.types("T1") if t != BOOL], 2, 2)], k=g.choice.randint(-2, 2))


@rule("ReverseSequence")
def reverse_sequence(g, op):
    value = taken(g, op, 2)
    time = g.choice.choice((0, 1))
    batch, steps = value.shape[1 - time], value.shape[time]
    if any(value.labels[:2]) or not steps:
        raise Reject("lengths for each")
    lengths = g.leaf(I64, [(batch, None)], 1, steps)
    return g.node("ReverseSequence", [value, lengths], time_axis=time, batch_axis=1 - time)


@rule("CenterCropPad")
def center_crop_pad(g, op):
    value = taken(g, op, 1, 4)
    axes = g.choice.sample(range(value.rank), g.choice.randint(1, value.rank))
    return g.node("CenterCropPad", [value, g.ints([g.choice.choice(g.sizes) for _ in axes])], axes=axes)


@rule("ConstantOfShape")
def constant_of_shape(g, op):
    dims = g.dims(0, 3)
    dtype = g.choice.choice([t for t in some(g, op, "T2") if t in FLOATS + INTS + (BOOL,)])
    import onnx

    value = onnx.numpy_helper.from_array(np.asarray([g.choice.randint(0, 3)]).astype(dtype))
    source = g.find(lambda v: v.rank and v.size <= 256)
    if source is not None and g.choice.random() < 0.5:
        return g.node("ConstantOfShape", [g.node("Shape", [source])], value=value)
    return g.node("ConstantOfShape", [g.ints([d for d, _ in dims])], value=value)


@rule("Shape")
def shape(g, op):
    value = g.value(g.root.palette, 1)
    if g.opset < 15 or g.choice.random() < 0.5:
        return g.node("Shape", [value])
    return g.node(
        "Shape", [value], start=g.choice.randint(-value.rank, value.rank), end=g.choice.randint(-value.rank, value.rank)
    )


@rule("Size")
def size(g, op):
    return g.node("Size", [g.value(g.root.palette)])


@rule("Range")
def numbers(g, op):
    dtype = g.choice.choice([t for t in op.types() if t in FLOATS + INTS and t not in (F16,)])
    count, step = g.choice.choice(g.sizes), g.choice.choice((1, 2))
    bounds = (
        (0, count * step, step)
        if dtype.kind == "u" or g.choice.random() < 0.5
        else (count, count - count * step, -step)
    )
    return g.node("Range", [g.constant(np.asarray(b, dtype)) for b in bounds])


# Scales of exporters, among them some that are no fractions of small integers.
SCALES = (0.5, 1.0, 2.0, 1.5, 3.0, 0.1, 1 / 3, 0.6, 0.35, 1.3, 2.462)


def resize_attributes(g, value):
    mode = g.choice.choice(["nearest", "linear"] + ["cubic"] * (value.rank == 4 and g.opset >= 11))
    attributes = {"mode": mode}
    if g.opset == 10:
        return attributes
    transforms = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]
    transforms += ["half_pixel_symmetric"] * (g.opset >= 19)
    attributes["coordinate_transformation_mode"] = g.choice.choice(transforms)
    if mode == "nearest":
        attributes["nearest_mode"] = g.choice.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    elif value.dtype in FLOATS:
        attributes["exclude_outside"] = g.choice.choice((0, 1)) if mode == "cubic" else 0
        if g.opset >= 18:
            attributes["antialias"] = int(g.choice.random() < 0.4)
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.choice.choice((-0.75, -0.5))
    return attributes


@rule("Resize")
def resize(g, op):
    """Adds a Resize by constant or dynamic scales or sizes, of constant or symbolic dims. Scales and
    weights of interpolated integers are powers of 2, so that ties are exact."""
    types = [t for t in some(g, op, "T1" if g.opset >= 11 else "T") if t in (F32, U8, I8)] or [F32]
    value = g.value([g.choice.choice(types)], 3, 4, test=lambda v: v.size and not any(v.labels[:2]))
    if g.opset >= 18 and g.choice.random() < 0.1:  # a dim that is long enough to be shrunk by more than 64
        value = g.leaf(value.dtype, [(1, None), (2, None), (g.choice.choice((70, 150, 300)), None)])
    attributes = resize_attributes(g, value)
    doubles = g.opset == 10 or (value.dtype not in FLOATS and attributes["mode"] != "nearest")
    spatial = range(2, value.rank)
    roi = empty = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    if g.opset > 10 and not doubles and g.choice.random() < 0.5:
        sizes = [d if i < 2 else g.choice.randint(1, min(2 * d, 24)) for i, d in enumerate(value.shape)]
        return g.node("Resize", [value, roi, empty, g.ints(sizes, 0.3)], **attributes)
    scales = np.ones(value.rank, np.float32)
    for axis in spatial:
        scales[axis] = g.choice.choice((0.5, 2.0) if doubles else SCALES)
    if g.opset == 10:
        return g.node("Resize", [value, g.constant(scales)], **attributes)
    if g.choice.random() < 0.3:
        scales = g.input(F32, ((value.rank, None),), lambda random, shape, scales=scales: scales, "n")
    else:
        scales = g.constant(scales)
    return g.node("Resize", [value, roi, scales], **attributes)


@rule("Upsample")
def upsample(g, op):
    value = g.value([F32], 4, 4, test=lambda v: v.size)
    scales = [1.0, 1.0, g.choice.choice((1.0, 2.0)), g.choice.choice((2.0, 3.0))]
    mode = g.choice.choice(["nearest", "linear"])
    if g.opset >= 9:
        return g.node("Upsample", [value, g.constant(np.asarray(scales, np.float32))], mode=mode)
    return g.node("Upsample", [value], mode=mode, scales=scales)


@rule("GridSample")
def grid_sample(g, op):
    value = g.value([F32], 4, 4, test=lambda v: v.size)
    h, w = g.dim(), g.dim()
    grid = g.leaf(F32, [value.dims[0], h, w, (2, None)], -1.2, 1.2)
    modes = ["linear", "nearest", "cubic"] if g.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    padding = g.choice.choice(["zeros", "border", "reflection"])
    return g.node(
        "GridSample",
        [value, grid],
        mode=g.choice.choice(modes),
        padding_mode=padding,
        align_corners=g.choice.choice((0, 1)),
    )


@rule("AffineGrid")
def affine_grid(g, op):
    n = g.choice.choice((1, 2, 3))
    size = [n, 2, g.choice.choice(g.sizes), g.choice.choice(g.sizes)]
    theta = g.leaf(F32, [(n, None), (2, None), (3, None)], -1, 1)
    # For AffineGrid with align_corners and an image of one pixel, ONNX puts the corner at -1,
    # onnxruntime at the center.
    aligned = 0 if 1 in size[2:] else g.choice.choice((0, 1))
    return g.node("AffineGrid", [theta, g.ints(size, 0)], align_corners=aligned)


@rule("Col2Im")
def col2im(g, op):
    (h, w), (kh, kw) = (
        (g.choice.randint(3, 6), g.choice.randint(3, 6)),
        (g.choice.randint(1, 2), g.choice.randint(1, 3)),
    )
    blocks = (h - kh + 1) * (w - kw + 1)
    value = g.like([(g.choice.choice((1, 2)), None), (g.choice.choice((1, 3)) * kh * kw, None), (blocks, None)], F32)
    return g.node("Col2Im", [value, g.ints([h, w], 0), g.ints([kh, kw], 0)])


@rule("TensorScatter")
def tensor_scatter(g, op):
    batch, length, width = g.choice.choice((1, 2, 3)), g.choice.choice((4, 6)), g.dim()
    past = g.like([(batch, None), (length, None), width], F32)
    steps = g.choice.randint(1, 3)
    update = g.like([(batch, None), (steps, None), width], F32)
    where = g.leaf(I64, [(batch, None)], 0, length - steps)
    return g.node("TensorScatter", [past, update, where], axis=1)

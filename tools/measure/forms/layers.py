# SPDX-License-Identifier: Apache-2.0
"""The forms of each op that exporters write, with the sizes of typical layers, by family."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .form import FLOAT, IMAGE, LONG, TOKENS, Fed, Form, indices, longs, onnx_type, short, weights


def elementwise() -> Iterator[Form]:
    """Yields unary elementwise ops and activations."""
    smooth = "Sigmoid Tanh Exp Erf Gelu HardSigmoid HardSwish Mish Softplus Softsign Elu Selu Celu LeakyRelu Relu ThresholdedRelu Abs Neg"
    for op in (smooth + " Floor Ceil Round Sign Sin Cos Tan Atan Sinh Asinh Sqrt Reciprocal Log Not Identity").split():
        if op == "Not":
            yield Form("elementwise", op, [Fed(np.ones(IMAGE, bool))])
            continue
        if op in ("Sqrt", "Log"):
            yield Form("elementwise", op, [Fed(np.full(IMAGE, 2, FLOAT))])
            continue
        yield Form("elementwise", op, [IMAGE])
    yield Form("elementwise", "Gelu", [IMAGE], {"approximate": "tanh"})
    yield Form("elementwise", "Clip", [IMAGE, np.float32(0), np.float32(6)])
    yield Form("elementwise", "PRelu", [IMAGE, weights(64, 1, 1)])
    yield Form("elementwise", "IsNaN", [IMAGE])
    yield Form("elementwise", "Relu", [TOKENS])
    yield Form("elementwise", "Sigmoid", [(64,)])
    kind: type
    for kind in (np.float16, np.float64, np.int32, np.int8, np.uint8):
        yield Form("types", "Cast", [Fed(np.ones(IMAGE, FLOAT))], {"to": onnx_type(kind)})
        yield Form(
            "types", "Cast", [Fed(np.ones(IMAGE, kind))], {"to": onnx_type(FLOAT)}, note=f"from {np.dtype(kind).name}"
        )
    yield Form("types", "Cast", [Fed(np.ones(IMAGE, LONG))], {"to": onnx_type(np.int32)}, note="from int64")
    yield Form("types", "Cast", [Fed(np.ones(IMAGE, bool))], {"to": onnx_type(FLOAT)}, note="from bool")
    for kind, op in itertools.product((np.float64, np.int32, LONG), ("Add", "Mul", "Div", "Less", "Max")):
        yield Form("types", op, [Fed(np.ones(IMAGE, kind)), Fed(np.full(IMAGE, 3, kind))], note=np.dtype(kind).name)
    for op in ("Relu", "Sigmoid", "Exp", "Tanh"):
        yield Form("types", op, [Fed(np.ones(IMAGE, np.float16))], note="float16")


def broadcasts() -> Iterator[Form]:
    """Yields binary ops with broadcast operands."""
    pairs = [
        (IMAGE, IMAGE),
        (IMAGE, (1, 64, 1, 1)),
        (IMAGE, (64, 1, 1)),
        (IMAGE, (56,)),
        (IMAGE, (56, 56)),
        (IMAGE, (1,)),
        (TOKENS, (768,)),
        (TOKENS, (1, 128, 1)),
        ((256, 1), (1, 512)),
        ((12, 128, 128), (1, 1, 128)),
        ((4, 64, 28, 28), (4, 64, 1, 1)),
        ((4, 3, 224, 224), (3, 1, 1)),
    ]
    for a, b in pairs:
        yield Form("broadcasts", "Add", [a, b])
    for op in ("Sub", "Mul", "Div", "Max", "Min"):
        yield Form("broadcasts", op, [IMAGE, IMAGE])
        yield Form("broadcasts", op, [TOKENS, (1, 128, 1)])
    for op in ("Equal", "Greater", "LessOrEqual"):
        yield Form("broadcasts", op, [IMAGE, (1, 64, 1, 1)])
    for op in ("And", "Or", "Xor"):
        yield Form("broadcasts", op, [Fed(np.ones(IMAGE, bool)), Fed(np.ones(IMAGE, bool))])
    yield Form("broadcasts", "Pow", [IMAGE, np.float32(2)], note="square")
    yield Form("broadcasts", "Pow", [Fed(np.full(IMAGE, 1.5, FLOAT)), np.float32(0.3)], note="of 0.3")
    yield Form("broadcasts", "Pow", [Fed(np.full(IMAGE, 1.5, FLOAT)), IMAGE])
    yield Form("broadcasts", "Mod", [Fed(np.ones(IMAGE, FLOAT)), Fed(np.full(IMAGE, 3, FLOAT))], {"fmod": 1})
    yield Form("broadcasts", "Where", [Fed(np.ones(IMAGE, bool)), IMAGE, IMAGE])
    yield Form("broadcasts", "Where", [Fed(np.ones((1, 1, 128, 128), bool)), (1, 12, 128, 128), weights(1)])
    yield Form("broadcasts", "Sum", [IMAGE, IMAGE, IMAGE])
    yield Form("broadcasts", "Mean", [IMAGE, IMAGE, IMAGE])


def reductions() -> Iterator[Form]:
    """Yields reductions over inner, outer and all dims."""
    shapes = [
        (TOKENS, (-1,)),
        (TOKENS, (1,)),
        (TOKENS, (1, 2)),
        (IMAGE, (2, 3)),
        (IMAGE, (1,)),
        (IMAGE, (0, 2, 3)),
        ((4096, 7), (1,)),
        ((4096, 16), (1,)),
        ((65536, 3), (1,)),
        ((7, 4096), (0,)),
        ((16, 64, 512), (1,)),
        ((1, 200704), (1,)),
        ((64, 64, 7, 7), (2, 3)),
        ((32, 32, 32, 8), (0, 2)),
    ]
    for shape, axes in shapes:
        yield Form("reductions", "ReduceSum", [shape, longs(*axes)], {"keepdims": 0}, note=f"axes {short(axes)}")
        yield Form("reductions", "ReduceMax", [shape, longs(*axes)], {"keepdims": 0}, note=f"axes {short(axes)}")
    for op in "ReduceMean ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp".split():
        for shape, axes in shapes[:5:2]:
            value = Fed(np.full(shape, 1.001, FLOAT))
            yield Form("reductions", op, [value, longs(*axes)], {"keepdims": 1}, note=f"axes {short(axes)}")
    for op in ("ArgMax", "ArgMin"):
        for shape, axis in ((TOKENS, -1), (TOKENS, 1), (IMAGE, 1), ((4096, 10), 1)):
            yield Form("reductions", op, [shape], {"axis": axis})
    for shape, axis in ((TOKENS, 2), (TOKENS, 1), ((1, 200704), 1), ((4096, 16), 1)):
        yield Form("reductions", "CumSum", [shape, np.array(axis, LONG)], note=f"axis {axis}")
    for shape, k in (((64, 1000), 5), ((1, 32000), 40), ((512, 128), 8)):
        yield Form("reductions", "TopK", [shape, longs(k)], {"axis": -1}, note=f"k {k}", outputs=2)


def normalizations() -> Iterator[Form]:
    """Yields softmaxes and normalizations."""
    for op in ("Softmax", "LogSoftmax"):
        for shape, axis in (
            ((12, 128, 128), -1),
            ((64, 1000), -1),
            ((1, 21, 64, 64), 1),
            ((4096, 7), 1),
            ((8, 64, 64), 1),
            ((1, 32000), -1),
        ):
            yield Form("normalizations", op, [shape], {"axis": axis})
    yield Form("normalizations", "Hardmax", [(64, 1000)], {"axis": -1})
    for shape in (TOKENS, (1, 3136, 96), (64, 1024), (4096, 32)):
        width = shape[-1]
        yield Form("normalizations", "LayerNormalization", [shape, weights(width), weights(width)], {"axis": -1})
        yield Form("normalizations", "RMSNormalization", [shape, weights(width)], {"axis": -1}, opset=23)
    for shape in (IMAGE, (4, 256, 14, 14)):
        channels = shape[1]
        scale = weights(channels)
        yield Form("normalizations", "BatchNormalization", [shape, scale, scale, scale, np.ones(channels, FLOAT)])
        yield Form("normalizations", "InstanceNormalization", [shape, scale, scale])
        for groups in (8, 32):
            yield Form("normalizations", "GroupNormalization", [shape, scale, scale], {"num_groups": groups})
        yield Form("normalizations", "LRN", [shape], {"size": 5})
        yield Form("normalizations", "MeanVarianceNormalization", [shape], {"axes": [0, 2, 3]})
        yield Form("normalizations", "LpNormalization", [shape], {"axis": 1, "p": 2})
    yield Form("normalizations", "LpNormalization", [TOKENS], {"axis": -1, "p": 2})
    yield Form(
        "normalizations", "GroupNormalization", [(1, 320, 32, 32), weights(320), weights(320)], {"num_groups": 32}
    )


def pools() -> Iterator[Form]:
    """Yields pooling ops."""
    for op in ("MaxPool", "AveragePool", "LpPool"):
        for shape, kernel, stride, pad in (
            ((1, 64, 112, 112), 3, 2, 1),
            (IMAGE, 2, 2, 0),
            (IMAGE, 3, 1, 1),
            ((1, 256, 13, 13), 5, 1, 2),
            ((8, 32, 28, 28), 2, 2, 0),
        ):
            yield Form("pools", op, [shape], {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4})
        yield Form("pools", op, [(1, 64, 4096)], {"kernel_shape": [4], "strides": [4]})
        yield Form("pools", op, [(1, 16, 16, 32, 32)], {"kernel_shape": [2] * 3, "strides": [2] * 3})
    yield Form("pools", "MaxPool", [IMAGE], {"kernel_shape": [3, 3], "dilations": [2, 2], "pads": [2] * 4})
    yield Form("pools", "MaxPool", [IMAGE], {"kernel_shape": [2, 2], "strides": [2, 2]}, note="with indices", outputs=2)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        for shape in (IMAGE, (1, 2048, 7, 7), (8, 64, 14, 14)):
            yield Form("pools", op, [shape])
    generator = np.random.default_rng(3)
    corners = np.sort(generator.uniform(0, 50, (32, 2, 2)), 1).reshape(32, 4).astype(FLOAT)
    rois = np.concatenate([np.zeros((32, 1), FLOAT), corners], 1)
    yield Form("pools", "MaxRoiPool", [IMAGE, Fed(rois)], {"pooled_shape": [7, 7]})
    for mode in ("avg", "max"):
        attributes = {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "mode": mode}
        yield Form("pools", "RoiAlign", [IMAGE, Fed(corners), Fed(np.zeros(32, LONG))], attributes)


def convolutions() -> Iterator[Form]:
    """Yields dense, grouped and depthwise convolutions."""
    # Tuples (batch size, input channels, output channels, spatial size, kernel size, stride,
    # dilation, padding, groups).
    cases = [
        (1, 3, 64, (224, 224), 7, 2, 1, 3, 1),
        (1, 3, 32, (224, 224), 3, 2, 1, 1, 1),
        (1, 64, 64, (56, 56), 3, 1, 1, 1, 1),
        (1, 128, 128, (28, 28), 3, 1, 1, 1, 1),
        (1, 256, 256, (14, 14), 3, 1, 1, 1, 1),
        (1, 512, 512, (7, 7), 3, 1, 1, 1, 1),
        (1, 64, 128, (56, 56), 3, 2, 1, 1, 1),
        (1, 16, 16, (128, 128), 3, 1, 1, 1, 1),
        (1, 128, 128, (28, 28), 5, 1, 1, 2, 1),
        (8, 64, 64, (14, 14), 3, 1, 1, 1, 1),
        (1, 64, 256, (56, 56), 1, 1, 1, 0, 1),
        (1, 256, 64, (56, 56), 1, 1, 1, 0, 1),
        (1, 512, 128, (28, 28), 1, 1, 1, 0, 1),
        (1, 1024, 256, (14, 14), 1, 1, 1, 0, 1),
        (1, 256, 512, (56, 56), 1, 2, 1, 0, 1),
        (1, 16, 96, (112, 112), 1, 1, 1, 0, 1),
        (1, 96, 24, (56, 56), 1, 1, 1, 0, 1),
        (1, 960, 160, (7, 7), 1, 1, 1, 0, 1),
        (1, 64, 2, (128, 128), 1, 1, 1, 0, 1),
        (4, 128, 128, (14, 14), 1, 1, 1, 0, 1),
        (1, 32, 32, (112, 112), 3, 1, 1, 1, 32),
        (1, 96, 96, (112, 112), 3, 2, 1, 1, 96),
        (1, 144, 144, (56, 56), 3, 1, 1, 1, 144),
        (1, 240, 240, (28, 28), 5, 1, 1, 2, 240),
        (1, 480, 480, (14, 14), 3, 1, 1, 1, 480),
        (1, 672, 672, (14, 14), 5, 2, 1, 2, 672),
        (1, 960, 960, (7, 7), 5, 1, 1, 2, 960),
        (1, 96, 96, (56, 56), 7, 1, 1, 3, 96),
        (1, 64, 128, (56, 56), 3, 1, 1, 1, 64),
        (1, 64, 64, (56, 56), 3, 1, 2, 2, 64),
        (1, 64, 64, (56, 56), 3, 1, 1, 1, 16),
        (1, 128, 128, (56, 56), 3, 1, 1, 1, 32),
        (1, 128, 128, (28, 28), 3, 1, 1, 1, 2),
        (1, 64, 64, (56, 56), 3, 1, 2, 2, 1),
        (1, 256, 256, (28, 28), 3, 1, 12, 12, 1),
        (1, 80, 384, (1500,), 3, 1, 1, 1, 1),
        (1, 384, 384, (1500,), 3, 2, 1, 1, 1),
        (1, 256, 256, (400,), 31, 1, 1, 15, 256),
        (1, 256, 512, (400,), 1, 1, 1, 0, 1),
        (1, 16, 32, (16, 28, 28), 3, 1, 1, 1, 1),
        (1, 32, 32, (8, 28, 28), 3, 1, 1, 1, 32),
        (1, 32, 64, (8, 28, 28), 1, 1, 1, 0, 1),
    ]
    for batch, channels, features, size, kernel, stride, dilation, pads, groups in cases:
        rank = len(size)
        attributes = {"strides": [stride] * rank, "pads": [pads] * 2 * rank, "group": groups}
        if dilation > 1:
            attributes["dilations"] = [dilation] * rank
        family = "convolutions"
        if kernel == 1:
            family = "1x1 convolutions"
        elif groups == channels:
            family = "depthwise"
        kernels = weights(features, channels // groups, *[kernel] * rank)
        yield Form(family, "Conv", [(batch, channels, *size), kernels, weights(features)], attributes)
    yield Form("convolutions", "Conv", [(1, 64, 28, 28), (64, 64, 3, 3)], {"pads": [1] * 4}, note="dynamic weights")
    yield Form("1x1 convolutions", "Conv", [(1, 64, 28, 28), (64, 64, 1, 1)], note="dynamic weights")


def transposed_convolutions() -> Iterator[Form]:
    """Yields transposed convolutions."""
    # Tuples (batch size, input channels, output channels, spatial size, kernel size, stride,
    # dilation, padding, groups, output padding).
    cases = [
        (1, 64, 32, (56, 56), 2, 2, 1, 0, 1, 0),
        (1, 256, 128, (28, 28), 2, 2, 1, 0, 1, 0),
        (1, 64, 32, (56, 56), 3, 2, 1, 1, 1, 1),
        (1, 128, 64, (28, 28), 4, 2, 1, 1, 1, 0),
        (1, 64, 3, (56, 56), 4, 2, 1, 1, 1, 0),
        (1, 64, 64, (28, 28), 3, 1, 1, 1, 1, 0),
        (1, 64, 64, (28, 28), 3, 3, 2, 0, 1, 0),
        (1, 64, 64, (28, 28), 2, 3, 1, 0, 1, 0),
        (4, 256, 128, (14, 14), 3, 2, 1, 1, 1, 1),
        (1, 64, 64, (56, 56), 3, 2, 1, 1, 64, 1),
        (1, 128, 128, (28, 28), 4, 2, 1, 1, 128, 0),
        (1, 64, 64, (28, 28), 3, 2, 1, 1, 4, 1),
        (1, 256, 128, (100,), 16, 8, 1, 4, 1, 0),
        (1, 64, 64, (128,), 4, 2, 1, 1, 1, 0),
        (1, 16, 16, (8, 14, 14), 2, 2, 1, 0, 1, 0),
    ]
    for batch, channels, features, size, kernel, stride, dilation, pads, groups, more in cases:
        rank = len(size)
        attributes = {"strides": [stride] * rank, "pads": [pads] * 2 * rank, "group": groups}
        if dilation > 1:
            attributes["dilations"] = [dilation] * rank
        if more:
            attributes["output_padding"] = [more] * rank
        kernels = weights(channels, features // groups, *[kernel] * rank)
        inputs = [(batch, channels, *size), kernels, weights(features)]
        yield Form("transposed convolutions", "ConvTranspose", inputs, attributes)


def products() -> Iterator[Form]:
    """Yields GEMMs, GEMVs and batched matmuls."""
    for rows, depth, columns in (
        (1, 768, 768),
        (1, 4096, 1024),
        (4, 768, 768),
        (16, 512, 512),
        (128, 768, 768),
        (128, 768, 3072),
        (128, 3072, 768),
        (196, 64, 1000),
        (1500, 64, 1500),
        (512, 512, 512),
        (1000, 100, 10),
        (4096, 64, 2),
        (100, 7, 100),
        (3136, 96, 384),
    ):
        yield Form("GEMMs with weights", "MatMul", [(rows, depth), weights(depth, columns)], note="weights")
        yield Form("GEMMs of activations", "MatMul", [(rows, depth), (depth, columns)])
    for rows, depth, columns in ((128, 768, 768), (512, 512, 512), (1, 768, 768), (64, 64, 1000)):
        for a, b in itertools.product((0, 1), (0, 1)):
            inputs: list[Any] = [(depth, rows) if a else (rows, depth), (columns, depth) if b else (depth, columns)]
            inputs.append((columns,))
            yield Form("GEMMs of activations", "Gemm", inputs, {"transA": a, "transB": b})
        inputs = [(rows, depth), weights(columns, depth), weights(columns)]
        yield Form("GEMMs with weights", "Gemm", inputs, {"transB": 1}, note="weights")
    left: tuple[int, ...]
    right: tuple[int, ...]
    for left, right in (
        ((12, 128, 64), (12, 64, 128)),
        ((12, 128, 128), (12, 128, 64)),
        ((8, 1, 64), (8, 64, 512)),
        ((64, 49, 32), (64, 32, 49)),
        ((1, 12, 197, 64), (1, 12, 64, 197)),
        ((32, 4, 4), (32, 4, 4)),
        ((1, 128, 768), (768,)),
        ((256, 16, 16), (256, 16, 16)),
        ((16, 64, 64), (64, 64)),
    ):
        yield Form("GEMMs of activations", "MatMul", [left, right])
    for equation, left, right in (
        ("bhid,bhjd->bhij", (1, 12, 128, 64), (1, 12, 128, 64)),
        ("bhij,bhjd->bhid", (1, 12, 128, 128), (1, 12, 128, 64)),
        ("bid,bjd->bij", (4, 128, 64), (4, 128, 64)),
        ("nctkv,kvw->nctw", (1, 16, 32, 3, 25), (3, 25, 25)),
        ("ij,jk->ik", (256, 256), (256, 256)),
        ("ij,kj->ik", (256, 256), (256, 256)),
        ("bqhd,bkhd->bhqk", (1, 128, 12, 64), (1, 128, 12, 64)),
        ("bi,bi->b", (256, 512), (256, 512)),
    ):
        yield Form("GEMMs of activations", "Einsum", [left, right], {"equation": equation})


def moves() -> Iterator[Form]:
    """Yields indexing ops: transposes, slices, concats, pads and others."""
    shape: tuple[int, ...]
    repeats: tuple[int, ...]
    wanted: tuple[int, ...]
    for shape, perm in (
        (IMAGE, (0, 2, 3, 1)),
        ((1, 56, 56, 64), (0, 3, 1, 2)),
        ((512, 512), (1, 0)),
        ((1, 128, 12, 64), (0, 2, 1, 3)),
        ((1, 12, 128, 64), (0, 1, 3, 2)),
        ((64, 3, 49, 32), (1, 0, 3, 2)),
        ((8, 3, 64, 64), (0, 2, 3, 1)),
        ((1, 64, 64, 3), (0, 3, 1, 2)),
        ((1, 2, 32, 56, 56), (0, 2, 1, 3, 4)),
        ((1, 8, 7, 8, 7, 96), (0, 1, 3, 2, 4, 5)),
        ((100, 200, 10), (2, 1, 0)),
    ):
        yield Form("data movement", "Transpose", [shape], {"perm": list(perm)})
    for shape, axis, count in (
        (IMAGE, 1, 2),
        ((1, 64, 28, 28), 1, 4),
        (TOKENS, 2, 2),
        (TOKENS, 1, 3),
        ((1, 8, 255, 64), 2, 2),
        ((4096, 3), 1, 3),
    ):
        yield Form("data movement", "Concat", [shape] * count, {"axis": axis})
    yield Form("data movement", "Concat", [(1, 8, 255, 64), (1, 8, 1, 64)], {"axis": 2}, note="one more row of a cache")
    for shape, axis, count in ((IMAGE, 1, 2), ((1, 128, 2304), 2, 3), (TOKENS, 1, 4), ((4096, 4), 1, 4)):
        yield Form("data movement", "Split", [shape], {"axis": axis, "num_outputs": count}, outputs=count)
    for shape, starts, ends, axes, steps in (
        (IMAGE, (0,), (32,), (1,), (1,)),
        (IMAGE, (1, 1), (55, 55), (2, 3), (1, 1)),
        (IMAGE, (0, 0), (56, 56), (2, 3), (2, 2)),
        (TOKENS, (0,), (64,), (1,), (1,)),
        (TOKENS, (-1,), (-(2**31),), (1,), (-1,)),
        (TOKENS, (-1,), (-(2**31),), (2,), (-1,)),
        (TOKENS, (0,), (384,), (2,), (1,)),
        (TOKENS, (0,), (768,), (2,), (2,)),
    ):
        inputs = [shape, longs(*starts), longs(*ends), longs(*axes), longs(*steps)]
        yield Form("data movement", "Slice", inputs, note=f"{starts} to {ends} axes {axes} steps {steps}")
    for mode in ("constant", "edge", "reflect", "wrap"):
        for shape, pads in (
            (IMAGE, (0, 0, 1, 1, 0, 0, 1, 1)),
            ((1, 3, 224, 224), (0, 0, 3, 3, 0, 0, 3, 3)),
            ((1, 80, 1500), (0, 0, 8, 0, 0, 8)),
            (TOKENS, (0, 2, 0, 0, 0, 0)),
        ):
            yield Form("padding", "Pad", [shape, longs(*pads)], {"mode": mode}, note=f"pads {short(pads)}")
    for shape, repeats in (
        ((1, 64, 56, 1), (1, 1, 1, 56)),
        (TOKENS, (4, 1, 1)),
        ((128, 1), (1, 512)),
        ((64, 3), (1, 100)),
    ):
        yield Form("data movement", "Tile", [shape, longs(*repeats)], note=f"by {short(repeats)}")
    for shape, wanted in (
        ((1, 64, 1, 1), (1, 64, 56, 56)),
        ((1, 8, 1, 256, 64), (1, 8, 4, 256, 64)),
        ((768,), (128, 768)),
        ((128, 1), (128, 768)),
        ((1, 1, 128, 128), (1, 12, 128, 128)),
    ):
        yield Form("data movement", "Expand", [shape, longs(*wanted)], note=f"to {short(wanted)}")
    for blocks, mode in itertools.product((2, 4), ("DCR", "CRD")):
        yield Form("data movement", "DepthToSpace", [(1, 64, 56, 56)], {"blocksize": blocks, "mode": mode})
    yield Form("data movement", "SpaceToDepth", [(1, 16, 112, 112)], {"blocksize": 2})
    yield Form("data movement", "Reshape", [IMAGE, longs(1, 64, -1)])
    yield Form("data movement", "Flatten", [IMAGE])
    for upper in (0, 1):
        yield Form("data movement", "Trilu", [(12, 128, 128)], {"upper": upper})
    lengths = Fed(np.arange(1, 17, dtype=LONG) * 8)
    yield Form("data movement", "ReverseSequence", [(128, 16, 64), lengths], {"time_axis": 0})
    yield Form("data movement", "CenterCropPad", [IMAGE, longs(48, 64)], {"axes": [2, 3]})
    yield Form("data movement", "Col2Im", [(1, 576, 3136), longs(56, 56), longs(3, 3)], {"pads": [1] * 4})


def gathers() -> Iterator[Form]:
    """Yields gathers and scatters."""
    yield Form("gathers", "Gather", [weights(30522, 768), indices(30522, 1, 128)], {"axis": 0}, note="embedding")
    yield Form("gathers", "Gather", [(1000, 64), indices(1000, 512)], {"axis": 0})
    yield Form("gathers", "Gather", [(4, 64, 512), indices(64, 32)], {"axis": 1})
    yield Form("gathers", "Gather", [(256, 512), indices(512, 64)], {"axis": 1})
    yield Form("gathers", "Gather", [TOKENS, np.array(0)], {"axis": 1}, note="one token")
    yield Form("gathers", "GatherElements", [(128, 768), indices(128, 128, 768)], {"axis": 0})
    yield Form("gathers", "GatherElements", [(128, 768), indices(768, 128, 768)], {"axis": 1})
    yield Form("gathers", "GatherND", [(64, 64, 128), indices(64, 512, 2)])
    yield Form("gathers", "GatherND", [(512, 512), indices(512, 4096, 2)])
    for how in ("none", "add", "max"):
        yield Form("gathers", "ScatterElements", [(512, 128), indices(512, 256, 128), (256, 128)], {"reduction": how})
        yield Form("gathers", "ScatterND", [(512, 128), indices(512, 256, 1), (256, 128)], {"reduction": how})
    yield Form("gathers", "OneHot", [indices(64, 1024), np.array(64), np.array([0, 1], FLOAT)], {"axis": -1})
    yield Form("gathers", "NonZero", [(256, 512)])
    yield Form("gathers", "Compress", [(512, 256), Fed(np.arange(512) % 3 == 0)], {"axis": 0})
    yield Form("gathers", "Unique", [indices(1000, 8192)], note="of integers")


def resizes() -> Iterator[Form]:
    """Yields resizes by mode and coordinate transformation."""
    none = np.array([], FLOAT)
    for mode, how, anti in (
        ("nearest", "asymmetric", 0),
        ("nearest", "half_pixel", 0),
        ("linear", "half_pixel", 0),
        ("linear", "align_corners", 0),
        ("linear", "asymmetric", 0),
        ("linear", "half_pixel", 1),
        ("cubic", "half_pixel", 0),
        ("cubic", "half_pixel", 1),
    ):
        for shape, scale in (((1, 64, 28, 28), 2.0), ((1, 3, 224, 224), 0.5), ((1, 32, 40, 40), 1.6)):
            scales = np.array([1, 1, scale, scale], FLOAT)
            attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how}
            if anti:
                attributes["antialias"] = 1
            if how == "asymmetric" and mode == "nearest":
                attributes["nearest_mode"] = "floor"
            yield Form("resizes", "Resize", [shape, none, scales], attributes, note=f"by {scale}")
    grid = np.random.default_rng(4).uniform(-1, 1, (1, 28, 28, 2)).astype(FLOAT)
    for mode, borders in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection")):
        yield Form("resizes", "GridSample", [(1, 64, 28, 28), Fed(grid)], {"mode": mode, "padding_mode": borders})
    theta = Fed(np.array([[[1, 0.1, 0], [0.1, 1, 0]]], FLOAT))
    yield Form("resizes", "AffineGrid", [theta, longs(1, 3, 112, 112)])


def recurrences() -> Iterator[Form]:
    """Yields LSTMs, GRUs and RNNs."""
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, size, hidden, both in (
            (50, 1, 256, 256, 0),
            (20, 1, 512, 512, 0),
            (50, 8, 128, 128, 0),
            (50, 1, 128, 128, 1),
            (1, 1, 256, 256, 0),
        ):
            ways = 1 + both
            inputs = [(steps, batch, size), weights(ways, gates * hidden, size), weights(ways, gates * hidden, hidden)]
            inputs.append(weights(ways, 2 * gates * hidden))
            attributes = {"hidden_size": hidden, "direction": "bidirectional" if both else "forward"}
            if op == "GRU":
                attributes["linear_before_reset"] = 1
            yield Form("recurrences", op, inputs, attributes)


def attentions() -> Iterator[Form]:
    """Yields attention ops."""
    for heads, rows, keys, size in (
        (12, 128, 128, 64),
        (12, 197, 197, 64),
        (6, 1500, 1500, 64),
        (16, 64, 64, 32),
        (8, 1, 512, 64),
    ):
        shapes = [(1, heads, rows, size), (1, heads, keys, size), (1, heads, keys, size)]
        yield Form("attention", "Attention", shapes, {}, opset=23)
        if rows == keys and rows <= 256:
            yield Form("attention", "Attention", shapes, {"is_causal": 1}, opset=23)
    table = weights(256, 32)
    places = Fed(np.arange(128, dtype=LONG)[None])
    yield Form("attention", "RotaryEmbedding", [(1, 12, 128, 64), table, table, places], opset=23)
    yield Form("attention", "RotaryEmbedding", [(1, 12, 128, 64), table, table, places], {"interleaved": 1}, opset=23)


def quantized() -> Iterator[Form]:
    """Yields quantization ops and ops on integers."""
    scale, zero = np.array(0.05, FLOAT), np.array(128, np.uint8)
    for shape in (IMAGE, TOKENS):
        byte = Fed(np.full(shape, 100, np.uint8))
        yield Form("quantized", "QuantizeLinear", [shape, scale, zero])
        yield Form("quantized", "DequantizeLinear", [byte, scale, zero])
        yield Form("quantized", "DynamicQuantizeLinear", [shape], outputs=3)
    many = np.full(64, 0.05, FLOAT)
    yield Form("quantized", "QuantizeLinear", [IMAGE, many, np.zeros(64, np.int8)], {"axis": 1}, note="by channel")
    yield Form("quantized", "DequantizeLinear", [Fed(np.ones(IMAGE, np.int8)), many], {"axis": 1}, note="by channel")
    signed = np.random.default_rng(5).integers(-100, 100, (768, 768)).astype(np.int8)
    for rows in (1, 128):
        byte = Fed(np.full((rows, 768), 100, np.uint8))
        yield Form("quantized", "MatMulInteger", [byte, signed, zero, np.array(0, np.int8)])
        inputs = [byte, scale, zero, signed, np.full(768, 0.01, FLOAT), np.zeros(768, np.int8), scale, zero]
        yield Form("quantized", "QLinearMatMul", inputs)
    for channels, features, size, kernel, groups in (
        (64, 64, 56, 3, 1),
        (64, 256, 56, 1, 1),
        (256, 64, 56, 1, 1),
        (256, 256, 14, 3, 1),
        (144, 144, 56, 3, 144),
        (3, 64, 224, 7, 1),
    ):
        byte = Fed(np.full((1, channels, size, size), 100, np.uint8))
        shape = (features, channels // groups, kernel, kernel)
        kernels = np.random.default_rng(6).integers(-100, 100, shape).astype(np.int8)
        factors, zeros = np.full(features, 0.01, FLOAT), np.zeros(features, np.int8)
        inputs = [byte, scale, zero, kernels, factors, zeros, scale, zero, np.ones(features, np.int32)]
        attributes = {"pads": [kernel // 2] * 4, "group": groups, "strides": [2, 2] if kernel == 7 else [1, 1]}
        yield Form("quantized", "QLinearConv", inputs, attributes)
    byte = Fed(np.full((1, 64, 28, 28), 100, np.uint8))
    kernels = np.random.default_rng(6).integers(-100, 100, (64, 64, 3, 3)).astype(np.int8)
    yield Form("quantized", "ConvInteger", [byte, kernels, zero], {"pads": [1] * 4})


def signals() -> Iterator[Form]:
    """Yields Fourier transforms and other signal processing ops."""
    for rows, length in ((64, 512), (16, 1024), (64, 768)):
        yield Form("signals", "DFT", [(rows, length, 1), None, np.array(1, LONG)], {"onesided": 1}, opset=20)
    for length in (512, 2048, 16384, 1009, 4001):
        inputs = [(1, length, 1), None, np.array(1, LONG)]
        yield Form("signals", "DFT", inputs, opset=20, dynamic=True)
        if length in (1009, 4001):
            yield Form("signals", "DFT", inputs, opset=20)
    yield Form("signals", "DFT", [(64, 1024, 2), None, np.array(1, LONG)], {"inverse": 1}, opset=20, dynamic=True)
    window = np.hanning(400).astype(FLOAT)
    yield Form("signals", "STFT", [(1, 16000), np.array(160, LONG), window], {"onesided": 1})


FAMILIES = (
    elementwise,
    broadcasts,
    reductions,
    normalizations,
    pools,
    convolutions,
    transposed_convolutions,
    products,
    moves,
    gathers,
    resizes,
    recurrences,
    attentions,
    quantized,
    signals,
)

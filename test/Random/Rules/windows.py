# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools."""

import numpy as np
from records import BF16, F16, F32, I64

from Rules import MICROSOFT, rule


def picture(g, types=(F32,), least=1, channels=None):
    """Returns a value of [batch, channels, one to three spatial dims] with constant spatial
    dims."""
    found = None
    if channels is None and g.choice.random() < 0.5:
        found = g.find(
            lambda v: (
                v.dtype in types and 3 <= v.rank <= 5 and v.size and not any(v.labels[1:]) and min(v.shape[2:]) >= least
            )
        )
    if found is not None:
        return found
    rank = g.choice.choice((1, 2, 2, 2, 3))
    spatial = [(max(least, g.choice.choice(g.sizes)), None) for _ in range(rank)]
    while np.prod([d for d, _ in spatial]) > 600:
        spatial[g.choice.randrange(rank)] = (least + 1, None)
    count = channels or g.choice.choice((1, 2, 3, 4, 8))
    return g.like([g.dim() if g.choice.random() < 0.4 else (1, None), (count, None), *spatial], g.choice.choice(types))


def reaching(g, value):
    """Draws attributes of a window that may be larger than the image, if the padding is large
    enough. The kernel is long in one dim."""
    rank = value.rank - 2
    kernel = [g.choice.randint(1, 3) for _ in range(rank)]
    kernel[g.choice.randrange(rank)] = g.choice.randint(4, 16)
    dilations = [g.choice.choice((1, 1, 2)) for _ in range(rank)]
    lacks = [max(0, (k - 1) * d + 1 - n) for k, d, n in zip(kernel, dilations, value.shape[2:])]
    low = [g.choice.randint(0, n + g.choice.choice((0, 2, 20))) for n in lacks]
    high = [max(0, n - b) + g.choice.randint(0, 3) for n, b in zip(lacks, low)]
    strides = [g.choice.choice((1, 1, 2, 3)) for _ in range(rank)]
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": low + high}


def window(g, value, dilate=True):
    """Draws attributes of a window that is not larger than the image."""
    rank = value.rank - 2
    kernel, dilations = [], []
    for size in value.shape[2:]:
        kernel.append(g.choice.randint(1, min(3, size)))
        dilations.append(g.choice.randint(1, 2) if dilate and (kernel[-1] - 1) * 2 + 1 <= size else 1)
    strides = [g.choice.choice((1, 1, 2)) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, "strides": strides}
    if dilate and max(dilations) > 1:
        attributes["dilations"] = dilations
    roll = g.choice.random()
    if roll < 0.4:
        attributes["pads"] = [g.choice.randint(0, k - 1) for k in kernel * 2]
    elif roll < 0.55 and max(dilations) == 1 and all(k >= s for k, s in zip(kernel, strides)):
        # With strides larger than the window, SAME gives negative pads. TensorFlow and
        # onnxruntime's Conv treat them as 0, and onnxruntime's pools report an error.
        attributes["auto_pad"] = g.choice.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    return attributes


def types_of(g):
    return [t for t in (F32, F16, BF16) if t in g.root.palette] or [F32]


@rule("Conv")
def conv(g, op):
    value = picture(g, [t for t in types_of(g) if t in op.types()] or [F32])
    attributes, count = (reaching if g.choice.random() < 0.2 else window)(g, value), value.shape[1]
    group = g.choice.choice([1, 1, count] + [d for d in (2, 4) if count % d == 0])
    results = group * g.choice.choice((1, 2, 3, 4))
    weights = g.leaf(
        value.dtype, [(n, None) for n in (results, count // group, *attributes["kernel_shape"])], -1, 1, 0.7
    )
    bias = [g.leaf(value.dtype, [(results, None)], -1, 1, 0.7)] if g.choice.random() < 0.5 else []
    return g.node("Conv", [value, weights, *bias], group=group, **attributes)


@rule(f"{MICROSOFT}.FusedConv")
def fused_conv(g, op):
    value = picture(g)
    attributes = window(g, value)
    weights = g.leaf(F32, [(n, None) for n in (4, value.shape[1], *attributes["kernel_shape"])], -1, 1, 1)
    return g.node(
        op.name,
        [value, weights],
        domain=op.domain,
        activation=g.choice.choice(["Relu", "Sigmoid", "Tanh"]),
        **attributes,
    )


@rule("ConvTranspose")
def conv_transpose(g, op):
    value = picture(g)
    attributes, count = window(g, value, dilate=False), value.shape[1]
    if attributes.pop("auto_pad", None) and g.choice.random() < 0.5:
        attributes["auto_pad"] = "VALID"
    group = g.choice.choice([1, 1, count])
    weights = g.leaf(
        F32, [(n, None) for n in (count, g.choice.choice((1, 2, 3)), *attributes["kernel_shape"])], -1, 1, 0.7
    )
    attributes["pads"] = [min(p, 1) for p in attributes.get("pads", [])] or None
    if "auto_pad" in attributes:
        attributes["pads"] = None
    if g.choice.random() < 0.3:
        attributes["output_padding"] = [s - 1 for s in attributes["strides"]]
    return g.node("ConvTranspose", [value, weights], group=group, **attributes)


@rule("DeformConv")
def deform_conv(g, op):
    h, w, count, k = g.choice.randint(3, 6), g.choice.randint(3, 6), g.choice.choice((1, 2)), g.choice.choice((1, 2))
    value = g.like([(1, None), (count, None), (h, None), (w, None)], F32)
    weights = g.leaf(F32, [(2, None), (count, None), (k, None), (k, None)], -1, 1)
    offsets = g.leaf(F32, [(1, None), (2 * k * k, None), (h - k + 1, None), (w - k + 1, None)], -1, 1)
    return g.node("DeformConv", [value, weights, offsets], kernel_shape=[k, k], pads=[0, 0, 0, 0])


@rule("AveragePool", "MaxPool", "LpPool")
def pool(g, op):
    value = picture(g, [t for t in types_of(g) if t in op.types() and t != BF16] or [F32])
    dilate = g.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op.name]
    attributes = window(g, value, dilate)
    if op.name != "LpPool" and g.opset >= 10 and g.choice.random() < 0.3 and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op.name == "AveragePool" and g.choice.random() < 0.5:
        attributes["count_include_pad"] = 1
    if op.name == "LpPool":
        attributes["p"] = g.choice.choice((1, 2))
    if op.name == "MaxPool" and g.choice.random() < 0.3 and g.opset >= 8:
        return g.node("MaxPool", [value], outputs=2, **attributes)
    return g.node(op.name, [value], **attributes)


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, op):
    return g.node(op.name, [picture(g, [t for t in types_of(g) if t in op.types() and t != BF16] or [F32])])


@rule("MaxUnpool")
def max_unpool(g, op):
    value = g.like([(1, None), (g.choice.choice((1, 2)), None), (4, None), (6, None)], F32)
    pooled, where = g.node("MaxPool", [value], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    return g.node("MaxUnpool", [pooled, where], kernel_shape=[2, 2], strides=[2, 2])


@rule("MaxRoiPool", "RoiAlign")
def roi(g, op):
    value = g.like([(2, None), (g.choice.choice((1, 3)), None), (8, None), (9, None)], F32)
    count = g.choice.choice((1, 3))
    corners = np.sort(g.arrays.uniform(0, 7, (count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    batch = g.arrays.integers(0, 2, count)
    if op.name == "MaxRoiPool":
        rois = np.concatenate([batch[:, None], np.round(corners)], 1).astype(np.float32)
        return g.node(op.name, [value, g.constant(rois)], pooled_shape=[2, 3])
    return g.node(
        op.name,
        [value, g.constant(corners), g.constant(batch.astype(I64))],
        output_height=2,
        output_width=3,
        sampling_ratio=2,
        mode=g.choice.choice(["avg", "max"]),
    )


@rule("Conv-chain")
def chain(g, op):
    """A convolution followed by elementwise ops."""
    value = conv(g, g.ops["Conv"])
    for _ in range(g.choice.randint(1, 3)):
        drawn = g.choice.choice(["Relu", "Sigmoid", "Add", "Mul", "Tanh", "Neg"])
        value = g.node(drawn, [value, g.broadcast(value.dims, value.dtype)] if drawn in ("Add", "Mul") else [value])
    return value

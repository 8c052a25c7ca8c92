# SPDX-License-Identifier: Apache-2.0
"""Blocks of convolutional networks: padding, normalization, branches and residuals."""

import numpy as np
from graph import Reject
from records import F32

from Rules import rule
from Rules.normalized import affine
from Rules.parts import (
    activation,
    amount,
    between,
    chance,
    clipped,
    concat,
    either,
    image,
    labelled,
    like_of,
    number,
    reduced,
    residual,
    split,
    stored,
    weights,
)
from Rules.views import by_axes


def bordered(g, x, low, high):
    """Adds a Pad node that pads the image."""
    pads = [0, 0, *low, 0, 0, *high]
    symbolic = any(x.labels[2:])
    modes = ["constant"] * 2 + ["reflect", "edge"] * (not symbolic and min(x.shape[2:]) > max(*low, *high))
    mode = g.choice.choice(modes)
    labels = [label and g.unknown() if i > 1 else label for i, label in enumerate(x.labels)]
    if g.opset < 11:
        return labelled(g, g.node("Pad", [x], mode=mode, pads=pads), labels)
    filler = [g.constant(np.asarray(0, x.dtype))] if mode == "constant" and chance(g, 0.5) else []
    return labelled(g, g.node("Pad", [x, g.ints(pads, 0.05), *filler], mode=mode), labels)


def conv(g, x, count, kernel=None, group=1, strides=(1, 1), same=True):
    """Adds a convolution. With `same`, it keeps height and width, divided by the strides."""
    kernel = g.choice.choice(((1, 1), (3, 3), (3, 3), (1, 3), (5, 5), (2, 2))) if kernel is None else kernel
    dilation = g.choice.choice((1, 1, 1, 2)) if max(kernel) > 1 else 1
    reach = [(k - 1) * dilation for k in kernel]
    low, high = [n // 2 for n in reach], [n - n // 2 for n in reach]
    labels = [x.labels[0], None] + [
        label and (label if same and strides == (1, 1) else g.unknown()) for label in x.labels[2:]
    ]
    attributes = {"kernel_shape": list(kernel), "strides": list(strides), "group": group}
    attributes |= {"dilations": [dilation] * 2} if dilation > 1 or chance(g, 0.3) else {}
    x = stored(g, x)
    if not same:
        if min(x.shape[2:]) <= max(reach):
            raise Reject("the window does not fit")
    elif chance(g, 0.3) and max(reach):
        x = bordered(g, x, low, high)
    elif dilation == 1 and strides == (1, 1) and chance(g, 0.2):
        attributes["auto_pad"] = g.choice.choice(("SAME_UPPER", "SAME_LOWER"))
    else:
        attributes["pads"] = low + high
    packed = stored(g, weights(g, (count, x.shape[1] // group, *kernel), x.dtype))
    bias = [weights(g, (count,), x.dtype)] if chance(g, 0.4) else []
    result = g.node("Conv", [x, packed, *bias], **attributes)
    return labelled(g, result, labels) if same and strides == (1, 1) else result


def batch_norm(g, x):
    way = g.choice.choice(("op", "op", "parts", "none"))
    if way == "op":
        vectors = [
            weights(g, x.shape[1:2], x.dtype, low, high)
            for low, high in ((0.5, 1.5), (-0.5, 0.5), (-0.5, 0.5), (0.5, 1.5))
        ]
        return like_of(g, g.node("BatchNormalization", [x, *vectors]), x)
    return affine(g, x, 1) if way == "parts" else x


def unit(g, x, count, kernel=None, group=1, strides=(1, 1)):
    """Adds a convolution, a normalization and an activation, in this order, or with the convolution
    last."""
    if chance(g, 0.2):
        return conv(g, activation(g, batch_norm(g, x)), count, kernel, group, strides)
    return between(g, activation(g, batch_norm(g, conv(g, x, count, kernel, group, strides))))


def channels(g):
    return amount(g, (1, 2, 3, 4, 6, 8, 16))


def strides_of(g):
    return g.choice.choice(((1, 1), (1, 1), (1, 1), (2, 2), (2, 1)))


@rule("Conv-block")
def block(g, op):
    """Adds a residual block of one to three units. If the units have a stride, the shortcut has a
    1x1 convolution."""
    x = image(g)
    strides, count, y = strides_of(g), x.shape[1] if chance(g, 0.6) else channels(g), x
    steps = g.choice.randint(1, 3)
    for i in range(steps):
        last = i == steps - 1
        y = unit(g, y, count if last else channels(g), strides=strides if last else (1, 1))
    if strides == (1, 1) and count == x.shape[1]:
        return activation(g, residual(g, x, y))
    if y.shape != x.shape and chance(g, 0.6):
        other = batch_norm(g, conv(g, x, count, (1, 1), strides=strides))
        if other.shape == y.shape:
            return activation(g, either(g, "Add", other, y))
    return y


@rule("Conv-dense")
def dense(g, op):
    """Adds a DenseNet block: each unit reads the results of all previous units."""
    x = image(g)
    seen, growth = [x], channels(g)
    for _ in range(g.choice.randint(1, 3)):
        seen.append(unit(g, concat(g, seen, 1) if len(seen) > 1 else x, growth))
        if chance(g, 0.3):
            seen = [concat(g, seen[::-1] if chance(g, 0.3) else seen, 1)]
    y = concat(g, seen, 1)
    if chance(g, 0.5):
        y = conv(g, activation(g, batch_norm(g, y)), channels(g), (1, 1))
    if chance(g, 0.4) and min(y.shape[2:]) > 1 and not any(y.labels[2:]):
        y = g.node("AveragePool", [y], kernel_shape=[2, 2], strides=[2, 2])
    return y


@rule("Conv-split")
def cross_stage(g, op):
    """Adds a CSP block: some channels pass through units, whose results are concatenated with the
    remaining channels."""
    x = image(g, (2, 4, 6, 8, 12))
    y = unit(g, x, x.shape[1], (1, 1)) if chance(g, 0.5) else x
    cut = g.choice.randint(1, x.shape[1] - 1) if chance(g, 0.3) else x.shape[1] // 2
    kept, moved = split(g, y, 1, [cut, x.shape[1] - cut])
    seen = [kept, moved]
    for _ in range(g.choice.randint(1, 2)):
        seen.append(residual(g, seen[-1], unit(g, unit(g, seen[-1], channels(g)), seen[-1].shape[1])))
    if chance(g, 0.4):
        seen = [kept, seen[-1]]
    if chance(g, 0.3):
        g.choice.shuffle(seen)
    y = concat(g, seen, 1)
    return unit(g, y, x.shape[1], (1, 1)) if chance(g, 0.7) else y


def excited(g, x):
    """Adds squeeze-and-excitation: scales channels by a gate that is computed from their means."""
    few = g.choice.choice((1, 2, 4))
    if chance(g, 0.5):
        mean = labelled(g, g.node("GlobalAveragePool", [x]), (x.labels[0], None, None, None))
    else:
        mean = reduced(g, "ReduceMean", x, [2, 3])
    gate = conv(g, activation(g, conv(g, mean, few, (1, 1))), x.shape[1], (1, 1))
    if chance(g, 0.3):
        third = either(g, "Add", gate, number(g, 3, x.dtype))
        gate = g.node("Div", [clipped(g, third, 0, 6), number(g, 6, x.dtype)])
    else:
        gate = g.node(g.choice.choice(("Sigmoid", "Sigmoid", "HardSigmoid")), [gate])
    return like_of(g, either(g, "Mul", x, gate), x)


@rule("Conv-excited")
def squeeze(g, op):
    x = image(g)
    y = excited(g, unit(g, x, x.shape[1] if chance(g, 0.6) else channels(g)))
    return activation(g, residual(g, x, y)) if y.shape == x.shape else y


@rule("Conv-separable")
def separable(g, op):
    """Adds an inverted residual: 1x1, depthwise and 1x1 convolutions."""
    x = image(g)
    wide, strides = x.shape[1] * g.choice.choice((1, 2, 3)), strides_of(g)
    y = unit(g, x, wide, (1, 1)) if chance(g, 0.7) or wide != x.shape[1] else x
    y = unit(g, y, wide, g.choice.choice(((3, 3), (5, 5), (7, 7))), wide, strides)
    y = excited(g, y) if chance(g, 0.3) else y
    y = batch_norm(g, conv(g, y, x.shape[1] if chance(g, 0.7) else channels(g), (1, 1)))
    return residual(g, x, y) if y.shape == x.shape else y


@rule("Conv-branches")
def branches(g, op):
    """Adds several branches that read one image: convolutions with windows of several sizes,
    grouped convolutions and pools. The results of the branches are concatenated or added."""
    x, found = image(g), []
    count = channels(g)
    for _ in range(g.choice.randint(2, 4)):
        way = g.choice.choice(("unit", "unit", "two", "pool", "groups", "it"))
        if way == "pool":
            y = g.node(
                g.choice.choice(("MaxPool", "AveragePool")), [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4
            )
            y = like_of(g, y, x)
            found.append(unit(g, y, count, (1, 1)) if chance(g, 0.7) else y)
        elif way == "it":
            found.append(x)
        elif way == "groups":
            group = g.choice.choice([n for n in (2, 3, 4, x.shape[1]) if x.shape[1] % n == 0] or [1])
            found.append(unit(g, x, group * g.choice.choice((1, 2, 3)), None, group))
        else:
            y = unit(g, x, count, (1, 1)) if way == "two" else x
            found.append(unit(g, y, count))
    if len({v.shape for v in found}) == 1 and len(found) > 1 and chance(g, 0.4):
        total = found[0]
        for y in found[1:]:
            total = like_of(g, either(g, "Add", total, y), y)
        return activation(g, total)
    y = concat(g, found, 1)
    return residual(g, x, conv(g, y, x.shape[1], (1, 1))) if chance(g, 0.5) else y


@rule("Conv-transposed")
def turned(g, op):
    """Adds a convolution with stride, and a transposed convolution that restores the size. Combines
    the result with the input."""
    x = image(g, multiple=2)
    y = unit(g, unit(g, x, channels(g), (2, 2) if chance(g, 0.3) else (3, 3), strides=(2, 2)), channels(g))
    if y.dtype != F32:
        raise Reject("onnxruntime supports only float32")
    kernel, count = g.choice.choice((2, 3, 4)), channels(g)
    packed = weights(g, (y.shape[1], count, kernel, kernel), y.dtype)
    bias = [weights(g, (count,), y.dtype)] if chance(g, 0.4) else []
    border = (kernel - 1) // 2
    more = {"output_padding": [1, 1]} if kernel == 3 else {}
    up = g.node(
        "ConvTranspose", [y, packed, *bias], kernel_shape=[kernel] * 2, strides=[2, 2], pads=[border] * 4, **more
    )
    up = activation(g, batch_norm(g, up))
    if up.shape[2:] != x.shape[2:]:
        return up
    up = labelled(g, up, (x.labels[0], None, None, None))
    both = concat(g, [up, x] if chance(g, 0.5) else [x, up], 1)
    return unit(g, both, channels(g)) if chance(g, 0.7) else both


@rule("Conv-of-signal")
def signal(g, op):
    """Adds 1-D convolutions of signals: the first layers of speech networks, and Mamba's causal
    convolution."""
    count, length = channels(g), g.dim()
    x = g.like([g.dim() if chance(g, 0.5) else (1, None), (count, None), length], F32, -1, 1)
    kernel = g.choice.choice((2, 3, 4))
    group = count if chance(g, 0.5) else 1
    packed = weights(g, (count, count // group, kernel), F32)
    # the convolution computes more elements than the result has; a Slice removes them
    if chance(g, 0.5):
        y = g.node("Conv", [x, packed], kernel_shape=[kernel], pads=[kernel - 1] * 2, group=group)
        whole = g.node("Shape", [x])
        end = g.node("Gather", [whole, g.constant(np.asarray([2]))], axis=0)
        if g.opset < 10:
            raise Reject("ends are attributes")
        y = g.node("Slice", [y, g.constant(np.asarray([0])), end, g.constant(np.asarray([2]))])
        y = like_of(g, y, x)
    else:
        y = like_of(g, g.node("Conv", [x, packed], kernel_shape=[kernel], pads=[kernel - 1, 0], group=group), x)
    y = activation(g, batch_norm(g, y))
    if chance(g, 0.4):
        y = g.node("Conv", [by_axes(g, "Unsqueeze", y, [2]), weights(g, (2, count, 1, 1), F32)])
    return y


@rule("Conv-pools")
def pools(g, op):
    """Adds SPP: concatenated pools of pools."""
    x = image(g)
    y = unit(g, x, channels(g), (1, 1))
    seen = [y]
    for _ in range(g.choice.randint(1, 3)):
        size = g.choice.choice((3, 5))
        before = seen[-1] if chance(g, 0.7) else y
        pooled = g.node("MaxPool", [before], kernel_shape=[size] * 2, strides=[1, 1], pads=[size // 2] * 4)
        seen.append(like_of(g, pooled, y))
    return unit(g, concat(g, seen, 1), channels(g), (1, 1))

# SPDX-License-Identifier: Apache-2.0
"""ONNX's definition of Resize, with positions as exact fractions. onnxruntime rounds positions and
sizes to float32, and ONNX's reference rounds positions to float64: for nearest elements, both may
take the neighbor.

docs/decisions/numbers/resampling.md describes where the definition leaves a choice.
"""

import math
from fractions import Fraction

import numpy as np

HALF = Fraction(1, 2)


def position(y, mode, scale, given, made, roi):
    """Returns the position in the operand of result index y, along a dim that is resized from
    `given` to `made` elements."""
    width = scale * given
    centered = (y + HALF) / scale - HALF
    if mode == "align_corners":
        return Fraction(0) if width == 1 else y * (given - 1) / (width - 1)
    if mode == "asymmetric":
        return y / scale
    if mode == "pytorch_half_pixel":
        return Fraction(0) if made == 1 else centered
    if mode == "half_pixel_symmetric":
        return given * HALF * (1 - made / width) + centered
    if mode == "tf_half_pixel_for_nn":
        return (y + HALF) / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        reach = (end - start) * (given - 1)
        return (reach / 2 if width == 1 else y * reach / (width - 1)) + start * (given - 1)
    return centered


def rounded(x, nearest):
    """Rounds a fraction by a mode of nearest elements."""
    if nearest == "round_prefer_floor":
        return math.ceil(x - HALF)
    return {"round_prefer_ceil": math.floor(x + HALF), "floor": math.floor(x), "ceil": math.ceil(x)}[nearest]


def kernel(distance, mode, a):
    x = abs(distance)
    if mode == "linear":
        return np.maximum(0, 1 - x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def along(x, axis, made, scale, roi, given):
    """Resizes one dim. `given` has the attributes of the node."""
    extent, mode = x.shape[axis], given["mode"]
    moved = np.moveaxis(x, axis, 0)
    result = np.zeros((made, *moved.shape[1:]), x.dtype)
    shrink = min(scale, 1) if given["antialias"] else 1
    half = math.ceil((2 if mode == "cubic" else 1) / shrink)
    for y in range(made):
        at = position(Fraction(y), given["coordinates"], scale, extent, made, roi)
        if given["coordinates"] == "tf_crop_and_resize" and not 0 <= at <= extent - 1:
            result[y] = given["beyond"]
        elif mode == "nearest":
            result[y] = moved[min(max(rounded(at, given["nearest"]), 0), extent - 1)]
        else:
            base = math.floor(at)
            index = base + np.arange(1 - half, half + 1)
            weights = kernel((np.arange(1 - half, half + 1) - float(at - base)) * float(shrink), mode, given["a"])
            if given["outside"]:
                weights = np.where((index >= 0) & (index < extent), weights, 0)
            if given["outside"] or shrink < 1:
                weights = weights / (weights.sum() or 1)
            result[y] = np.tensordot(weights, moved[np.clip(index, 0, extent - 1)], 1)
    return np.moveaxis(result, 0, axis)


def converted(x, dtype):
    """Rounds interpolated values to the element type. Integers are clamped, ties go to even."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = np.clip(np.rint(x), info.min, info.max)
    return x.astype(dtype)


def sizes_of(x, axes, scales, sizes, policy):
    """Returns scale and size of each axis. Scales are float32 numbers, and their multiples exact."""
    shape = [x.shape[axis] for axis in axes]
    if scales is not None:
        scales = [Fraction(float(s)) for s in scales]
        return scales, [math.floor(n * s) for n, s in zip(shape, scales)]
    sizes = [int(n) for n in sizes]
    scales = [Fraction(made, max(given, 1)) for made, given in zip(sizes, shape)]
    if policy == "stretch":
        return scales, sizes
    one = (min if policy == "not_larger" else max)(scales)
    return [one] * len(axes), [math.floor(one * n + HALF) for n in shape]


def resized(x, roi=None, scales=None, sizes=None, **attributes):
    """Computes Resize of opset 11 or later, with its inputs and attributes (as strings and numbers)."""
    x, get = np.asarray(x), attributes.get
    axes = [axis % x.ndim for axis in get("axes", range(x.ndim))]
    scales, sizes = sizes_of(x, axes, scales, sizes, get("keep_aspect_ratio_policy", "stretch"))
    given = {
        "mode": get("mode", "nearest"),
        "coordinates": get("coordinate_transformation_mode", "half_pixel"),
        "nearest": get("nearest_mode", "round_prefer_floor"),
        "antialias": get("antialias", 0) and get("mode", "nearest") != "nearest",
        "outside": get("exclude_outside", 0),
        "a": get("cubic_coeff_a", -0.75),
        "beyond": get("extrapolation_value", 0.0),
    }
    crops = given["coordinates"] == "tf_crop_and_resize"
    exact = given["mode"] == "nearest" and not crops
    result = x if exact else x.astype(np.float64)
    for i, axis in enumerate(axes):
        bounds = [Fraction(float(roi[i])), Fraction(float(roi[len(axes) + i]))] if crops else None
        if scales[i] != 1 or sizes[i] != x.shape[axis] or (crops and bounds != [0, 1]):
            result = along(result, axis, sizes[i], scales[i], bounds, given)
    return result if exact else converted(result, x.dtype)

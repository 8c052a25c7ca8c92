# SPDX-License-Identifier: Apache-2.0
"""Definitions of ops whose available kernels can't be the reference: quantized ops, Gemm and Conv
with a fused activation, Gelu, LSTM with clip, Slice and StringNormalizer. A quantized op is the
float op on dequantized operands, or an integer sum, and is quantized again.

onnxruntime's QLinearSoftmax adds table entries and does not saturate. Other kernels, and ONNX's
reference, round ties after adding the zero point, and byte products may saturate. For Gelu, both
lose accuracy by cancellation in 1 + erf. onnxruntime's sigmoid in fused activations is 0 below
1e-8. For StringNormalizer, ONNX's reference compares stopwords without case folding, and
onnxruntime needs a locale that is rarely installed. A Slice with a negative step clamps its start to
the first element, unlike in ONNX's reference (NumPy), and an end of INT32_MAX to the last one, unlike
in onnxruntime, which continues to the first element.
"""

import math

import numpy as np
import onnx
import resampling
from onnx import helper

# Float ops of the quantized ops. Their operands are (value, scale, zero point) triples. The last
# scale and zero point are those of the result.
FLOAT_OPS = {
    "QLinearAdd": "Add",
    "QLinearAveragePool": "AveragePool",
    "QLinearGlobalAveragePool": "GlobalAveragePool",
    "QLinearLeakyRelu": "LeakyRelu",
    "QLinearMul": "Mul",
    "QLinearSigmoid": "Sigmoid",
    "QLinearSoftmax": "Softmax",
}


def one(parameter, dtype):
    return np.asarray(parameter, dtype).reshape(-1)[0]


def dequantized(value, scale, zero):
    return (value.astype(np.int32) - one(zero, np.int32)).astype(np.float32) * one(scale, np.float32)


def quantized(value, scale, zero, dtype):
    """Computes ONNX's QuantizeLinear: rounds ties to even before adding the zero point."""
    with np.errstate(all="ignore"):
        wide = np.rint(value / one(scale, np.float32)) + one(zero, np.float32)
    info = np.iinfo(dtype)
    return np.asarray(np.clip(wide, info.min, info.max), dtype)


def float_node(node):
    """Returns the float op of a quantized node, and the node's opset attribute or None."""
    kept, opset = [], None
    for attribute in node.attribute:
        if attribute.name == "opset":
            opset = attribute.i
        elif attribute.name == "channels_last":
            if attribute.i:
                return None, None
        else:
            kept.append(attribute)
    count = (len(node.input) - 2) // 3
    own = helper.make_node(FLOAT_OPS[node.op_type], [f"value{i}" for i in range(count)], ["result"])
    own.attribute.extend(kept)
    return own, opset


def lifted(parameter, rank, dim):
    """Reshapes a per-dim parameter, or a scalar, so that it broadcasts with the value."""
    parameter = np.asarray(parameter)
    return (
        parameter.reshape([-1 if d == dim % rank else 1 for d in range(rank)])
        if parameter.size > 1
        else parameter.reshape(())
    )


def product(node, given, run, opset):
    """Computes QLinearConv and QLinearMatMul. float32 is exact for sums of
    fewer than 256 multiplied pairs of bytes."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero, *bias = given
    convolves = node.op_type == "QLinearConv"
    own = helper.make_node("Conv" if convolves else "MatMul", ["a", "b"], ["sums"])
    own.attribute.extend(node.attribute if convolves else [])
    operands = [
        (a.astype(np.int32) - lifted(a_zero, a.ndim, -2).astype(np.int32)).astype(np.float32),
        (b.astype(np.int32) - lifted(b_zero, b.ndim, 0 if convolves else -1).astype(np.int32)).astype(np.float32),
    ]
    (sums,) = run(own, ["a", "b"], operands, opset)
    sums = sums.astype(np.float64)
    dim = 1 if convolves else -1
    if bias and bias[0] is not None:
        sums = sums + lifted(bias[0], sums.ndim, dim)
    rank = max(sums.ndim, 2)
    factor = lifted(a_scale, rank, -2).astype(np.float64) * lifted(b_scale, rank, dim) / one(scale, np.float32)
    return quantized(sums * factor, 1, zero, np.asarray(zero).dtype)


def normalized(node, strings):
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    fold = (lambda s: s) if given.get("is_case_sensitive", 0) else str.casefold
    stopwords = {fold(s.decode()) for s in given.get("stopwords", [])}
    change = {b"LOWER": str.lower, b"UPPER": str.upper}.get(given.get("case_change_action"), str)
    kept = [change(s) for s in strings.ravel() if fold(s) not in stopwords] or [""]
    return np.asarray(kept, object).reshape([1] * (strings.ndim - 1) + [-1])


def fused(node, values, run):
    """Computes FusedGemm and FusedConv: ONNX's op, followed by the activation that an attribute
    names."""
    given = {a.name: a for a in node.attribute}
    activation = given.pop("activation").s.decode()
    more = {name: given.pop(name).f for name in ("activation_alpha", "activation_beta") if name in given}
    if activation not in ("Relu", "LeakyRelu", "Sigmoid", "Tanh") or (
        node.op_type == "FusedConv" and len(node.input) > 3
    ):
        return None
    own = helper.make_node(node.op_type.removeprefix("Fused"), list(node.input), ["made"])
    own.attribute.extend(given.values())
    names = [name for name in dict.fromkeys(node.input) if name]
    (made,) = run(own, names, [values[name] for name in names], None)
    alpha = {"alpha": more["activation_alpha"]} if activation == "LeakyRelu" and "activation_alpha" in more else {}
    return run(helper.make_node(activation, ["made"], ["result"], **alpha), ["made"], [made], None)


def gelu(value):
    """Computes x / 2 * (1 + erf(x / sqrt 2)) in float64. Uses erfc to avoid cancellation for
    negative x."""
    wide = value.astype(np.float64)
    tails = np.array([math.erfc(x) for x in (wide / -math.sqrt(2)).ravel()]).reshape(wide.shape)
    with np.errstate(all="ignore"):
        # Uses np.asarray, because numpy returns a scalar for a result without dims.
        return np.asarray(0.5 * wide * tails).astype(value.dtype)


def resized(node, values):
    """Computes Resize of opset 11 or later, which has three or four inputs. Returns None for opset
    10, for empty operands, for invalid scales and sizes, and for elements without arithmetic."""
    x, *rest = [values[name] if name else None for name in node.input]
    if len(node.input) < 3 or not x.size or (x.dtype.kind not in "fiu" and x.dtype.isbuiltin == 1):
        return None
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    given = {name: value.decode() if isinstance(value, bytes) else value for name, value in given.items()}
    roi, scales, sizes = [v if v is not None and v.size else None for v in (*rest, None)[:3]]
    if not all((v > 0).all() for v in (scales, sizes) if v is not None):
        return None
    return resampling.resized(x, roi, scales, sizes, **given)


def clipped_lstm(node, values):
    """Computes an LSTM with `clip`. ONNX clips the input of every activation. onnxruntime does not
    clip the cell state, the input of the activation of the hidden state, and ONNX's reference
    ignores `clip`."""
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    x, w, r, *others = [values[name].astype(np.float64) if name else None for name in node.input]
    bias, lengths, first, cell = [*others, None, None, None, None][:4]
    limit, direction, hidden = given["clip"], given.get("direction", b"forward"), r.shape[2]
    bias = np.zeros((len(w), 8 * hidden)) if bias is None else bias
    first, cell = (np.zeros((len(w), x.shape[1], hidden)) if v is None else v for v in (first, cell))
    lengths = np.full(x.shape[1], len(x)) if lengths is None else lengths

    def activate(function, value):
        return function(np.clip(value, -limit, limit))

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    ys, hs, cs = [], [], []
    for d in range(len(w)):
        h, c, y = first[d], cell[d], np.zeros((len(x), x.shape[1], hidden))
        for t in range(len(x))[:: -1 if d == 1 or direction == b"reverse" else 1]:
            gates = x[t] @ w[d].T + h @ r[d].T + bias[d, : 4 * hidden] + bias[d, 4 * hidden :]
            i, o, f, g = np.split(gates, 4, axis=1)
            new = activate(sigmoid, f) * c + activate(sigmoid, i) * activate(np.tanh, g)
            out = activate(sigmoid, o) * activate(np.tanh, new)
            inside = (t < lengths)[:, None]
            h, c = np.where(inside, out, h), np.where(inside, new, c)
            y[t] = np.where(inside, out, 0)
        ys.append(y), hs.append(h), cs.append(c)
    results = np.stack(ys, 1), np.stack(hs), np.stack(cs)
    return [result.astype(np.float32) for result, name in zip(results, node.output) if name]


def sliced(node, values):
    """Returns the result of a Slice whose lists are operands, or None if its lists are invalid."""
    x, starts, ends, axes, steps = ([values[name] if name else None for name in node.input] + [None] * 4)[:5]
    if starts is None or ends is None:
        return None
    axes = range(starts.size) if axes is None else axes.ravel().tolist()
    steps = np.ones_like(starts) if steps is None else steps
    lists = [array.ravel().tolist() for array in (starts, ends, steps)]
    if len({len(axes), *map(len, lists)}) > 1 or 0 in lists[2] or any(not -x.ndim <= axis < x.ndim for axis in axes):
        return None
    for axis, start, end, step in zip(axes, *lists):
        n = x.shape[axis]
        start, end = (bound + n if bound < 0 else bound for bound in (start, end))
        high, low = (n, 0) if step > 0 else (n - 1, -1)
        start, end = min(max(start, 0), high), min(max(end, low), high)
        x = np.take(x, np.array(list(range(start, end, step)), np.int64), axis=axis)
    return np.ascontiguousarray(x)


def define(node, values, run):
    """Returns the node's results, or None if this file does not define the op. `values` maps names
    to operands. `run` evaluates an ONNX node on named operands."""
    if node.op_type == "StringNormalizer":
        return [normalized(node, values[node.input[0]])]
    if node.op_type == "Slice" and not node.domain and len(node.input) > 2:
        return None if (result := sliced(node, values)) is None else [result]
    if node.op_type == "LSTM" and any(a.name == "clip" for a in node.attribute):
        return clipped_lstm(node, values)
    if node.op_type in ("QLinearConv", "QLinearMatMul") and not node.domain:
        given = [values[name] if name else None for name in node.input]
        return [product(node, given, run, None)]
    if node.op_type == "Resize" and (result := resized(node, values)) is not None:
        return [result]
    if node.op_type == "Gelu" and all(a.name != "approximate" or a.s == b"none" for a in node.attribute):
        return [gelu(values[node.input[0]])]
    if node.op_type in ("FusedGemm", "FusedConv") and node.domain == "com.microsoft":
        return fused(node, values, run)
    if node.op_type not in FLOAT_OPS or node.domain != "com.microsoft":
        return None
    own, opset = float_node(node)
    if own is None:
        return None
    given = [values[name] if name else 0 for name in node.input]
    given += [0] * (-(len(given) - 2) % 3)
    operands = [dequantized(*given[i : i + 3]) for i in range(0, len(given) - 2, 3)]
    (result,) = run(own, list(own.input), operands, opset)
    return [quantized(result, given[-2], given[-1], given[0].dtype)]

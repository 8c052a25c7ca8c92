# SPDX-License-Identifier: Apache-2.0
"""What quantized ops mean: their float op on dequantized operands, or their sum of integers, quantized again; a Gemm or Conv with an
activation; Gelu; and StringNormalizer.

Kernels are no oracle for quantized ops: onnxruntime's QLinearSoftmax adds up a table of integers and does not saturate, others, and ONNX's
reference, round ties after the zero point is added, and products of bytes may saturate. Of Gelu both lose what 1 + erf cancels. Of fused activations onnxruntime's sigmoid is 0 where it is below 1e-8. Of StringNormalizer ONNX's
reference compares stopwords as they stand, and onnxruntime needs a locale that few machines have.
"""

import math

import numpy as np
import onnx
from onnx import helper

# The float op; operands are a value, its scale and its zero point each, and the last two are those of the result.
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
    """QuantizeLinear of ONNX: a tie goes to the even integer before the zero point is added."""
    with np.errstate(all="ignore"):
        wide = np.rint(value / one(scale, np.float32)) + one(zero, np.float32)
    info = np.iinfo(dtype)
    return np.asarray(np.clip(wide, info.min, info.max), dtype)


def float_node(node):
    """The node's float op, and the opset that it names, if any."""
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
    """One number for each index of a dim, or one for all, as what broadcasts with the value."""
    parameter = np.asarray(parameter)
    return (
        parameter.reshape([-1 if d == dim % rank else 1 for d in range(rank)])
        if parameter.size > 1
        else parameter.reshape(())
    )


def product(node, given, run, opset):
    """QLinearConv and QLinearMatMul: sums that float32s hold exactly, as all do of fewer than 256 products of bytes."""
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
    """FusedGemm and FusedConv: ONNX's op, then what its attribute names, each by an oracle."""
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
    """x / 2 * (1 + erf(x / sqrt 2)), in doubles, and without what cancels for negative x."""
    wide = value.astype(np.float64)
    tails = np.array([math.erfc(x) for x in (wide / -math.sqrt(2)).ravel()]).reshape(wide.shape)
    with np.errstate(all="ignore"):
        return np.asarray(0.5 * wide * tails).astype(value.dtype)  # an array, also of a scalar


def define(node, values, run):
    """The node's results, or None where it is not such a one. `values` by name; `run` computes a node of ONNX's on operands by name."""
    if node.op_type == "StringNormalizer":
        return [normalized(node, values[node.input[0]])]
    if node.op_type in ("QLinearConv", "QLinearMatMul") and not node.domain:
        given = [values[name] if name else None for name in node.input]
        return [product(node, given, run, None)]
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

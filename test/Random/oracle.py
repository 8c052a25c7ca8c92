# SPDX-License-Identifier: Apache-2.0
"""Evaluates a model node by node. Uses onnxruntime's kernels without its optimizer, and ONNX's
reference.

Every value is rounded to its own type, which a fused kernel does not do. Each value can be
perturbed.
"""

import collections
import functools
import pathlib
import sys

import definitions
import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import onnxruntime
import records
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
import sessions

onnxruntime.set_default_logger_severity(4)
# Nodes of a newer opset, which onnxruntime does not support, run as nodes of this opset.
LAST_OPSET = 26
KEPT_SESSIONS = 4000

# Ops whose results are not perturbed, because they select elements or are exact integers.
EXACT = set(
    "Identity Dropout Abs Neg Max Min Relu Clip Where Floor Ceil Sign Shape Size EyeLike OneHot GatherElements GatherND "
    "Scatter ScatterElements ScatterND Tile Trilu ReverseSequence DepthToSpace SpaceToDepth ConstantOfShape Constant TopK "
    "Compress NonZero Unique MaxPool GlobalMaxPool MaxUnpool MaxRoiPool CenterCropPad Range ReduceMax ReduceMin Hardmax "
    "Optional OptionalGetElement SequenceAt SequenceConstruct SequenceInsert SequenceErase ConcatFromSequence "
    "SplitToSequence TensorScatter ArgMax ArgMin ArrayFeatureExtractor Binarizer BitCast Round Cast CastLike".split()
)
# Ops that round to a small number of levels internally. Not their results but their operands are
# perturbed.
ROUNDS_INSIDE = ("Quantize", "QLinear", "QGemm", "QAttention", "RoiAlign", "GridSample")
# Ops that sum elements. A sum in another order equals the sum of slightly perturbed operands
# (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2). With cancellation, the difference
# exceeds the result's own ulps.
SUMS = (
    "ReduceSum ReduceMean ReduceL ReduceLog Conv Gemm MatMul Normaliz AveragePool LpPool Einsum CumSum DFT STFT LRN Regressor Attention Loss"
).split()
# Ops that compute only sums of elements or of products. The same op on absolute values of the
# operands bounds the effect of rounding.
LINEAR_SUMS = (
    "Conv",
    "ConvTranspose",
    "Gemm",
    "MatMul",
    "ReduceMean",
    "ReduceSum",
    "AveragePool",
    "GlobalAveragePool",
    "Einsum",
    "CumSum",
)
# compare.py allows SPREADS times the spread of perturbed results, so that a perturbation is this
# share of the bound.
SHARE_OF_BOUND = 1 / 16
# Ops that both references compute with only float32's accuracy in any type.
APPROXIMATED = ("Erf", "Gelu")
# Types whose exponentials are flushed to 0 below the bound LEAST_EXPONENTIAL
# (docs/decisions/numbers/denormals.md).
HAS_NO_TINY_EXPONENTIALS, LEAST_EXPONENTIAL = (records.F32, records.BF16), 2.0**-126
# Functions with a factor 1 + t, which loses accuracy by cancellation for t close to -1.
NEAR_MINUS_ONE = ("Gelu", "FastGelu", "BiasGelu")
# Functions that add two numbers, which loses accuracy by cancellation.
CANCELS = ("HardSigmoid", "HardSwish")


class Unknown(Exception):
    """Raised if no reference can evaluate a node on its operands."""


def moves(node):
    """Returns True if the node only copies elements of its operands."""
    row = next((r for r in records.rows() if (r["domain"], r["op"]) == (node.domain, node.op_type)), None)
    return node.op_type in EXACT or (row is not None and row["kind"] == "Move" and not interpolates(node))


def interpolates(node):
    """Returns True if the node interpolates. Even the elements of a constant image are then
    rounded."""
    nearest = any(a.name == "mode" and a.s == b"nearest" for a in node.attribute)
    by_default = not any(a.name == "mode" for a in node.attribute)
    return node.op_type == "GridSample" or (node.op_type in ("Resize", "Upsample") and not nearest and not by_default)


def captured(node):
    """Returns the names of the values that the node's bodies read from outside of them."""
    found = []

    def visit(graph, own):
        own = own | {i.name for i in graph.input} | {i.name for i in graph.initializer}
        for inner in graph.node:
            found.extend(name for name in inner.input if name and name not in own and name not in found)
            for body in bodies(inner):
                visit(body, own)
            own |= set(inner.output)
        found.extend(o.name for o in graph.output if o.name not in own and o.name not in found)

    for body in bodies(node):
        visit(body, set())
    return found


def bodies(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def value_info(name, value):
    if isinstance(value, list):
        element = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else onnx.TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(name, element, None)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)


def one_node(node, names, values, opset):
    """Builds a model of one node. `names` lists its operands and the values that its bodies
    capture."""
    inputs = [value_info(name, value) for name, value in zip(names, values)]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs)
    opsets = [helper.make_opsetid("", min(opset, LAST_OPSET))]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, records.version_of(node.domain)))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def native(value):
    return all(v.dtype.isbuiltin == 1 for v in value) if isinstance(value, list) else value.dtype.isbuiltin == 1


WEIGHTS = {"Conv": 1, "ConvInteger": 1, "FusedConv": 1, "QLinearConv": 3}


def reaches_beyond(node, values):
    """Returns True if a window is longer than the padded operand. The formula for the number of
    windows then rounds a negative number."""
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in WEIGHTS:
        window = values[WEIGHTS[node.op_type]].shape[2:]
    elif node.op_type in ("MaxPool", "AveragePool", "LpPool"):
        window = given.get("kernel_shape", ())
    else:
        return False
    if given.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
        return False
    rank = len(window)
    dilations, pads = given.get("dilations", [1] * rank), given.get("pads", [0] * (2 * rank))
    lengths = values[0].shape[2:]
    return any(
        length + pads[d] + pads[d + rank] < (window[d] - 1) * dilations[d] + 1 for d, length in enumerate(lengths)
    )


class Oracle:
    """Evaluates nodes. Caches onnxruntime sessions, because a graph is evaluated for many sizes and
    perturbations."""

    def __init__(self):
        self.kept = collections.OrderedDict()

    def prepared(self, kind, make, node, names, values, opset):
        types = [value_info("", v).type.SerializeToString() for v in values]
        key = (kind, node.SerializeToString(), opset, *names, *types)
        if key not in self.kept:
            try:
                self.kept[key] = make(one_node(node, names, values, opset))
            except Exception as problem:  # both raise arbitrary exceptions
                self.kept[key] = Unknown(f"{node.op_type}: {problem}")
            if len(self.kept) > KEPT_SESSIONS:
                self.kept.popitem(last=False)
        if isinstance(self.kept[key], Unknown):
            raise self.kept[key]
        return self.kept[key]

    def by_runtime(self, node, names, values, opset):
        if node.op_type.startswith("Reduce") and not values[0].size and counts_from_the_end(node, values):
            raise Unknown(f"{node.op_type}: onnxruntime ignores negative axes of an empty operand")
        if node.op_type == "ReduceMean" and not values[0].size:
            raise Unknown("ReduceMean: onnxruntime returns 0 for an empty mean, which ONNX does not define")
        if node.op_type in ("ArgMax", "ArgMin") and not values[0].size:
            raise Unknown(f"{node.op_type}: onnxruntime keeps the size of a negative axis if the operand is empty")
        if node.op_type in ("TransposeMatMul", "FusedMatMul") and not all(v.size for v in values):
            raise Unknown(f"{node.op_type}: onnxruntime leaves sums over no elements uninitialized")
        if node.op_type in ("Einsum", "InstanceNormalization") and not all(v.size for v in values):
            raise Unknown(f"{node.op_type}: onnxruntime divides by the size of an empty operand")
        if node.op_type == "Einsum" and ranks_of(node) not in (None, [v.ndim for v in values]):
            raise Unknown("Einsum: onnxruntime crashes if an operand's rank differs from its number of letters")
        if reaches_beyond(node, values):
            raise Unknown(f"{node.op_type}: onnxruntime rounds a negative number of windows up, ONNX down")
        if node.op_type in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss") and not values[1].size:
            raise Unknown(f"{node.op_type}: onnxruntime returns 0 for an empty mean, which ONNX does not define")
        if not all(native(v) for v in values):
            raise Unknown(f"{node.op_type}: a type that onnxruntime's arrays do not have")
        session = self.prepared("runtime", sessions.plain_session, node, names, values, opset)
        try:
            results = session.run(None, dict(zip(names, values)))
        except Exception as problem:
            raise Unknown(f"{node.op_type}: {problem}") from None
        return [typed(r, o.type) for r, o in zip(results, session.get_outputs())]

    def by_reference(self, node, names, values, opset):
        if node.op_type == "Loop" and len(node.output) > len(node.input) - 2:
            raise Unknown("Loop: the reference concatenates the iterations' results, ONNX stacks them")
        if node.op_type in ("Hardmax", "Softmax", "LogSoftmax") and opset < 13:
            raise Unknown(f"{node.op_type}: the reference uses one dim, opsets before 13 all dims from it on")
        if node.op_type == "BatchNormalization" and opset in range(9, 14):
            raise Unknown("BatchNormalization: the reference treats a momentum attribute in inference as training")
        if node.op_type == "Split" and not makes_up(node, values):
            raise Unknown("Split: the reference accepts sizes that do not add up to the dim, which ONNX requires")
        evaluator, types = self.prepared("reference", evaluator_of, node, names, values, opset)
        try:
            with np.errstate(all="ignore"):
                results = evaluator.run(None, dict(zip(names, values)))
        except Exception as problem:
            raise Unknown(f"{node.op_type}: {type(problem).__name__} {problem}") from None
        return [r if r is None or isinstance(r, list) else np.asarray(r, t) for r, t in zip(results, types)]

    def widened(self, node, names, values, opset):
        """Evaluates a bfloat16 node in float32 and rounds once."""
        if node.op_type.startswith(("Cast", "BitCast", "Quantize", "Dequantize")) or any(
            isinstance(v, list) for v in values
        ):
            raise Unknown(f"{node.op_type}: an attribute names a type")
        narrow = [v.dtype for v in values if v.dtype == records.BF16]
        if not narrow or list(bodies(node)):
            raise Unknown(f"{node.op_type}: no bfloat16")
        wide = [v.astype(np.float32) if v.dtype == records.BF16 else v for v in values]
        results = self.by_runtime(node, names, wide, opset)
        with np.errstate(all="ignore"):
            return [r.astype(records.BF16) if r.dtype == np.float32 else r for r in results]

    def run(self, node, names, values, opset, reference=False):
        """Returns the node's results in the order of its named outputs. With `reference`, ONNX's
        reference is tried first."""
        exact = reference and node.op_type.startswith("Fused")
        runs = self.by_reference if exact else self.by_runtime
        defined = definitions.define(node, dict(zip(names, values)), lambda *what: runs(*what[:3], what[3] or opset))
        if defined is not None:
            return defined
        ways = [self.widened, self.by_runtime, self.by_reference]
        if reference:
            ways = ways[2:] + ways[:2]
        problems = []
        for way in ways:
            try:
                results = way(node, names, values, opset)
                if any(r is None for r in results) and "Optional" not in node.op_type:
                    raise Unknown(f"{node.op_type}: returns no value")
                return results
            except Unknown as problem:
                problems.append(str(problem))
        raise Unknown(problems[ways.index(self.by_runtime)])


def ranks_of(node):
    """Returns the ranks of an Einsum's operands, or None if the equation has an ellipsis."""
    equation = next(a.s.decode() for a in node.attribute if a.name == "equation").replace(" ", "")
    return None if "." in equation else [len(term) for term in equation.split("->")[0].split(",")]


def makes_up(node, values):
    """Returns True if the explicit sizes of a Split add up to the size of the dim."""
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    sizes = values[1] if len(values) > 1 else given.get("split")
    return sizes is None or sum(sizes) == values[0].shape[given.get("axis", 0)]


def counts_from_the_end(node, values):
    """Returns True if a reduction has negative axes, in an attribute or an operand."""
    axes = [a.ints for a in node.attribute if a.name == "axes"] + [v.ravel() for v in values[1:]]
    return any(axis < 0 for some in axes for axis in some)


def typed(result, name):
    """Converts a result of a type that numpy lacks, which onnxruntime returns as bytes."""
    dtype = records.TYPES.get(name[7:-1])
    bare = isinstance(result, np.ndarray) and dtype is not None and dtype.isbuiltin != 1 and result.dtype != dtype
    return result.view(dtype) if bare else result


def evaluator_of(model):
    """Returns ONNX's reference evaluator for the model, and the types that ONNX infers for the
    results. These are needed because the evaluator may return types of more bits."""
    told = {o.name: o.type.tensor_type.elem_type for o in onnx.shape_inference.infer_shapes(model).graph.output}
    types = [helper.tensor_dtype_to_np_dtype(told[o.name]) if told[o.name] else None for o in model.graph.output]
    return onnx.reference.ReferenceEvaluator(model), types


def moved(values, random, steps):
    """Perturbs floats by some ulps of their type."""
    return [moved_array(v, random, steps) if not isinstance(v, list) else moved(v, random, steps) for v in values]


def moved_array(value, random, steps):
    # In the values of the oracle, None represents an empty optional.
    if value is None or value.dtype not in records.FLOATS or not value.size:
        return value
    step = float(ml_dtypes.finfo(value.dtype).eps) * steps
    with np.errstate(all="ignore"):
        wide = value.astype(np.float64)
        if value.dtype in HAS_NO_TINY_EXPONENTIALS:
            wide = np.where((np.abs(wide) < LEAST_EXPONENTIAL) & (random.random(value.shape) < 0.75), 0, wide)
        return np.asarray(wide * (1 + step * random.uniform(-1, 1, value.shape)), value.dtype)


def moved_by_largest(result, operand, random, steps):
    """Perturbs floats by some ulps of the operand's largest element."""
    if result.dtype not in records.FLOATS or operand.dtype not in records.FLOATS or not operand.size:
        return result
    with np.errstate(all="ignore"):
        largest = np.abs(operand.astype(np.float64)).max()
        return np.asarray(
            result + step_of(result) * steps * largest * random.uniform(-1, 1, result.shape), result.dtype
        )


def mixed(result, other, random):
    """Takes each integer from one of two results. A changed scale rounds all ties to one side,
    but implementations round each tie to another side, which changes sums of these integers."""
    if not isinstance(result, np.ndarray) or result.dtype in records.FLOATS or result.shape != other.shape:
        return result
    return np.where(random.random(result.shape) < 0.5, result, other)


def cancelled(result, operand, random):
    """Sets some results to 0 that are below 4 ulps of the operand: 1 + t is 0 or an ulp of 1."""
    if result.dtype not in records.FLOATS or operand.dtype not in records.FLOATS or not operand.size:
        return result
    with np.errstate(all="ignore"):
        small = np.abs(result.astype(np.float64)) <= 4 * step_of(result) * np.abs(operand.astype(np.float64)).max()
    return np.where(small & (random.random(result.shape) < 0.5), np.asarray(0, result.dtype), result)


def summed_otherwise(oracle, node, names, operands, opset, results, random):
    """Perturbs sums by a share of n u Σ|x|, the error bound for a sum of n terms in any order
    (Higham, 4.2). Sums of equal signs and magnitudes come close to this bound, because their
    rounding errors do not cancel. Errors of randomly perturbed terms would cancel."""
    if any(v.dtype not in records.FLOATS for v in operands[:1]) or any(isinstance(v, list) for v in operands):
        return results
    absolute = [np.abs(v) if v.dtype in records.FLOATS else v for v in operands]
    try:
        terms = oracle.run(node, names, absolute, opset)
    except Unknown:
        return results
    with np.errstate(all="ignore"):
        return [
            np.asarray(
                r + length_of(node, operands, r) * step_of(r) / 2 * SHARE_OF_BOUND * random.uniform(-1, 1, r.shape) * t,
                r.dtype,
            )
            if isinstance(r, np.ndarray) and r.dtype in records.FLOATS
            else r
            for r, t in zip(results, terms)
        ]


def length_of(node, operands, result):
    """Returns the number of operand elements that the node sums for each element of the result."""
    if node.op_type in ("MatMul", "Gemm", "Einsum"):
        return max(operands[0].shape, default=1) if node.op_type == "Einsum" else operands[0].shape[-1]
    if node.op_type in ("Conv", "ConvTranspose"):
        return operands[1].size // max(1, operands[1].shape[0])
    return operands[0].size // max(1, result.size) if node.op_type != "CumSum" else max(operands[0].shape, default=1)


def step_of(array):
    return float(ml_dtypes.finfo(array.dtype).eps)


def divides(node, divisor):
    """Raises an exception for integer division by zero, which would end the process in
    onnxruntime."""
    if divisor.dtype in records.INTS and (divisor == 0).any():
        raise Unknown(f"{node.op_type}: by zero")


@functools.cache
def constant(data):
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))


def evaluate(oracle, model, feeds, reference=False, random=None, steps=0):
    """Evaluates a model. Returns all values by name. With `steps`, each rounded result is perturbed
    by about that many ulps of its type."""
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    values = dict(feeds)
    values.update((t.name, constant(t.SerializeToString())) for t in model.graph.initializer)
    for node in model.graph.node:
        names = list(dict.fromkeys([n for n in node.input if n] + captured(node)))
        operands = [values[n] for n in names]
        if node.op_type in ("Div", "Mod"):
            divides(node, operands[-1])
        exact = operands
        if steps and (interpolates(node) or any(part in node.op_type for part in (*ROUNDS_INSIDE, *SUMS))):
            operands = moved(operands, random, steps)
        results = oracle.run(node, names, operands, opset)
        if steps and any(part in node.op_type for part in ROUNDS_INSIDE):
            others = oracle.run(node, names, moved(exact, random, steps), opset)
            results = [mixed(a, b, random) for a, b in zip(results, others, strict=True)]
        if reference:
            # If the reference returns another shape than onnxruntime, the reference is wrong (as in
            # GlobalMaxPool of rank 3).
            others = oracle.run(node, names, operands, opset, reference)
            shapes = [[getattr(r, "shape", None) for r in given] for given in (results, others)]
            results = others if shapes[0] == shapes[1] else results
        if steps and node.op_type in LINEAR_SUMS:
            results = summed_otherwise(oracle, node, names, operands, opset, results, random)
        if steps and not moves(node):
            wide = (
                any(r.dtype == records.F64 for r in results if isinstance(r, np.ndarray))
                and node.op_type in APPROXIMATED
            )
            if node.op_type in NEAR_MINUS_ONE:
                results = [moved_by_largest(r, operands[0], random, steps) for r in results]
                results = [cancelled(r, operands[0], random) for r in results]
            if node.op_type in CANCELS:
                results = [moved_by_largest(r, operands[0], random, steps) for r in results]
            # an interpolation multiplies by up to 64 rounded weights, and large products may cancel
            if interpolates(node):
                results = [moved_by_largest(r, operands[0], random, 8 * steps) for r in results]
            results = moved(results, random, steps * (2**29 if wide else 1))
        values.update(zip([n for n in node.output if n], results))
    return values

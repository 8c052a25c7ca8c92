# SPDX-License-Identifier: Apache-2.0
"""Runs onnxruntime as the reference, if its kernels compute what ONNX defines.

A kernel that saturates can't be the reference. Without VNNI, onnxruntime multiplies unsigned by
signed bytes with `vpmaddubsw`, which adds two products in 16 bits and saturates. Its results then
differ from ONNX's definition, and from its own results on other processors. Its kernels for
unsigned weights are exact. Therefore this file creates all sessions, with an option that converts
signed weights to unsigned ones (and shifts the zero point). It rejects models where this is not
possible. Compare them with onnx.reference or numpy.

A kernel that rounds more than the model can't be the reference either. onnxruntime's optimizer
fuses a DequantizeLinear of constants and a MatMul into MatMulNBits, which by default quantizes the
activations to 8 bits (accuracy_level 4). Sessions of this file request level 1, float32. tools/lint
rejects sessions that other files create.
"""

import contextlib
import pathlib
import tempfile

import onnx
import onnxruntime
from onnx import TensorProto

# onnxruntime's 8-bit matmuls: index of the activations operand, and indices of the weights
# operands.
PRODUCTS = {
    "ConvInteger": (0, [1]),
    "DynamicQuantizeLSTM": (0, [1, 2]),
    "DynamicQuantizeMatMul": (0, [1]),
    "MatMulInteger": (0, [1]),
    "MatMulIntegerToFloat": (0, [1]),
    "QAttention": (0, [1]),
    "QGemm": (0, [3]),
    "QLinearConv": (0, [3]),
    "QLinearMatMul": (0, [3]),
}
# Ops that onnxruntime's optimizer fuses into 8-bit matmuls.
MAKERS = {"DequantizeLinear", "DynamicQuantizeLinear"}


def saturates(model):
    """Returns the nodes that may saturate: their activations are not known to be signed, and not
    all of their weights are known to be unsigned."""
    graph = model.graph
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    for value in [*graph.input, *graph.value_info]:
        types.setdefault(value.name, value.type.tensor_type.elem_type)
    found = []
    for node in graph.node:
        data, weights = PRODUCTS.get(node.op_type, (0, []))
        signed = types.get(node.input[data]) == TensorProto.INT8 if weights else False
        if not signed and any(types.get(node.input[i]) != TensorProto.UINT8 for i in weights):
            found.append(f"{node.op_type} {node.name!r}")
    return found


def plain_session(model):
    """Returns a session without graph optimizations. Fails if the model may saturate."""
    assert not (found := saturates(model)), f"no reference: {', '.join(found)} saturates on processors without VNNI"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def session(model, saved=None):
    """Returns a session without kernels that saturate. `saved` is the path to which onnxruntime
    saves the optimized model, which the session then runs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    # This session option makes onnxruntime convert signed weights to unsigned ones.
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    looks = any(node.op_type in PRODUCTS or node.op_type in MAKERS for node in model.graph.node)
    with tempfile.TemporaryDirectory() if looks and saved is None else contextlib.nullcontext() as folder:
        if looks or saved is not None:
            saved = saved or pathlib.Path(folder) / "run.onnx"
            options.optimized_model_filepath = str(saved)
        made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = saturates(onnx.load(saved)) if looks else []
    assert not found, f"no reference: {', '.join(found)} saturates on processors without VNNI"
    return made


def timed_session(path):
    """Returns a session with onnxruntime's default optimizations, one thread, and weights loaded
    from the model's files. Only for floating-point models, since other models may saturate."""
    found = [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]
    assert not (found := (PRODUCTS.keys() | MAKERS).intersection(found)), f"{', '.join(found)} may saturate"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def oracle(model, feeds):
    """Returns onnxruntime's results. int8 inputs of 8-bit matmuls become constants, because
    onnxruntime converts only constants to unsigned."""
    weights = {name: x for name, x in feeds.items() if getattr(x, "dtype", None) == "int8"}
    if weights and any(node.op_type in PRODUCTS for node in model.graph.node):
        bound = onnx.ModelProto()
        bound.CopyFrom(model)
        bound.graph.initializer.extend(onnx.numpy_helper.from_array(x, name) for name, x in weights.items())
        others = [value for value in model.graph.input if value.name not in weights]
        del bound.graph.input[:]
        bound.graph.input.extend(others)
        model, feeds = bound, {name: x for name, x in feeds.items() if name not in weights}
    return session(model).run(None, feeds)

# SPDX-License-Identifier: Apache-2.0
"""What onnxruntime says, where it says what ONNX defines.

The rule: no kernel that saturates is an oracle. On processors without VNNI onnxruntime multiplies unsigned by signed bytes with
`vpmaddubsw`, which adds two products in 16 bits and cuts off what does not fit: its results differ from ONNX's definition there, and from
its own elsewhere. Its kernels for unsigned weights are exact, so all sessions are made here, where signed weights become unsigned (with
another zero point, the same numbers) and a model in which that can't be done is refused: onnx.reference or numpy judge it.
Nor is a kernel that rounds what the model does not: of a DequantizeLinear of constants and a MatMul the optimizer makes a MatMulNBits,
which by default rounds the data to bytes (accuracy_level 4). Sessions here ask for float32's level, 1.
tools/check-house finds sessions that are made elsewhere.
"""

import contextlib
import pathlib
import tempfile

import onnx
import onnxruntime
from onnx import TensorProto

# onnxruntime's products of bytes: which operand is the data, and which ones are the weights.
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
# What its optimizer makes such products of.
MAKERS = {"DequantizeLinear", "DynamicQuantizeLinear"}


def saturates(model):
    """The nodes of a model of onnxruntime's that may saturate: where neither data are known to be signed nor weights to be unsigned."""
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
    """A session without onnxruntime's optimizer, which rewrites nothing: a model that may saturate is refused."""
    assert not (found := saturates(model)), f"no oracle: {', '.join(found)} saturates on processors without VNNI"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def session(model, saved=None):
    """A session of onnxruntime's, none of whose kernels saturates. `saved`: where the model goes that it really runs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.x64quantprecision", "1")  # unsigned weights for signed ones
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    looks = any(node.op_type in PRODUCTS or node.op_type in MAKERS for node in model.graph.node)
    with tempfile.TemporaryDirectory() if looks and saved is None else contextlib.nullcontext() as folder:
        if looks or saved is not None:
            saved = saved or pathlib.Path(folder) / "run.onnx"
            options.optimized_model_filepath = str(saved)
        made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = saturates(onnx.load(saved)) if looks else []
    assert not found, f"no oracle: {', '.join(found)} saturates on processors without VNNI"
    return made


def timed_session(path):
    """A session as onnxruntime's users make it, of one thread: all of its optimizations, weights from their file. For models of floats."""
    found = [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]
    assert not (found := (PRODUCTS.keys() | MAKERS).intersection(found)), f"{', '.join(found)} may saturate"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def oracle(model, feeds):
    """Results by onnxruntime. Signed bytes that are fed are constants for it, which is all that it makes unsigned."""
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

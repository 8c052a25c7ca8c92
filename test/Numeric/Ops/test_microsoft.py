# SPDX-License-Identifier: Apache-2.0
"""Ops of com.microsoft that onnxruntime writes when it saves an optimized model: fused matmuls,
embeddings, integer attention."""

import hewn
import numpy as np
import onnx
import pytest
from numeric import MICROSOFT, check, feeds_of, one_node, oracle, run
from sessions import session

random = np.random.default_rng(11)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def counts(most, *shape):
    return random.integers(0, most, shape).astype(np.int32)


@pytest.mark.parametrize("a", [(3, 4, 5), (2, 3, 4, 5), (4, 5)])
@pytest.mark.parametrize("swap_a", [0, 1])
@pytest.mark.parametrize("swap_b", [0, 1])
@pytest.mark.parametrize("op", ["FusedMatMul", "TransposeMatMul"])
def test_fused_matmul(a, swap_a, swap_b, op):
    left = list(a[:-2]) + ([a[-1], a[-2]] if swap_a else list(a[-2:]))
    right = list(a[:-2]) + ([6, a[-1]] if swap_b else [a[-1], 6])
    inputs = [floats(*left), floats(*right)]
    model = one_node(op, inputs, domain=MICROSOFT, transA=swap_a, transB=swap_b, alpha=0.7)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))


@pytest.mark.parametrize("swap", [0, 1])
@pytest.mark.parametrize("side", "AB")
def test_fused_matmul_of_batches_inside(side, swap):
    """With transBatch, the first dim of an operand holds the rows of the matrices, and the next
    dims are the batch."""
    left, right = [2, 3, 4, 5], [2, 3, 5, 6]
    inside = left if side == "A" else right
    if swap:
        inside[2], inside[3] = inside[3], inside[2]
    inside.insert(0, inside.pop(2))
    inputs = [floats(*left), floats(*right)]
    model = one_node("FusedMatMul", inputs, domain=MICROSOFT, **{f"transBatch{side}": 1, f"trans{side}": swap})
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))


ACTIVATIONS = [
    ("Relu", []),
    ("Tanh", []),
    ("Sigmoid", []),
    ("LeakyRelu", [0.2]),
    ("Clip", [-0.5, 0.75]),
    ("HardSigmoid", [0.3, 0.4]),
]


@pytest.mark.parametrize("name, parameters", ACTIVATIONS)
@pytest.mark.parametrize("addend", [False, True])
def test_fused_conv(name, parameters, addend):
    inputs = [floats(2, 4, 9, 8), floats(6, 2, 3, 3), floats(6)] + ([floats(2, 6, 5, 4)] if addend else [])
    attributes = {"activation": name, "group": 2, "pads": [1, 1, 1, 1], "strides": [2, 2]}
    if parameters:
        attributes["activation_params"] = parameters
    model = one_node("FusedConv", inputs, domain=MICROSOFT, constants=[1, 2], **attributes)
    feeds = feeds_of(inputs, [1, 2])
    check(run(model, feeds), oracle(model, feeds), atol=1e-5)


@pytest.mark.parametrize("name, parameters", [a for a in ACTIVATIONS if a[0] not in ("Clip", "HardSigmoid")])
def test_fused_gemm(name, parameters):
    inputs = [floats(5, 7), floats(6, 7), floats(6)]
    attributes = {"activation": name, "transB": 1, "alpha": 0.5, "beta": 2.0}
    if parameters:
        attributes["activation_alpha"] = parameters[0]
    model = one_node("FusedGemm", inputs, domain=MICROSOFT, **attributes)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)), atol=1e-5)


def test_unknown_activation():
    model = one_node("FusedConv", [floats(1, 2, 5, 5), floats(2, 2, 3, 3)], domain=MICROSOFT, activation="Fancy")
    with pytest.raises(hewn.CompileError, match="activation 'Fancy'"):
        hewn.compile(model)


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("places", [False, True])
def test_embed_layer_normalization(segments, mask, places):
    rows, length, words, size = 2, 6, 20, 16
    inputs = [counts(words, rows, length), counts(2, rows, length) if segments else None, floats(words, size)]
    inputs += [floats(10, size), floats(2, size) if segments else None, floats(size), floats(size)]
    inputs += [counts(2, rows, length) if mask else None, counts(10, rows, length) if places else None]
    while inputs[-1] is None:
        inputs.pop()
    model = one_node("EmbedLayerNormalization", inputs, outputs=3, domain=MICROSOFT, epsilon=1e-5)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)), atol=1e-5)


def test_embedding_out_of_bounds():
    inputs = [counts(20, 1, 4) + 20, None, floats(20, 8), floats(4, 8), None, floats(8), floats(8)]
    compiled = hewn.compile(one_node("EmbedLayerNormalization", inputs, domain=MICROSOFT))
    with pytest.raises(hewn.RunError):
        compiled.run(feeds_of(inputs))


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("past", [False, True])
def test_qattention(mask, past):
    batch, length, size, heads, before = 2, 5, 8, 2, 3 if past else 0
    inputs = [random.integers(0, 256, (batch, length, size)).astype(np.uint8)]
    inputs += [random.integers(-128, 128, (size, 3 * size)).astype(np.int8), floats(3 * size)]
    inputs += [np.array(0.01, np.float32), np.array(0.008, np.float32)]
    inputs += [np.ones((batch, before + length), np.int32) if mask else None]
    inputs += [np.array(120, np.uint8), np.array(0, np.int8), floats(2, batch, heads, before, 4) if past else None]
    if mask:
        inputs[5][1, -2:] = 0
    while inputs[-1] is None:
        inputs.pop()
    model = one_node(
        "QAttention", inputs, outputs=2 if past else 1, domain=MICROSOFT, num_heads=heads, unidirectional=0
    )
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)), atol=1e-4)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_qlinear_average_pool(padding, last):
    shape = (2, 8, 7, 3) if last else (2, 3, 8, 7)
    inputs = [random.integers(0, 256, shape).astype(np.uint8), np.array(0.04, np.float32), np.array(117, np.uint8)]
    inputs += [np.array(0.05, np.float32), np.array(100, np.uint8)]
    model = one_node(
        "QLinearAveragePool",
        inputs,
        domain=MICROSOFT,
        constants=[1, 2, 3, 4],
        kernel_shape=[3, 2],
        strides=[2, 1],
        pads=[padding] * 4,
        channels_last=last,
    )
    feeds = feeds_of(inputs, [1, 2, 3, 4])
    check(run(model, feeds), oracle(model, feeds), atol=1)


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("indices", [(3,), (2, 4), ()])
@pytest.mark.parametrize("bits", [4, 8])
def test_gather_block_quantized(zero, indices, bits):
    rows, columns, block = 9, 40, 16
    blocks = -(-columns // block)
    inputs = [random.integers(0, 256, (rows, columns * bits // 8)).astype(np.uint8), counts(rows, *indices)]
    inputs += [np.abs(floats(rows, blocks))]
    if zero:
        inputs.append(random.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8))
    constants = [0, 2, 3]
    attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
    model = one_node("GatherBlockQuantized", inputs, domain=MICROSOFT, opset=21, constants=constants, **attributes)
    check(run(model, feeds_of(inputs, constants)), oracle(model, feeds_of(inputs, constants)), atol=1e-4)


def test_saved_by_onnxruntime(tmp_path):
    """A small network after onnxruntime's optimizer, compared with the original."""
    h = onnx.helper
    weights = {"w": floats(8, 3, 3, 3), "b": floats(8), "v": floats(8, 8, 1, 1), "c": floats(8), "m": floats(8, 5)}
    nodes = [
        h.make_node("Conv", ["x", "w", "b"], ["p"], pads=[1] * 4),
        h.make_node("Relu", ["p"], ["q"]),
        h.make_node("Conv", ["q", "v", "c"], ["r"]),
        h.make_node("Add", ["r", "q"], ["s"]),
        h.make_node("Relu", ["s"], ["t"]),
        h.make_node("GlobalAveragePool", ["t"], ["u"]),
        h.make_node("Flatten", ["u"], ["f"]),
        h.make_node("Transpose", ["f"], ["g"], perm=[1, 0]),
        h.make_node("MatMul", ["f", "m"], ["k"]),
        h.make_node("MatMul", ["g", "k"], ["y"]),
    ]
    graph = h.make_graph(
        nodes,
        "net",
        [h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 8, 8])],
        [h.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    runs = session(model, saved=tmp_path / "saved.onnx")
    saved = onnx.load(tmp_path / "saved.onnx")
    assert {n.op_type for n in saved.graph.node} & {"FusedConv", "FusedMatMul"}
    feeds = {"x": floats(2, 3, 8, 8)}
    check(run(saved, feeds), runs.run(None, feeds), rtol=1e-4, atol=1e-4)

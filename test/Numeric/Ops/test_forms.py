# SPDX-License-Identifier: Apache-2.0
"""Forms of ops that ONNX's node tests do not cover, because these tests use only the newest
opset."""

import hewn
import numpy as np
import pytest
from numeric import MICROSOFT, check, feeds_of, one_node, oracle, run
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(7)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def bytes_(*shape):
    return random.integers(0, 256, shape).astype(np.uint8)


def signed(*shape):
    return random.integers(-128, 128, shape).astype(np.int8)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


X, C = floats(2, 3, 4, 5), floats(3)

# Each case has op, opset, inputs, attributes, and the result by numpy.
BEFORE_SEVEN = [
    ("Add", 6, [X, C], {"broadcast": 1, "axis": 1}, X + C[:, None, None]),
    ("Mul", 1, [X, floats(5)], {"broadcast": 1}, None),
    ("Sub", 6, [X, X[0, 0]], {"broadcast": 1}, X - X[0, 0]),
    ("Clip", 6, [X], {"min": -0.5, "max": 0.25}, np.clip(X, -0.5, 0.25)),
    ("Clip", 6, [X], {"max": 0.25}, np.minimum(X, 0.25)),
    ("PRelu", 6, [X, C], {}, np.where(X < 0, X * C[:, None, None], X)),
    ("Selu", 1, [X], {}, 1.0507 * np.where(X < 0, 1.6732 * np.expm1(X), X)),
    ("Dropout", 6, [X], {"is_test": 1}, X),
    ("Max", 6, [X, X * 2, X - 1], {}, np.maximum(np.maximum(X, X * 2), X - 1)),
    ("Mean", 6, [X, X * 2, X - 1], {}, (X + X * 2 + X - 1) / 3),
    ("GlobalLpPool", 1, [X], {"p": 3.0}, np.sum(np.abs(X) ** 3, axis=(2, 3), keepdims=True) ** (1 / 3)),
]


@pytest.mark.parametrize("op, opset, inputs, attributes, want", BEFORE_SEVEN)
def test_before_seven(op, opset, inputs, attributes, want):
    want = inputs[0] * inputs[1] if want is None else want
    check(run(one_node(op, inputs, opset=opset, **attributes), feeds_of(inputs)), [want.astype(np.float32)], rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("rank", [0, 1])
def test_tile_before_six(dtype, rank):
    """Before opset 6, Tile copies along one axis. The number of copies and the axis have the
    input's element type, and the number may be dynamic."""
    x = X.astype(dtype)
    for tiles, axis in (3, 1), (0, 2), (1, 0), (2, -1):
        inputs = [x, *(np.full([1] * rank, n, dtype) for n in (tiles, axis))]
        want = np.concatenate([x] * tiles, axis) if tiles else np.take(x, [], axis)
        for constants in ((2,), (1, 2)):
            check(run(one_node("Tile", inputs, opset=5, constants=constants), feeds_of(inputs, constants)), [want])


def test_tiles_that_are_no_number_of_copies():
    module = hewn.compile(one_node("Tile", [X, scalar(2), scalar(1)], opset=5, constants=(2,)))
    for tiles in -1, 1e30, np.nan:
        with pytest.raises(hewn.RunError):
            module.run({"x0": X, "x1": scalar(tiles)})


@pytest.mark.parametrize("opset", [9, 12])
@pytest.mark.parametrize("dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_erf_of_integers(dtype, opset):
    """Erf of an integer is computed in floating point and truncated: it is 1 only where the float
    result rounds to 1."""
    x = np.arange(0 if dtype.startswith("u") else -7, 8).astype(dtype)
    model = one_node("Erf", [x], opset=opset)
    check(run(model, feeds_of([x])), ReferenceEvaluator(model).run(None, feeds_of([x])))


VARIANCE = np.abs(floats(3)) + 0.5
# Each case of an op in an older opset has op, opset, inputs and attributes.
OLD = [
    ("Softmax", 11, [X], {"axis": 1}),
    ("Softmax", 11, [X], {"axis": 2}),
    ("LogSoftmax", 11, [X], {}),
    ("Hardmax", 11, [X], {"axis": 2}),
    ("ReduceSum", 11, [X], {"axes": [1, -1], "keepdims": 0}),
    ("ReduceLogSumExp", 13, [X], {"axes": [0, 2], "keepdims": 0}),
    ("ReduceL2", 11, [X], {"axes": [1]}),
    ("ReduceL1", 11, [(X * 10).astype(np.int32)], {"axes": [1]}),
    ("ReduceMean", 13, [X], {}),
    ("ArgMax", 12, [np.round(X)], {"axis": 2, "select_last_index": 1}),
    ("ArgMin", 12, [np.round(X)], {"axis": -1, "keepdims": 0}),
    ("BatchNormalization", 9, [X, C, C + 1, C - 1, VARIANCE], {"epsilon": 1e-3}),
    ("BatchNormalization", 14, [X, C, C + 1, C - 1, VARIANCE], {}),
    ("Dropout", 10, [X], {}),
    ("LpNormalization", 1, [X], {"axis": 1, "p": 1}),
    ("LRN", 13, [floats(2, 7, 4, 3)], {"size": 5, "alpha": 0.3, "beta": 0.6, "bias": 1.5}),
    ("InstanceNormalization", 6, [X, C, C + 1], {}),
    ("Mod", 10, [(X * 50).astype(np.int32), (np.abs(X) * 9).astype(np.int32) + 1], {}),
    ("Mod", 13, [X * 5, np.abs(X) + 0.5], {"fmod": 1}),
    ("Pow", 7, [np.abs(X), scalar(2.5)], {}),
    ("Pow", 15, [(X * 4).astype(np.int64), scalar(3, np.int64)], {}),
    ("Sign", 9, [X], {}),
    ("Softplus", 1, [X * 40], {}),
    ("Elu", 6, [X * 1e-3], {"alpha": 0.7}),
    ("IsInf", 10, [np.where(X > 1, np.inf, np.where(X < -1, -np.inf, X)).astype(np.float32)], {"detect_positive": 0}),
    ("QuantizeLinear", 10, [X * 20, scalar(0.1), scalar(3, np.uint8)], {}),
    ("QuantizeLinear", 13, [X * 20, np.abs(C) + 0.1, signed(3)], {"axis": 1}),
    ("DequantizeLinear", 13, [signed(2, 3, 4), np.abs(C) + 0.1, signed(3)], {"axis": 1}),
    ("DynamicQuantizeLinear", 11, [X], {}),
    ("MatMulInteger", 10, [bytes_(2, 5, 7), signed(7, 4), scalar(121, np.uint8), scalar(3, np.int8)], {}),
    (
        "ConvInteger",
        10,
        [bytes_(1, 3, 6, 6), bytes_(4, 3, 3, 3), scalar(121, np.uint8), scalar(3, np.uint8)],
        {"pads": [1, 1, 1, 1]},
    ),
    (
        "QLinearMatMul",
        10,
        [
            bytes_(5, 7),
            scalar(0.02),
            scalar(100, np.uint8),
            bytes_(7, 4),
            scalar(0.03),
            scalar(90, np.uint8),
            scalar(0.2),
            scalar(128, np.uint8),
        ],
        {},
    ),
    (
        "QLinearConv",
        10,
        [
            bytes_(1, 3, 6, 6),
            scalar(0.02),
            scalar(100, np.uint8),
            signed(4, 3, 3, 3),
            np.abs(floats(4)) / 50 + 0.01,
            np.zeros(4, np.int8),
            scalar(0.5),
            scalar(128, np.uint8),
            random.integers(-99, 99, 4).astype(np.int32),
        ],
        {"pads": [1, 0, 1, 0], "strides": [2, 1]},
    ),
]
OUTPUTS = {"DynamicQuantizeLinear": 3}
# A quantized element of hewn's result may differ from onnxruntime's by one, because the last bit of
# the sum before it may differ.
NEAR = {"QLinearConv", "QLinearMatMul", "DynamicQuantizeLinear"}


@pytest.mark.parametrize("op, opset, inputs, attributes", OLD)
def test_old(op, opset, inputs, attributes):
    constants = range(1, len(inputs)) if op.startswith("Q") else ()
    model = one_node(op, inputs, outputs=OUTPUTS.get(op, 1), opset=opset, constants=constants, **attributes)
    feeds = feeds_of(inputs, constants)
    check(run(model, feeds), oracle(model, feeds), rtol=1e-4, atol=1 if op in NEAR else 1e-6)


def quantized(op, inputs, **attributes):
    return (op, inputs, 1, attributes)


SCALE, ZERO = scalar(0.04), scalar(117, np.uint8)
B4 = bytes_(12, 3, 8)
MICROSOFTS = [
    ("BiasGelu", [X, floats(5)], 1, {}),
    ("FastGelu", [X, floats(5)], 1, {}),
    ("Gelu", [X], 1, {}),
    ("QuickGelu", [X], 1, {"alpha": 1.5}),
    (
        "SkipLayerNormalization",
        [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)],
        1,
        {"epsilon": 1e-5},
    ),
    ("SkipSimplifiedLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], 1, {"epsilon": 1e-5}),
    quantized(
        "QLinearAdd", [bytes_(2, 5), SCALE, ZERO, bytes_(2, 5), SCALE, ZERO, scalar(0.07), scalar(130, np.uint8)]
    ),
    quantized("QLinearMul", [bytes_(2, 5), SCALE, ZERO, bytes_(2, 5), SCALE, ZERO, scalar(0.2), scalar(130, np.uint8)]),
    quantized("QLinearSigmoid", [bytes_(2, 5), SCALE, ZERO, scalar(1 / 256), scalar(0, np.uint8)]),
    quantized("QLinearLeakyRelu", [bytes_(2, 5), SCALE, ZERO, scalar(0.05), scalar(40, np.uint8)], alpha=0.1),
    quantized("QLinearGlobalAveragePool", [bytes_(2, 3, 4, 4), SCALE, ZERO, SCALE, ZERO], channels_last=0),
    quantized(
        "QLinearConcat", [scalar(0.05), ZERO, bytes_(2, 5), SCALE, ZERO, bytes_(2, 3), scalar(0.02), ZERO], axis=1
    ),
    quantized("QGemm", [bytes_(4, 6), SCALE, ZERO, bytes_(5, 6), SCALE, ZERO, None, scalar(0.9), ZERO], transB=1),
    ("MatMulIntegerToFloat", [bytes_(4, 6), bytes_(6, 5), SCALE, SCALE, ZERO, ZERO, floats(5)], 1, {}),
    (
        "MatMulNBits",
        [floats(2, 48), B4, np.abs(floats(12, 3)).reshape(-1)],
        1,
        {"K": 48, "N": 12, "bits": 4, "block_size": 16},
    ),
    (
        "MatMulNBits",
        [floats(2, 48), B4, np.abs(floats(12, 3)).reshape(-1), bytes_(24)],
        1,
        {"K": 48, "N": 12, "bits": 4, "block_size": 16},
    ),
]


@pytest.mark.parametrize("op, inputs, outputs, attributes", MICROSOFTS)
def test_microsoft(op, inputs, outputs, attributes):
    constants = [i for i, x in enumerate(inputs) if x is not None and (x.ndim == 0 or (op == "MatMulNBits" and i))]
    model = one_node(op, inputs, outputs=outputs, domain=MICROSOFT, constants=constants, **attributes)
    feeds = feeds_of(inputs, constants)
    check(
        run(model, feeds), oracle(model, feeds), rtol=1e-3, atol=1 if op.startswith("Q") and "Gelu" not in op else 2e-3
    )


def test_dynamic_quantize_lstm():
    hidden, inputs, steps = 6, 5, 4
    x, w, r = floats(steps, 2, inputs), signed(2, inputs, 4 * hidden), signed(2, hidden, 4 * hidden)
    scale, zero = np.array([0.004, 0.003], np.float32), np.zeros(2, np.int8)
    arguments = [x, w, r, floats(2, 8 * hidden), None, None, None, None, scale, zero, scale, zero]
    constants = [1, 2, 3, 8, 9, 10, 11]
    model = one_node(
        "DynamicQuantizeLSTM",
        arguments,
        outputs=3,
        domain=MICROSOFT,
        constants=constants,
        hidden_size=hidden,
        direction="bidirectional",
    )
    feeds = feeds_of(arguments, constants)
    # onnxruntime is not the reference here: it also quantizes the activations, so its result
    # differs.
    check(run(model, feeds), oracle(model, feeds), atol=0.03)


def test_eight_dims():
    x, order = floats(2, 3, 1, 2, 3, 1, 2, 2), (7, 4, 0, 2, 6, 1, 3, 5)
    check(run(one_node("Transpose", [x], perm=order), {"x0": x}), [np.transpose(x, order)])
    check(run(one_node("Softmax", [x], axis=4), {"x0": x}), oracle(one_node("Softmax", [x], axis=4), {"x0": x}))


def test_depthwise_half():
    """A depthwise convolution in a type that the GEMM kernel generator leaves to plain loops."""
    x, w = floats(2, 4, 11), floats(4, 1, 4)
    half = [x.astype(np.float16), w.astype(np.float16)]
    (want,) = run(one_node("Conv", [x, w], group=4), feeds_of([x, w]))
    np.testing.assert_allclose(run(one_node("Conv", half, group=4), feeds_of(half))[0], want, atol=0.02)


TEXT = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int64)
POOL = {"ngram_counts": [0, 4], "ngram_indexes": [6, 1, 2, 3, 0, 5, 4], "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]}


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("least, most, skips", [(1, 1, 0), (1, 2, 0), (2, 2, 5)])
def test_tf_idf(mode, least, most, skips):
    lengths = {"min_gram_length": least, "max_gram_length": most, "max_skip_count": skips}
    weights = {} if mode == "TF" else {"weights": [0.5, 1.5, 2.0, 0.25, 3.0, 1.0, 7.0]}
    model = one_node("TfIdfVectorizer", [TEXT], opset=9, mode=mode, **lengths, **POOL, **weights)
    check(run(model, {"x0": TEXT}), oracle(model, {"x0": TEXT}))


@pytest.mark.parametrize("bands, length, rate, low, high", [(8, 16, 8192, 0.0, 4096.0), (40, 400, 16000, 20.0, 7600.0)])
def test_mel(bands, length, rate, low, high):
    numbers = [scalar(bands, np.int64), scalar(length, np.int64), scalar(rate, np.int64), scalar(low), scalar(high)]
    model = one_node("MelWeightMatrix", numbers, opset=17, constants=range(5))
    check(run(model, {}), oracle(model, {}), atol=1e-6)


MEL = [(8, 16, 8192, 0.0, 4096.0), (40, 400, 16000, 20.0, 7600.0), (3, 513, 8000, 100.0, 3000.0)]


@pytest.mark.parametrize("known", [[], [0, 1, 2], [2, 3, 4]])
def test_mel_of_numbers_known_when_run(known):
    """One compiled module computes MelWeightMatrix for all operand values. Any subset of the
    operands may be constant."""
    for numbers in MEL:
        inputs = [scalar(x, np.float32 if i > 2 else np.int64) for i, x in enumerate(numbers)]
        model = one_node("MelWeightMatrix", inputs, opset=17, constants=known)
        feeds = feeds_of(inputs, known)
        (want,) = oracle(model, feeds)
        (got,) = run(model, feeds)
        assert got.shape == want.shape == (numbers[1] // 2 + 1, numbers[0])
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "i, wrong", [(0, 0), (0, 1 << 40), (1, 0), (1, 1 << 40), (2, 0), (2, 4000), (3, -100.0), (4, 9000.0)]
)
def test_mel_outside_of_the_spectrum(i, wrong):
    numbers = [*MEL[0]]
    numbers[i] = wrong
    inputs = [scalar(x, np.float32 if i > 2 else np.int64) for i, x in enumerate(numbers)]
    module = hewn.compile(one_node("MelWeightMatrix", inputs, opset=17))
    with pytest.raises(hewn.RunError, match="MelWeightMatrix"):
        module.run(feeds_of(inputs))


@pytest.mark.parametrize(("parts", "axis"), [(3, 0), (3, 1), (100, 0), (100, 1), (1100, 1)])
def test_concat_of_many(parts, axis):
    """A concat is compiled to one loop per subview. With very many operands, it is one loop that
    selects the operand for each element."""
    arrays = [floats(2, 3 + i % 5) if axis else floats(1 + i % 2, 19) for i in range(parts)]
    (got,) = run(one_node("Concat", arrays, axis=axis), feeds_of(arrays))
    np.testing.assert_array_equal(got, np.concatenate(arrays, axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lengths", [range(1, 13), [20, 0, 3, 3, 0, 17, 1, 16, 33, 2]])
def test_concat_of_many_lengths_known_when_run(lengths, axis):
    """The operands of a concat have dynamic lengths. A runtime function copies each subview."""
    arrays = [floats(2, n) if axis else floats(n, 5) for n in lengths]
    model = one_node("Concat", arrays, axis=axis)
    for i, value in enumerate(model.graph.input):
        value.type.tensor_type.shape.dim[axis].dim_param = f"n{i}"
    (got,) = run(model, feeds_of(arrays))
    np.testing.assert_array_equal(got, np.concatenate(arrays, axis))

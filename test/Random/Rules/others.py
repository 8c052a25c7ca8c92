# SPDX-License-Identifier: Apache-2.0
"""Signal transforms, detection and training ops."""

import numpy as np
from graph import Reject
from records import F32, F64, I32, I64

from Rules import rule

# Ops for which the generator of random models has no rule, with the reason. A test checks that each
# op in the ONNX records has a rule or an entry here.
WITHOUT = {
    "Bernoulli": "chance",
    "Multinomial": "chance",
    "RandomNormal": "chance",
    "RandomNormalLike": "chance",
    "RandomUniform": "chance",
    "RandomUniformLike": "chance",
    "com.microsoft.DynamicQuantizeLSTM": "onnxruntime's kernel is not exact",
    "com.microsoft.SimplifiedLayerNormalization": "onnxruntime has it in ONNX's own domain",
    "ai.onnx.ml.ZipMap": "its result is a sequence of maps (test/Python/test_maps.py)",
    "ai.onnx.ml.DictVectorizer": "its operand is a map (test/Python/test_maps.py)",
    "ai.onnx.ml.CastMap": "its operand is a map (test/Python/test_maps.py)",
    "ImageDecoder": "its operand is the file of a picture (test/Numeric/Ops/test_images.py)",
    "Constant": "an initializer by another name, which the importer makes of it",
}


@rule("DFT")
def dft(g, op):
    """Adds a Fourier transform along any axis but the last. The length is that of the operand, or
    pads or crops it; it is sometimes an input of the model."""
    n = g.dim() if g.choice.random() < 0.6 else (g.choice.choice((1, 5, 6, 8, 17, 37)), None)
    outer, parts = (g.choice.choice((1, 2, 3)), None), (g.choice.choice((1, 2)), None)
    axis = g.choice.choice((0, 1))
    value = g.like([n, outer, parts] if axis == 0 else [outer, n, parts], g.choice.choice((F32, F64)))
    inverse = g.choice.choice((0, 1)) if g.opset >= 20 else 0
    onesided = g.choice.choice((0, 1)) if parts[0] == 1 and not inverse else 0
    length = None
    if g.choice.random() < 0.4:
        length = g.ints(max(1, n[0] + g.choice.choice((-2, -1, 0, 3))), 0.5)
    attributes = {"inverse": inverse, "onesided": onesided}
    if g.opset >= 20:
        return g.node("DFT", [value, length, g.constant(np.asarray(axis - g.choice.choice((0, 3)), I64))], **attributes)
    return g.node("DFT", [value, length], axis=axis, **attributes)


@rule("STFT")
def stft(g, op):
    value = g.like([(g.choice.choice((1, 2)), None), (16, None), (1, None)], F32)
    step = g.constant(np.asarray(4, I64))
    return g.node(
        "STFT", [value, step, g.leaf(F32, [(8, None)], 0.1, 1, 1), g.constant(np.asarray(8, I64))], onesided=1
    )


@rule("MelWeightMatrix")
def mel(g, op):
    bins, length, rate = (g.constant(np.asarray(n, I64)) for n in (4, 16, 8000))
    edges = [g.constant(np.asarray(n, np.float32)) for n in (0, 3000)]
    return g.node("MelWeightMatrix", [bins, length, rate, *edges])


@rule("NonMaxSuppression")
def non_max_suppression(g, op):
    corners = np.sort(g.arrays.uniform(0, 1, (1, 6, 2, 2)), axis=2).reshape(1, 6, 4).astype(np.float32)
    scores = g.leaf(F32, [(1, None), (2, None), (6, None)], 0, 1)
    bounds = [
        g.constant(np.asarray([2], I64)),
        g.constant(np.asarray([0.5], np.float32)),
        g.constant(np.asarray([0.2], np.float32)),
    ]
    return g.node("NonMaxSuppression", [g.constant(corners), scores, *bounds])


@rule("TfIdfVectorizer")
def tf_idf(g, op):
    words = g.leaf(I32, [(8, None)], 0, 4)
    pool = {"ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3], "pool_int64s": [1, 2, 3, 1, 2]}
    return g.node("TfIdfVectorizer", [words], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, **pool)


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g, op):
    """Adds a loss of class scores along dim 1. The targets are class indices, one of which may be
    ignored."""
    scores = g.value([F32], 2, 4, test=lambda v: v.size)
    classes = scores.shape[1]
    if scores.labels[1]:
        raise Reject("the number of classes is symbolic")
    ignored = g.choice.choice((None, None, 0, classes - 1, -1))
    low = -1 if ignored == -1 else 0
    target = g.leaf(g.choice.choice((I32, I64)), [d for i, d in enumerate(scores.dims) if i != 1], low, classes - 1)
    weight = g.leaf(F32, [scores.dims[1]], 0.5, 2) if g.choice.random() < 0.5 else None
    reduction = g.choice.choice(("none", "mean", "sum"))
    if reduction == "mean" and (ignored is not None and (target.array == ignored).all()):
        raise Reject("a mean over no elements")
    outputs = 2 if op.name == "SoftmaxCrossEntropyLoss" and g.choice.random() < 0.5 else 1
    return g.node(op.name, [scores, target, weight], outputs=outputs, reduction=reduction, ignore_index=ignored)


@rule("ai.onnx.preview.training.Adagrad", "ai.onnx.preview.training.Adam", "ai.onnx.preview.training.Momentum")
def training(g, op):
    dims, rate, step = g.dims(1, 2), g.constant(np.asarray(0.1, np.float32)), g.constant(np.asarray(1, I64))
    count = {"Adagrad": 3, "Adam": 4, "Momentum": 3}[op.name]
    operands = [rate, step, *(g.leaf(F32, dims, 0.1, 1) for _ in range(count))]
    attributes = (
        {"alpha": 0.9, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.0} if op.name == "Momentum" else {}
    )
    results = g.node(op.name, operands, outputs=count - 1, domain=op.domain, **attributes)
    if not results:
        raise Reject("nothing")
    return results[0]

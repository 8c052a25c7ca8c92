# SPDX-License-Identifier: Apache-2.0
"""Transforms of signals, detection, training."""

import numpy as np
from graph import Reject
from records import F32, I32, I64

from Rules import rule

# Ops without a rule, and why. A test holds that each op of the records has a rule or is named here.
WITHOUT = {
    "Bernoulli": "chance",
    "Multinomial": "chance",
    "RandomNormal": "chance",
    "RandomNormalLike": "chance",
    "RandomUniform": "chance",
    "RandomUniformLike": "chance",
    "com.microsoft.DynamicQuantizeLSTM": "onnxruntime's kernel is not exact",
    "com.microsoft.SimplifiedLayerNormalization": "onnxruntime has it in ONNX's own domain",
    "ImageDecoder": "its operand is the file of a picture (test/Numeric/Ops/test_images.py)",
    "Constant": "an initializer by another name, which the importer makes of it",
}


@rule("DFT")
def dft(g, op):
    n = g.choice.choice((1, 4, 6, 8))
    value = g.like([(g.choice.choice((1, 2)), None), (n, None), (g.choice.choice((1, 2)), None)], F32)
    onesided = g.choice.choice((0, 1)) if value.shape[2] == 1 else 0
    if g.opset >= 20:
        return g.node("DFT", [value, None, g.constant(np.asarray(1, I64))], onesided=onesided)
    return g.node("DFT", [value], axis=1, onesided=onesided)


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
    """Scores of classes along dim 1, and the class of each position, which may be one that does not count."""
    scores = g.value([F32], 2, 4, test=lambda v: v.size)
    classes = scores.shape[1]
    if scores.labels[1]:
        raise Reject("classes are drawn of a known number")
    ignored = g.choice.choice((None, None, 0, classes - 1, -1))
    low = -1 if ignored == -1 else 0
    target = g.leaf(g.choice.choice((I32, I64)), [d for i, d in enumerate(scores.dims) if i != 1], low, classes - 1)
    weight = g.leaf(F32, [scores.dims[1]], 0.5, 2) if g.choice.random() < 0.5 else None
    reduction = g.choice.choice(("none", "mean", "sum"))
    if reduction == "mean" and (ignored is not None and (target.array == ignored).all()):
        raise Reject("the mean of nothing")
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

# SPDX-License-Identifier: Apache-2.0
"""Tests ops with edge cases of dims, operands and attributes that ONNX allows, such as scalars and
default attributes."""

import numpy as np
import onnx.reference
import pytest
from numeric import check, feeds_of, one_node, oracle, run


@pytest.mark.parametrize("x", [np.float32(-1.5), np.float32(0), np.float32(3)])
def test_a_scalar_is_quantized_by_its_own_range(x):
    """DynamicQuantizeLinear computes the minimum and maximum of a scalar by reductions over no
    dims."""
    inputs = [np.asarray(x)]
    model = one_node("DynamicQuantizeLinear", inputs, outputs=3, opset=17)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)))


def test_defaults_are_float32():
    """Adam's default attributes are float32. The op uses 1 - 0.999 twice. If it rounded them
    differently, the first step would not have the size of the learning rate."""
    scalars = [np.float32(0.1), np.asarray(1, np.int64)]
    tensors = [np.asarray(x, np.float32) for x in ([0.75, 1], [0.25, -2], [0.25, 0], [0, 1e-4])]
    inputs = [np.asarray(x) for x in scalars] + tensors
    model = one_node("Adam", inputs, outputs=3, domain="ai.onnx.preview.training")
    want = onnx.reference.ReferenceEvaluator(model).run(None, feeds_of(inputs))
    check(run(model, feeds_of(inputs)), [np.asarray(w, np.float32) for w in want], rtol=1e-6)


def test_hard_swish_of_doubles():
    """ONNX defines HardSwish by HardSigmoid, whose alpha is a float attribute: for double inputs
    too, alpha is 1/6 rounded to float32."""
    x = np.array([-4, -1, 0.3, 2.3, 7])
    want = x * np.clip(x * np.float64(np.float32(1) / np.float32(6)) + 0.5, 0, 1)
    check(run(one_node("HardSwish", [x]), feeds_of([x])), [want], rtol=1e-15, atol=0)


def test_what_is_folded_is_not_one_chain_of_sums():
    """Constant folding is as accurate as compiled kernels: it uses partial sums for a reduction
    over several dims."""
    x = np.random.default_rng(0).uniform(0, 3, (64, 64, 2)).astype(np.float32)
    model = one_node("ReduceL2", [x], constants=(0,), keepdims=0)
    check(run(model, {}), [np.float32(np.sqrt((x.astype(float) ** 2).sum()))], rtol=3e-7, atol=0)


def test_a_mask_of_integers_ends_before_the_keys():
    """An integer mask of Attention may be shorter than the keys. It masks the remaining keys,
    although no integer represents -infinity."""
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((1, 2, 3, 4), (1, 2, 6, 4), (1, 2, 6, 4)))
    mask = random.integers(0, 3, (3, 4))
    by_type = [run(one_node("Attention", x, opset=23), feeds_of(x)) for x in ([q, k, v, mask.astype(t)] for t in "fBl")]
    check(by_type[1], by_type[0])
    check(by_type[2], by_type[0])
    few = [q, k[:, :, :4], v[:, :, :4], mask.astype(np.float32)]
    check(by_type[0], run(one_node("Attention", few, opset=23), feeds_of(few)))


NOTHING_ALONG_A_DIM = {
    "Tile of nothing": ("Tile", [np.zeros((3, 17, 0), np.float32), np.array([1, 2, 3])], {}),
    "Tile to nothing": ("Tile", [np.ones((2, 3), np.float32), np.array([2, 0])], {}),
    "Slice to nothing": ("Slice", [np.ones((3, 65), np.float32), np.array([3]), np.array([64]), np.array([0])], {}),
    "Slice of nothing, backward": (
        "Slice",
        [np.zeros((0, 65), np.float32), *(np.array([i]) for i in (-1, np.iinfo(np.int64).min, 0, -1))],
        {},
    ),
    "Concat of one and nothing": ("Concat", [np.zeros(0, np.float32), np.array([2.5], np.float32)], {"axis": 0}),
}


@pytest.mark.parametrize("name", NOTHING_ALONG_A_DIM)
def test_nothing_along_a_dim(name):
    op, inputs, attributes = NOTHING_ALONG_A_DIM[name]
    constants = range(1, len(inputs)) if op in ("Tile", "Slice") else ()
    model, feeds = one_node(op, inputs, constants=constants, **attributes), feeds_of(inputs, constants)
    want = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    check(run(model, feeds), want)
    check(oracle(model, feeds), want)

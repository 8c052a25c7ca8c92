# SPDX-License-Identifier: Apache-2.0
"""Low-bit weights that contractions dequantize in the kernel (MatMulNBits)."""

import re

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper, numpy_helper

TARGETS = ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"]
DEPTH = 384


def packed(numbers, bits):
    """Packs integers [.., n] of `bits` bits into bytes [.., n * bits / 8], lowest bits first. Fills
    the last byte with zeros."""
    each = 8 // bits
    numbers = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)])
    parts = numbers.reshape(*numbers.shape[:-1], -1, each).astype(np.uint32) << (np.arange(each) * bits)
    return parts.sum(-1).astype(np.uint8)


class Weights:
    """A quantized matrix [DEPTH, columns]: its initializers in the model, and its values in
    float64."""

    def __init__(self, columns, bits, block, zero, seed=3):
        random = np.random.default_rng(seed)
        blocks = DEPTH // block
        codes = random.integers(0, 1 << bits, (columns, blocks, block))
        scale = random.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32)
        middle = np.full((columns, blocks), 1 << (bits - 1))
        self.initializers = {"w": packed(codes, bits), "s": scale.reshape(-1)}
        if zero == "integer":
            middle = random.integers(0, 1 << bits, (columns, blocks))
            self.initializers["z"] = packed(middle, bits).reshape(-1)
        elif zero == "float":
            middle = random.uniform(0, 1 << bits, (columns, blocks)).astype(np.float32)
            self.initializers["z"] = middle.reshape(-1)
        self.matrix = ((codes - middle[..., None]) * scale[..., None].astype(np.float64)).reshape(columns, DEPTH).T
        self.attributes = {"K": DEPTH, "N": columns, "bits": bits, "block_size": block}

    def model(self, rows, bias=None, element=TensorProto.FLOAT):
        initializers = dict(self.initializers, **({} if bias is None else {"b": bias}))
        inputs = ["x", "w", "s", "z" if "z" in initializers else ""] + ([] if bias is None else ["", "b"])
        node = helper.make_node("MatMulNBits", inputs, ["p"], domain="com.microsoft", **self.attributes)
        graph = helper.make_graph(
            [node, helper.make_node("Relu", ["p"], ["y"])],
            "codes",
            [helper.make_tensor_value_info("x", element, [*rows, DEPTH])],
            [helper.make_tensor_value_info("y", element, [*rows, self.matrix.shape[1]])],
            [numpy_helper.from_array(a, n) for n, a in initializers.items()],
        )
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(weights, model, x, bias=0, rtol=2e-6, **options):
    (got,) = hewn.compile(model, **options).run({"x": x}).values()
    want = np.maximum(x.astype(np.float64) @ weights.matrix + bias, 0)
    assert got.shape == want.shape and got.dtype == x.dtype
    np.testing.assert_allclose(got, want, rtol=0, atol=rtol * np.abs(want).max())


def data(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits, block", [(4, 32), (4, 128), (8, 32), (2, 16)])
@pytest.mark.parametrize("zero", [None, "integer", "float"])
def test_rows_known_when_run(bits, block, zero, target):
    weights = Weights(200, bits, block, zero)
    module = compiled(weights.model(["rows"]), target)
    for rows in (1, 2, 5, 6, 7, 40, 0):
        x = data(rows, DEPTH)
        (got,) = module.run({"x": x}).values()
        want = np.maximum(x.astype(np.float64) @ weights.matrix, 0)
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * np.abs(want).max(initial=1))


@pytest.mark.parametrize("rows", [(1,), (4,), (3, 2), (31,), (2, 1, 20)])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_known(rows, threads):
    weights, bias = Weights(130, 4, 32, "integer"), data(130)
    check(weights, weights.model(rows, bias), data(*rows, DEPTH), bias, threads=threads)


@pytest.mark.parametrize("depth, panels", [(1024, 64), (8192, 32)])
def test_decoded_panels_stay_in_the_cache(depth, panels, monkeypatch):
    """A panel of weights that many rows read is dequantized once. A panel has 64 columns, or 32 if
    the L2 cache can't hold one of 64."""
    monkeypatch.setitem(globals(), "DEPTH", depth)
    weights = Weights(1024, 4, 32, None)
    model = weights.model((80,))
    text = hewn._compile(model, emit="kernels", target="x86-64-v4")
    assert re.search(r"#plan.contract<m = \d+, n = (\d+)", text)[1] == str(panels)
    check(weights, model, data(80, depth), rtol=2e-5, threads=2)


def test_blocks_of_a_panel_that_are_not_there(monkeypatch):
    """A library for two targets packs the weights in the column blocks of the smaller one. A panel
    of the larger target covers several blocks, and its last panel fewer."""
    monkeypatch.setitem(globals(), "DEPTH", 8192)
    weights = Weights(160, 4, 64, None)
    module = hewn.compile(weights.model((64,)), target=["x86-64-v3", "x86-64-v4"])
    x = data(64, 8192)
    want = np.maximum(x.astype(np.float64) @ weights.matrix, 0)
    np.testing.assert_allclose(module.run({"x": x})["y"], want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_half():
    weights = Weights(96, 4, 32, None)
    weights.initializers["s"] = weights.initializers["s"].astype(np.float16)
    scale = weights.initializers["s"].astype(np.float64).reshape(96, -1)
    numbers = np.stack([weights.initializers["w"] & 15, weights.initializers["w"] >> 4], -1).reshape(96, -1, 32)
    weights.matrix = ((numbers - 8.0) * scale[..., None]).reshape(96, DEPTH).T
    x = data(3, DEPTH).astype(np.float16)
    check(weights, weights.model([3], element=TensorProto.FLOAT16), x, rtol=1e-3)


def test_depth_of_no_whole_blocks():
    """The quantized weights of a MatMulNBits become float at compile time, because K = 384 is not a
    multiple of the block size 256."""
    random = np.random.default_rng(5)
    weights = Weights(64, 4, 128, None)
    codes = random.integers(0, 16, (64, 2, 256))
    scale = random.uniform(0.01, 0.1, (64, 2)).astype(np.float32)
    weights.initializers = {"w": packed(codes, 4), "s": scale.reshape(-1)}
    weights.attributes["block_size"] = 256
    weights.matrix = ((codes - 8) * scale[..., None].astype(np.float64)).reshape(64, 512)[:, :DEPTH].T
    check(weights, weights.model([2]), data(2, DEPTH))


@pytest.mark.parametrize("bits, block", [(4, 32), (4, 128), (8, 64), (2, 16)])
@pytest.mark.parametrize("zero", [None, "integer", "float"])
def test_data_may_be_rounded(bits, block, zero):
    """With `accuracy_level` 4, the MatMul quantizes activations to 8 bits per block. Other levels
    do not round activations."""
    weights = Weights(208, bits, block, zero)
    weights.attributes["accuracy_level"] = 4
    module = hewn.compile(weights.model(["rows"]))
    for rows in (1, 2, 4, 7, 40):
        x = data(rows, DEPTH)
        (got,) = module.run({"x": x}).values()
        product = x.astype(np.float64) @ weights.matrix
        errors = np.abs(got - np.maximum(product, 0))
        assert errors.max() <= 0.02 * np.abs(product).max()
    weights.attributes["accuracy_level"] = 1
    check(weights, weights.model([40]), x)


def test_weights_stay_in_few_bits(tmp_path):
    weights = Weights(512, 4, 128, None)
    hewn.compile(weights.model(["rows"]), output=tmp_path / "libm.so")
    codes, scales = DEPTH * 512 // 2, DEPTH // 128 * 512 * 4
    assert (tmp_path / "m.weights").stat().st_size <= codes + scales + 4096


@pytest.mark.parametrize(
    "change, message",
    [
        ({"N": 63}, "the weights must be N columns of K numbers in blocks"),
        ({"K": 2**62}, "attribute .K. is 4611686018427387904"),
        ({"bits": 3}, "K, N, bits or block_size out of range"),
        ({"block_size": 31}, "K, N, bits or block_size out of range"),
        ({"s": np.ones(5, np.float32)}, "needs a float scale for each block of each column"),
        ({"s": np.ones(64 * 12, np.int32)}, "needs a float scale for each block of each column"),
        ({"z": np.zeros(5, np.uint8)}, "needs a zero point for each block of each column"),
        ({"w": np.zeros((64, 12, 16), np.int8)}, "weights must be bytes"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    weights = Weights(64, 4, 32, "integer")
    for name, value in change.items():
        (weights.initializers if name in weights.initializers else weights.attributes)[name] = value
    with pytest.raises(hewn.CompileError, match=message):
        hewn.compile(weights.model([2]))

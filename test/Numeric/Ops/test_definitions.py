# SPDX-License-Identifier: Apache-2.0
"""Ops for which ONNX's text has no answer, or for which the text and engines differ
(docs/decisions/numbers/ambiguous-definitions.md)."""

import hewn
import numpy as np
import pytest
from numeric import feeds_of, one_node, run

random = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("alpha, beta", [(0.5, 1.0), (2.5, 0.5), (1.0, 0.5), (2.0, 3.0), (0.3, 0.0)])
def test_gemm_of_integers(dtype, alpha, beta):
    """Gemm of integers truncates the sum alpha * A * B + beta * C, not its summands."""
    low = 0 if np.dtype(dtype).kind == "u" else -9
    a, b, c = (random.integers(low, 10, dims).astype(dtype) for dims in ((4, 7), (7, 5), (5,)))
    for inputs in ([a, b], [a, b, c]):
        (got,) = run(one_node("Gemm", inputs, alpha=alpha, beta=beta), feeds_of(inputs))
        addend = beta * c.astype(np.float64) if len(inputs) == 3 else 0
        exact = float(np.float32(alpha)) * (a.astype(np.int64) @ b.astype(np.int64)) + addend
        np.testing.assert_array_equal(got, np.trunc(exact).astype(dtype))


@pytest.mark.parametrize(
    "shape, axes", [((2, 3, 1, 1), None), ((1, 3, 1, 1), None), ((2, 1, 5, 7), [1]), ((3, 9), [1])]
)
@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, -7.3, 1e6, 3e-20])
def test_mean_variance_normalization_without_variance(shape, axes, constant):
    """Equal elements have no variance: (X - EX) / (sqrt(E(X - EX)^2) + 1e-9) is 0."""
    x = np.full(shape, constant, np.float32)
    attributes = {"axes": axes} if axes else {}
    (got,) = run(one_node("MeanVarianceNormalization", [x], opset=13, **attributes), feeds_of([x]))
    np.testing.assert_array_equal(got, np.zeros(shape, np.float32))


class Recurrent:
    """Computes recurrent layers as ONNX's text defines them, in float64. `clip` bounds the input of
    every activation."""

    def __init__(self, op, clip, linear):
        self.op, self.clip, self.linear = op, clip, linear

    def f(self, function, x):
        x = np.clip(x, -self.clip, self.clip)
        return np.tanh(x) if function == "tanh" else 1 / (1 + np.exp(-x))

    def step(self, x, h, c, w, r, b):
        hidden, (wb, rb) = r.shape[1], np.split(b, 2)
        if self.op == "RNN":
            return self.f("tanh", x @ w.T + h @ r.T + wb + rb), c
        if self.op == "LSTM":
            i, o, forget, g = np.split(x @ w.T + h @ r.T + wb + rb, 4, axis=1)
            c = self.f("sigmoid", forget) * c + self.f("sigmoid", i) * self.f("tanh", g)
            return self.f("sigmoid", o) * self.f("tanh", c), c
        given, (rz, rr, rh) = x @ w.T + wb, np.split(r, 3)
        z = self.f("sigmoid", given[:, :hidden] + h @ rz.T + rb[:hidden])
        reset = self.f("sigmoid", given[:, hidden : 2 * hidden] + h @ rr.T + rb[hidden : 2 * hidden])
        inner = reset * (h @ rh.T + rb[2 * hidden :]) if self.linear else (reset * h) @ rh.T + rb[2 * hidden :]
        return (1 - z) * self.f("tanh", given[:, 2 * hidden :] + inner) + z * h, c

    def run(self, x, w, r, b, h, c, directions):
        ys, hs = [], []
        for d, backward in enumerate(directions):
            state, cell, y = h[d], c[d], np.zeros((len(x), *h.shape[1:]))
            for t in range(len(x))[:: -1 if backward else 1]:
                state, cell = self.step(x[t], state, cell, w[d], r[d], b[d])
                y[t] = state
            ys.append(y), hs.append(state)
        return np.stack(ys, 1), np.stack(hs)


DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_clip_of_recurrent_layers(op, direction):
    """`clip` bounds the input of every activation, also the cell state of an LSTM."""
    steps, batch, width, hidden, clip = 5, 3, 4, 5, 0.4
    gates, count = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], len(DIRECTIONS[direction])
    dims = [(steps, batch, width), (count, gates * hidden, width), (count, gates * hidden, hidden)]
    dims += [(count, 2 * gates * hidden), (count, batch, hidden), (count, batch, hidden)]
    x, w, r, b, h, c = (random.standard_normal(d).astype(np.float32) for d in dims)
    for linear in (0, 1) if op == "GRU" else (0,):
        inputs = [x, w, r, b, None, h, *([2 * c] if op == "LSTM" else [])]
        more = {"linear_before_reset": linear} if op == "GRU" else {}
        model = one_node(op, inputs, 2, direction=direction, hidden_size=hidden, clip=clip, **more)
        got = hewn.compile(model).run(feeds_of(inputs))
        wide = [v.astype(np.float64) for v in (x, w, r, b, h, 2 * c)]
        want = Recurrent(op, clip, linear).run(*wide, DIRECTIONS[direction])
        for name, value in zip(("y0", "y1"), want):
            np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6)


NORMALIZED = [[-1, -2, 0], [0, 0, 0], [-1, -2, -4], [3, -4, 0], [1e-30, -2e-30, 0], [2, 8, 4]]


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm):
    """MAX divides by max(X), also if it is negative. A divisor of 0 leaves X unchanged."""
    x = np.array(NORMALIZED, np.float32)
    wide = x.astype(np.float64)
    size = {"MAX": wide.max(1), "L1": np.abs(wide).sum(1), "L2": np.sqrt((x * x).sum(1).astype(np.float64))}[norm]
    size[size == 0] = 1
    (got,) = run(one_node("Normalizer", [x], domain="ai.onnx.ml", norm=norm), feeds_of([x]))
    np.testing.assert_allclose(got, wide / size[:, None], rtol=1e-6)

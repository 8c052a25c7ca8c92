# SPDX-License-Identifier: Apache-2.0
"""Branches and loops forward values of dynamic size unchanged, while their bodies allocate
memory."""

import hewn
import numpy as np
import onnx
import pytest
from sessions import oracle

MODELS = {
    # The loop's first step reads the initial value of the loop-carried value in the buffer of that
    # initial value, and so do ops after the loop.
    "loop": """g (float[7] x, float[3] w, int64 trips) => (int64[r, n] y, float[t, m] z) <bool on = {1}>
        { found = NonZero (x)
          y, z = Loop (trips, on, found) <body: graph = b (int64 i, bool go, int64[1, ?] s)
            => (bool keep_on, int64[1, ?] same, float[3] made)
            { keep_on = Identity (go) same = Identity (s) made = Tanh (w) }> }""",
    # Ops after the loop allocate memory too, and the loop may run no step.
    "behind": """g (float[7] x, float[3] w, int64 trips) => (int64[r, n] y, float[3] z) <bool on = {1}>
        { found = NonZero (x)
          kept = Loop (trips, on, found) <body: graph = b (int64 i, bool go, int64[1, ?] s) => (bool keep_on, int64[1, ?] same)
            { keep_on = Identity (go) same = Identity (s) }>
          a = NonZero (w) b = Cast <to: int = 1> (a) c = ReduceSum <keepdims: int = 0> (b) z = Add (w, c)
          y = Neg (kept) }""",
    # One loop's result is the next loop's initial value.
    "two": """g (float[7] x, float[3] w, int64 trips) => (int64[r, n] y, float[t, m] z) <bool on = {1}>
        { found = NonZero (x)
          first = Loop (trips, on, found) <body: graph = b (int64 i, bool go, int64[1, ?] s) => (bool keep_on, int64[1, ?] same)
            { keep_on = Identity (go) same = Identity (s) }>
          y, z = Loop (trips, on, first) <body: graph = b2 (int64 i2, bool go2, int64[1, ?] s2)
            => (bool keep_on2, int64[1, ?] same2, float[3] made)
            { keep_on2 = Identity (go2) same2 = Identity (s2) made = Sin (w) }> }""",
    # An op before the If computes the value in an output's buffer, and both branches forward it.
    "branches": """g (float[7] x, float[3] w, int64 trips) => (int64[r, n] y, float[3] z) <int64 one = {1}>
        { found = NonZero (x) twice = Add (found, found) few = Less (trips, one)
          y, z = If (few) <then_branch: graph = t () => (int64[1, ?] a, float[3] c) { a = Identity (twice) c = Tanh (w) },
                           else_branch: graph = e () => (int64[1, ?] b, float[3] d) { b = Identity (twice) d = Sin (w) }> }""",
    # One branch of the If forwards an outer value unchanged, the other one computes a new value.
    "either": """g (float[7] x, float[3] w, int64 trips) => (int64[r, n] y, float[3] z) <int64 one = {1}>
        { found = NonZero (x) twice = Add (found, found) few = Less (trips, one)
          y, z = If (few) <then_branch: graph = t () => (int64[1, ?] a, float[3] c) { a = Identity (twice) c = Tanh (w) },
                           else_branch: graph = e () => (int64[1, ?] b, float[3] d) { b = Neg (found) d = Sin (w) }> }""",
}


@pytest.mark.parametrize("optimize", [True, False], ids=["kernels", "O0"])
@pytest.mark.parametrize("name", MODELS)
def test_handed_on(name, optimize):
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 19]>\n' + MODELS[name])
    module = hewn.compile(model, optimize=optimize)
    for trips in (0, 1, 4):
        feeds = {"x": np.array([0, 1, 0, 2, 3, 0, 1], "f"), "w": np.array([1, 2, 3], "f"), "trips": np.array(trips)}
        expected = oracle(model, feeds)
        for got, right in zip(module.run(feeds).values(), expected, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-6)

# SPDX-License-Identifier: Apache-2.0
"""Ops that are compiled to runtime calls, because their results depend on data or on random
numbers."""

import hewn
import numpy as np
import pytest
from numeric import TensorProto, check, feeds_of, one_node, oracle, run
from onnx.parser import parse_model

random = np.random.default_rng(5)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def int64(*values):
    return np.array(values, np.int64)


X = np.round(floats(4, 5, 6))
BOXES = np.sort(random.uniform(0, 1, (2, 7, 2, 2)), axis=2).reshape(2, 7, 4).astype(np.float32)
SCORES = random.uniform(0, 1, (2, 3, 7)).astype(np.float32)
LIMITS = [int64(2), np.array([0.3], np.float32), np.array([0.2], np.float32)]

# Each case of an op that becomes a runtime call has op, opset, inputs, number of outputs,
# attributes.
CASES = [
    ("TopK", 11, [X, int64(3)], 2, {"axis": 1}),
    ("TopK", 11, [X, int64(0)], 2, {}),
    ("TopK", 11, [X.astype(np.int64), int64(6)], 2, {"largest": 0}),
    ("TopK", 10, [X, int64(2)], 2, {"axis": 0}),
    ("TopK", 11, [floats(5, 1003), int64(7)], 2, {}),
    ("TopK", 11, [np.round(floats(5, 1003) * 9), int64(20)], 2, {"largest": 0}),
    ("NonZero", 13, [X], 1, {}),
    ("NonZero", 13, [X > 9], 1, {}),
    ("NonZero", 13, [X.astype(np.uint8)], 1, {}),
    ("Compress", 11, [X, np.array([1, 0, 1], bool)], 1, {"axis": 1}),
    ("Compress", 11, [X, np.array([1, 0, 1, 1], bool)], 1, {}),
    ("TopK", 11, [np.round(floats(2, 300, 37) * 9), int64(5)], 2, {"axis": 1}),
    ("TopK", 11, [np.round(floats(2, 30, 17) * 9).astype(np.int64), int64(5)], 2, {"axis": 1}),
    ("TopK", 11, [np.round(floats(2, 300, 17) * 9).astype(np.int32), int64(40)], 2, {"axis": 1, "largest": 0}),
    ("Unique", 11, [np.round(floats(1000) * 300)], 4, {}),
    ("Unique", 11, [np.round(floats(1000) * 99).astype(np.int64)], 4, {"sorted": 0}),
    ("NonZero", 13, [np.round(floats(3, 7, 300))], 1, {}),
    ("NonZero", 13, [floats(3, 131)], 1, {}),
    ("NonZero", 13, [np.where(floats(2, 3, 150) > 1, 1.0, -0.0).astype(np.float32)], 1, {}),
    ("NonZero", 13, [np.round(floats(200)).astype(np.float32)], 1, {}),
    ("Unique", 11, [X], 4, {}),
    ("Unique", 11, [X], 1, {"sorted": 0}),
    ("Unique", 11, [np.concatenate([X, X])], 4, {"axis": 0}),
    ("NonMaxSuppression", 11, [BOXES, SCORES, *LIMITS], 1, {}),
    ("NonMaxSuppression", 11, [BOXES, SCORES, *LIMITS], 1, {"center_point_box": 1}),
    ("NonMaxSuppression", 11, [BOXES, SCORES, LIMITS[0], None, LIMITS[2]], 1, {}),
    ("NonMaxSuppression", 11, [BOXES, SCORES], 1, {}),
    ("Det", 11, [floats(2, 3, 4, 4)], 1, {}),
    ("Det", 11, [np.ones((3, 3), np.float32)], 1, {}),
]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("op, opset, inputs, outputs, attributes", CASES)
def test_part(op, opset, inputs, outputs, attributes, constant):
    constants = [i for i, x in enumerate(inputs) if constant and i and x is not None]
    model = one_node(op, inputs, outputs=outputs, opset=opset, constants=constants, **attributes)
    feeds = feeds_of(inputs, constants)
    check(run(model, feeds), oracle(model, feeds), rtol=1e-4, atol=1e-5)


def test_optional_outputs():
    model = one_node("Unique", [X], outputs=4, opset=11)
    model.graph.node[0].output[1] = model.graph.node[0].output[3] = ""
    del model.graph.output[3], model.graph.output[1]
    check(run(model, {"x0": X}), oracle(model, {"x0": X}))


def model_of(text):
    import onnx

    return onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 22]>\n' + text)


def test_what_follows():
    """A value with a data-dependent extent is read by elementwise ops, a reduction, and a second
    runtime call."""
    model = model_of("""g (float[n, 6] x) => (float[k] y, float s, int64[m] z)
    <int64[1] minus = {-1}, float zero = {0.0}> {
      at = NonZero(x)
      columns = Transpose<perm = [1, 0]>(at)
      taken = GatherND(x, columns)
      y = Exp(taken)
      s = ReduceSum<keepdims = 0>(y)
      big = Greater(taken, zero)
      where = NonZero(big)
      z = Reshape(where, minus)
    }""")
    module = hewn.compile(model)
    for x in [X[0], X[:, 0], np.zeros((3, 6), np.float32)]:
        taken = x[x != 0]
        got = module.run({"x": x})
        check(list(got.values()), [np.exp(taken), np.exp(taken).sum(), np.flatnonzero(taken > 0)], rtol=1e-5)


def test_in_a_loop():
    model = model_of("""g (float[5] x, int64 trips) => (float[m] y)
    <float zero = {0.0}, float one = {1.0}, bool yes = {1}> {
      y = Loop(trips, yes, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[k] w) {
        d = Identity(c)
        less = Sub(v, one)
        keep = Greater(less, zero)
        w = Compress(less, keep)
      }>
    }""")
    x = np.array([0.5, 3.5, 2.5, 1.5, 9], np.float32)
    module = hewn.compile(model)
    for trips in range(4):
        want = x
        for _ in range(trips):
            want = (want - 1)[want > 1]
        check(list(module.run({"x": x, "trips": np.array(trips)}).values()), [want])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("place", [0, 300, 600])
@pytest.mark.parametrize("wrong", [7, -8, 2**31 - 1, -(2**31)])
def test_indices(kind, place, wrong):
    """The bounds check of many indices is vectorized. It detects each wrong index."""
    indices = random.integers(-7, 7, (7, 91)).astype(kind)
    feeds = {"x0": floats(7, 91), "x1": indices}
    model = one_node("GatherElements", list(feeds.values()), opset=13, axis=0)
    check(run(model, feeds), [np.take_along_axis(feeds["x0"], indices.astype(np.int64), 0)])
    module = hewn.compile(model)
    feeds["x1"] = indices.copy()
    feeds["x1"].flat[place] = wrong
    with pytest.raises(hewn.RunError, match=f"index {wrong} is outside of a dim of 7"):
        module.run(feeds)


def test_wrong_k():
    module = hewn.compile(one_node("TopK", [X, int64(3)], outputs=2, opset=11))
    for k in (-1, 7):
        with pytest.raises(hewn.RunError):
            module.run({"x0": X, "x1": int64(k)})


# Tests of ops that draw random numbers

PROBABILITIES = np.full((100, 300), 0.25, np.float32)
LOGITS = np.log(np.array([[0.1, 0.2, 0.7]], np.float32))
# Each case of a random op has op, inputs, attributes, expected mean, expected standard deviation.
RANDOM = [
    ("RandomNormal", [], {"shape": [100, 300], "mean": 2.0, "scale": 3.0}, 2, 3),
    ("RandomNormalLike", [PROBABILITIES], {"dtype": TensorProto.DOUBLE}, 0, 1),
    ("RandomUniform", [], {"shape": [30000], "low": -1.0, "high": 3.0}, 1, 4 / 12**0.5),
    ("RandomUniformLike", [PROBABILITIES], {"dtype": TensorProto.FLOAT16}, 0.5, 1 / 12**0.5),
    ("Bernoulli", [PROBABILITIES], {}, 0.25, 0.75**0.5 / 2),
    ("Bernoulli", [PROBABILITIES], {"dtype": TensorProto.INT32}, 0.25, 0.75**0.5 / 2),
    ("Multinomial", [LOGITS], {"sample_size": 30000}, 1.6, (0.2 + 2.8 - 1.6**2) ** 0.5),
]


@pytest.mark.parametrize("op, inputs, attributes, mean, deviation", RANDOM)
def test_random(op, inputs, attributes, mean, deviation):
    module = hewn.compile(one_node(op, inputs, opset=17, **attributes))
    first, second = (module.run(feeds_of(inputs))["y0"].astype(np.float64) for _ in range(2))
    for got in (first, second):
        np.testing.assert_allclose([got.mean(), got.std()], [mean, deviation], atol=0.05)
    assert (first != second).any()


@pytest.mark.parametrize("op, inputs, attributes", [case[:3] for case in RANDOM])
def test_seed(op, inputs, attributes):
    results = [run(one_node(op, inputs, opset=17, seed=s, **attributes), feeds_of(inputs))[0] for s in (1.0, 1.0, 2.0)]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


def test_unlike_draws():
    """Two nodes of a random op, and two iterations of a loop with such a node, draw different
    numbers."""
    model = model_of("""g (int64 trips) => (float[8] a, float[8] b, float[t, 8] c)
    <bool yes = {1}> {
      a = RandomUniform<shape = [8]>()
      b = RandomUniform<shape = [8]>()
      c = Loop(trips, yes) <body = b (int64 i, bool go) => (bool d, float[8] r) {
        d = Identity(go)
        r = RandomUniform<shape = [8]>()
      }>
    }""")
    got = hewn.compile(model).run({"trips": np.array(3)})
    rows = [got["a"], got["b"], *got["c"]]
    assert len({row.tobytes() for row in rows}) == 5


def test_dropout():
    """In training mode, Dropout scales each element or sets it to zero."""
    x, ratio = np.ones((100, 300), np.float32), np.array(0.25, np.float32)
    model = one_node("Dropout", [x, ratio, np.array(True)], outputs=2, opset=22)
    module = hewn.compile(model)
    got = module.run({"x0": x, "x1": ratio, "x2": np.array(True)})
    np.testing.assert_array_equal(got["y0"], np.where(got["y1"], np.float32(1 / 0.75), 0))
    assert abs(got["y1"].mean() - 0.75) < 0.02
    check(list(module.run({"x0": x, "x1": ratio, "x2": np.array(False)}).values()), [x, x > 0])


@pytest.mark.parametrize(
    ("op", "indices"),
    [("Gather", [0, 4]), ("Gather", [-5]), ("GatherElements", [[0, 1, 2], [3, 4, 0]]), ("GatherND", [[1, 1], [3, 3]])],
)
def test_an_index_outside_of_its_dim_ends_the_run(op, indices):
    inputs = [np.ones((4, 3), np.float32), np.array(indices, np.int64)]
    module = hewn.compile(one_node(op, inputs))
    with pytest.raises(hewn.RunError, match=r"index -?\d is outside of a dim of \d"):
        module.run(feeds_of(inputs))
    good = [inputs[0], np.zeros_like(inputs[1])]
    assert next(iter(module.run(feeds_of(good)).values())).size


def ordered(dtype, kind):
    """Returns 3 rows of 600 elements with many that are equal, with extreme values, or any."""
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        values = random.integers(limits.min, limits.max, (3, 600), dtype, endpoint=True)
        if kind == "ties":
            return values % dtype(5)
        return np.where(values % 7 == 0, limits.max, np.where(values % 7 == 1, limits.min, values)).astype(dtype)
    values = random.standard_normal((3, 600))
    if kind == "ties":
        values = np.where(values < 0, -0.0, np.round(values))
    else:
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 6e-8, -6e-8])
        values = np.where(values > 1, special[random.integers(0, 6, values.shape)], values)
    return values.astype(dtype)


ORDERED = [np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64]
ORDERED += [np.uint8, np.uint16, np.uint32, np.uint64]
NAMES = {t: np.dtype(t).name for t in ORDERED} | {np.float32: "float", np.float64: "double"}


@pytest.mark.parametrize("dtype", ORDERED)
def test_top_k_of_each_type(dtype):
    """A NaN is larger than all other elements, -0 equals 0, and of equal elements the first is
    better. A small k takes a heap, a large k sorts; 20 rows side by side take heaps together."""
    module = hewn.compile(
        parse_model(
            f"""<ir_version: 10, opset_import: ["" : 21]> g ({NAMES[dtype]}[m, n] x, int64[1] k) => (v, i, w, j, t, u) {{
            v, i = TopK(x, k) w, j = TopK<largest = 0>(x, k) y = Transpose<perm = [1, 0]>(x)
            t, u = TopK<axis = 0>(y, k) }}"""
        )
    )
    for kind in ("ties", "extremes"):
        x = np.concatenate([ordered(dtype, kind) for _ in range(7)])[:20]
        ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape).astype(np.int64)
        for k in (0, 1, 9, 100, 599, 600):
            best, worst = (np.argsort(sign * ranks, axis=1, kind="stable")[:, :k] for sign in (-1, 1))
            got = module.run({"x": x, "k": int64(k)})
            np.testing.assert_array_equal(got["i"], best)
            np.testing.assert_array_equal(got["j"], worst)
            np.testing.assert_array_equal(got["u"], best.T)
            assert got["v"].tobytes() == np.take_along_axis(x, best, 1).tobytes()
            assert got["w"].tobytes() == np.take_along_axis(x, worst, 1).tobytes()
            assert got["t"].tobytes() == np.ascontiguousarray(np.take_along_axis(x, best, 1).T).tobytes()

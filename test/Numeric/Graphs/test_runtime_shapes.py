# SPDX-License-Identifier: Apache-2.0
"""Tests ops whose starts, axes, sizes or scales are dynamic: they are inputs of the model."""

import contextlib

import hewn
import numpy as np
import onnx
import pytest
from numeric import check, feeds_of, one_node, oracle, run
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(11)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def int64(*values):
    return np.array(values, np.int64)


def scales(*values):
    return np.array(values, np.float32)


X = floats(3, 4, 5)
Y = floats(1, 2, 6, 5)
END = np.iinfo(np.int64).max
# Each case of an op with dynamic parameters has op, opset, inputs, attributes.
CASES = [
    ("Slice", 13, [X, int64(1), int64(-1), int64(1)], {}),
    ("Slice", 13, [X, int64(0, -4), int64(END, 3), int64(-1, 0), int64(2, 1)], {}),
    ("Slice", 13, [X, int64(-1, 0), int64(-END, 2), int64(2, 1), int64(-2, 1)], {}),
    ("Slice", 13, [X, int64(9), int64(10), int64(0)], {}),
    ("Pad", 18, [X, int64(1, -1, 2, 0), scales(7).reshape(()), int64(2, -3)], {}),
    ("Pad", 18, [X, int64(1, 2), None, int64(1)], {"mode": "reflect"}),
    ("Squeeze", 13, [floats(1, 3, 1, 2), int64(-2)], {}),
    ("Squeeze", 13, [floats(1, 3, 1, 2, 1), int64(4, 0)], {}),
    ("Unsqueeze", 13, [X, int64(1)], {}),
    ("Unsqueeze", 13, [X, int64(-1, 0, 2)], {}),
    ("CumSum", 14, [X, np.array(-2, np.int32)], {}),
    ("CumSum", 14, [X, np.array(0, np.int64)], {"exclusive": 1, "reverse": 1}),
    ("DFT", 20, [floats(2, 6, 5, 1), None, np.array(1, np.int64)], {}),
    ("DFT", 20, [floats(2, 6, 5, 2), None, np.array(-2, np.int64)], {"inverse": 1}),
    ("Reshape", 14, [X, int64(0, -1)], {}),
    ("Reshape", 14, [X, int64(-1, 5, 3)], {}),
    ("Resize", 19, [Y, None, scales(1, 1, 0.6, 1.7)], {"mode": "linear"}),
    ("Resize", 19, [Y, None, scales(0.5, 2)], {"mode": "cubic", "axes": [2, 3]}),
    ("Resize", 19, [Y, None, scales(2, 0.6)], {"mode": "nearest", "axes": [3, 2], "nearest_mode": "ceil"}),
    ("Resize", 19, [Y, None, scales(0.3, 0.5)], {"mode": "linear", "axes": [2, 3], "antialias": 1}),
    ("Resize", 19, [Y, None, None, int64(2, 3)], {"mode": "cubic", "axes": [2, 3], "antialias": 1}),
    ("Resize", 19, [Y, None, None, int64(9, 9)], {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}),
    ("Resize", 19, [Y, None, None, int64(3, 4)], {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}),
    ("SpaceToDepth", 13, [floats(1, 2, 4, 6)], {"blocksize": 2}),
]


@pytest.mark.parametrize("op, opset, inputs, attributes", CASES)
def test_known_when_run(op, opset, inputs, attributes):
    model = one_node(op, inputs, opset=opset, **attributes)
    check(run(model, feeds_of(inputs)), oracle(model, feeds_of(inputs)), rtol=1e-4, atol=1e-5)


def test_crop():
    """The reference is onnx.reference, because onnxruntime omits samples outside of the image."""
    inputs = [Y, scales(0, 0, 0.2, 0.1, 1, 1, 0.7, 1.3), None, int64(1, 2, 4, 5)]
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    model = one_node("Resize", inputs, opset=19, mode="linear", **attributes)
    want = ReferenceEvaluator(model).run(None, feeds_of(inputs))
    check(run(model, feeds_of(inputs)), want, rtol=1e-4, atol=1e-5)


def test_one_module_for_all():
    """Runs one compiled module with different axes and steps."""
    module = hewn.compile(one_node("Slice", [X, int64(0), int64(0), int64(0), int64(1)], opset=13))
    for start, end, axis, step in [(0, 2, 0, 1), (3, 0, 1, -1), (-1, -99, 2, -2), (1, 4, -1, 3)]:
        index = [slice(None)] * 3
        index[axis] = slice(start, None if end == -99 else end, step)
        feeds = {"x0": X, "x1": int64(start), "x2": int64(end), "x3": int64(axis), "x4": int64(step)}
        check(list(module.run(feeds).values()), [X[tuple(index)]])
    module = hewn.compile(one_node("CumSum", [X, np.array(0)], opset=14))
    for axis in range(-3, 3):
        check(list(module.run({"x0": X, "x1": np.array(axis)}).values()), [np.cumsum(X, axis=axis)], rtol=1e-4)


def test_many_dims():
    """The axis is dynamic, so that each dim of the result is an expression over all dims that the
    axis may select. These expressions stay short."""
    x = floats(2, 1, 3, 1, 2, 1)
    got = run(one_node("Squeeze", [x, int64(-1, 1, 3)], opset=13), {"x0": x, "x1": int64(-1, 1, 3)})
    check(got, [x.reshape(2, 3, 2)])
    got = run(one_node("Unsqueeze", [x, int64(2, 7, 0)], opset=13), {"x0": x, "x1": int64(2, 7, 0)})
    check(got, [np.expand_dims(x, (2, 7, 0))])


def test_appended_by_trips():
    """A loop concatenates slices whose size depends on the iteration. A run in which the sizes
    differ is an error."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]>
    g (float[n] x, int64[1] size, int64[1] more) => (float[t, k] y) <int64 trips = {3}, bool yes = {1}> {
      y = Loop(trips, yes) <body = b (int64 i, bool c) => (bool d, float[k] w)
      <int64[1] one = {1}> {
        d = Identity(c)
        begin = Reshape(i, one)
        grown = Mul(begin, more)
        length = Add(size, grown)
        end = Add(begin, length)
        w = Slice(x, begin, end)
      }>
    }""")
    module, x = hewn.compile(model), np.arange(9, dtype=np.float32)
    (got,) = module.run({"x": x, "size": int64(4), "more": int64(0)}).values()
    check([got], [np.stack([x[i : i + 4] for i in range(3)])])
    with pytest.raises(hewn.RunError, match="another shape"):
        module.run({"x": x, "size": int64(2), "more": int64(1)})


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("width", [0, 2])
def test_how_many_of_nothing(width, trips, optimize):
    """A loop runs zero times, or concatenates slices of width 0. Its result still has the right
    dims."""
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 22]>
    g (float[2, 3] x, int64 trips) => (float[2, 3] y, float[k, 2, {width}] s, int64[3] size) <bool yes = {{1}}> {{
      y, s = Loop(trips, yes, x) <body = b (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w, float[2, {width}] part)
      <int64[1] begin = {{0}}, int64[1] end = {{{width}}}, int64[1] axis = {{1}}> {{
        d = Identity(c)
        w = Add(v, x)
        part = Slice(w, begin, end, axis)
      }}>
      size = Shape(s)
    }}""")
    x = floats(2, 3)
    y, s, size = hewn.compile(model, optimize=optimize).run({"x": x, "trips": np.array(trips)}).values()
    check([y], [x * (trips + 1)], rtol=1e-6)
    want = [(x * (i + 2))[:, :width] for i in range(trips)]
    check([s, size], [np.reshape(np.array(want, np.float32), (trips, 2, width)), int64(trips, 2, width)], rtol=1e-6)


COUNTED = {
    "NonZero": ("v = NonZero(x)", lambda x: np.stack(np.nonzero(x))),
    "Compress": ("z = Cast<to = 9>(x) v = Compress(x, z)", lambda x: x[x != 0]),
    "Unique": ("v = Unique(x)", np.unique),
}


@pytest.mark.parametrize("op", COUNTED)
@pytest.mark.parametrize("optimize", [True, False])
def test_how_many_where_nobody_reads_which(op, optimize):
    """The model uses only the number of selected elements, directly and in a dim of another result.
    A second NonZero has no uses."""
    body, chosen = COUNTED[op]
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 22]>
    g (float[n] x) => (int64[r] shape, float[k] ones) <float[1] one = {{1}}, int64[1] last = {{-1}}> {{
      {body}
      shape = Shape(v)
      size = Gather(shape, last)
      ones = Expand(one, size)
      unread = NonZero(x)
      turned = Transpose(unread)
    }}""")
    module = hewn.compile(model, optimize=optimize)
    for x in ([1, 0, 0, 2, 2, -1], [0, 0], [3]):
        x = np.array(x, dtype=np.float32)
        want = chosen(x).shape
        check(list(module.run({"x": x}).values()), [int64(*want), np.ones(want[-1], dtype=np.float32)])


@pytest.mark.parametrize("optimize", [True, False])
def test_how_many_of_a_loop_and_a_branch(optimize):
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]>
    g (float[n] x, bool c) => (int64[r] s, int64[q] t) <int64 trips = {3}, bool yes = {1}> {
      y = Loop(trips, yes) <body = b (int64 i, bool k) => (bool d, int64[a, e] w) { d = Identity(k) w = NonZero(x) }>
      s = Shape(y)
      z = If(c) <then_branch = kept () => (float[p] u) { m = Cast<to = 9>(x) u = Compress(x, m) },
                 else_branch = all () => (float[p] v) { v = Identity(x) }>
      t = Shape(z)
    }""")
    module = hewn.compile(model, optimize=optimize)
    for x in ([1, 0, 2], [0, 0], []):
        x, count = np.array(x, dtype=np.float32), np.count_nonzero(x)
        for c in (True, False):
            got = module.run({"x": x, "c": np.array(c)})
            check(list(got.values()), [int64(3, 1, count), int64(count if c else len(x))])


def test_wrong_shape():
    module = hewn.compile(one_node("Reshape", [X, int64(5, 12)], opset=14))
    with pytest.raises(hewn.RunError):
        module.run({"x0": X, "x1": int64(5, 13)})


# Each case has op, opset, inputs, and the indices of those inputs that get arbitrary numbers.
ANYTHING = [
    ("Slice", 13, [X, int64(0, 0), int64(2, 2), int64(0, 1), int64(1, 1)], [1, 2, 3, 4]),
    ("Pad", 18, [X, int64(1, 1, 1, 1, 1, 1)], [1]),
    ("Expand", 13, [X, int64(3, 4, 5)], [1]),
    ("Reshape", 14, [X, int64(5, 12)], [1]),
    ("Unsqueeze", 13, [X, int64(0, 2)], [1]),
    ("Split", 13, [X, int64(1, 3)], [1]),
    ("STFT", 17, [floats(1, 32, 1), np.array(4), None, np.array(8)], [1, 3]),
    ("TopK", 11, [X, int64(2)], [1]),
]


@pytest.mark.parametrize("op, opset, inputs, which", ANYTHING)
def test_anything(op, opset, inputs, which):
    """For arbitrary operand values, a run ends with a result or an error."""
    outputs = 2 if op in ("Split", "TopK") else 1
    module = hewn.compile(one_node(op, inputs, outputs=outputs, opset=opset, **({"axis": 1} if outputs == 2 else {})))
    numbers = np.array([0, 1, -1, 2, -2, 3, 7, 100, -(2**45), 2**45, END, -END - 1])
    for _ in range(60):
        feeds = feeds_of(inputs)
        feeds |= {f"x{i}": random.choice(numbers, inputs[i].shape).astype(np.int64) for i in which}
        with contextlib.suppress(hewn.RunError):
            module.run(feeds)


# Pairs of dynamic dims that broadcast: one of them is 1, or they are equal. 0 is treated as any
# other number.
MEETING = [(1, 3), (3, 1), (3, 3), (1, 1), (0, 0), (1, 0), (0, 1)]
APART = [(2, 3), (0, 3), (3, 0)]


def three(a, b, c):
    """Returns the size to which three dims broadcast, or None if they do not."""
    others = {dim for dim in (a, b, c) if dim != 1}
    return None if len(others) > 1 else others.pop() if others else 1


@pytest.fixture(scope="module")
def meeting():
    return hewn.compile(
        onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["" : 18]>
               g (float[a, 2] x, float[b, 2] y, int64[2] shape, float[a, 2, 4] p, float[b, 4, 3] q) => (s, w, e, m) {
                 s = Add(x, y)
                 zero = Constant<value = float {0.0}>()
                 c = Greater(x, zero)
                 w = Where(c, y, x)
                 e = Expand(x, shape)
                 m = MatMul(p, q)
               }"""
        )
    )


def meeting_feeds(a, b, to):
    shape = int64(to, 2)
    return {"x": floats(a, 2), "y": floats(b, 2), "shape": shape, "p": floats(a, 2, 4), "q": floats(b, 4, 3)}


@pytest.mark.parametrize("a, b", MEETING)
def test_dims_that_meet(meeting, a, b):
    feeds = meeting_feeds(a, b, b)
    got = meeting.run(feeds)
    x, y = feeds["x"], feeds["y"]
    want = [
        x + y,
        np.where(x > 0, y, x),
        np.broadcast_to(x, np.broadcast_shapes(x.shape, (b, 2))),
        feeds["p"] @ feeds["q"],
    ]
    check([got[name] for name in "swem"], want)


@pytest.mark.parametrize("a, b", APART)
def test_dims_that_do_not_meet(meeting, a, b):
    with pytest.raises(hewn.RunError, match="neither 1 nor"):
        meeting.run(meeting_feeds(a, b, 1))
    with pytest.raises(hewn.RunError, match="neither 1 nor"):
        meeting.run(meeting_feeds(a, a, b))


def test_three_dims_that_meet():
    """Broadcasting three symbolic dims gives the same dim, whichever two of them are broadcast
    first."""
    module = hewn.compile(
        onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["" : 18]> g (float[a] x, float[b] y, float[c] z) => (l, r, v) {
                 xy = Add(x, y) l = Add(xy, z) yz = Add(y, z) r = Add(x, yz) v = Sum(z, y, x) }"""
        )
    )
    for dims in np.ndindex(4, 4, 4):
        x, y, z = (floats(dim) for dim in dims)
        feeds = {"x": x, "y": y, "z": z}
        if three(*dims) is None:
            with pytest.raises(hewn.RunError, match="neither 1 nor"):
                module.run(feeds)
        else:
            check(list(module.run(feeds).values()), [x + y + z] * 3)
    assert len({output.shape for output in module.outputs}) == 1


def scan_model(state, line, op="Add"):
    """A recurrence: each step adds a row of x to the state h, and returns it."""
    make = onnx.helper.make_tensor_value_info
    float32 = onnx.TensorProto.FLOAT
    body = onnx.helper.make_graph(
        [
            onnx.helper.make_node(op, ["h0", "x0"], ["sum"]),
            onnx.helper.make_node("Tanh", ["sum"], ["h1"]),
            onnx.helper.make_node("Identity", ["h1"], ["y0"]),
        ],
        "body",
        [make("h0", float32, None), make("x0", float32, None)],
        [make("h1", float32, None), make("y0", float32, None)],
    )
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Scan", ["h", "x"], ["last", "y"], body=body, num_scan_inputs=1)],
        "scan",
        [make("h", float32, state), make("x", float32, line)],
        [make("last", float32, None), make("y", float32, None)],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(
    "state, line", [(["a", 4], ["t", "b", 4]), (["a", "c"], ["t", "b", "d"]), ([3, "c"], ["t", "b", "d"])]
)
def test_a_state_whose_dims_have_other_names(state, line):
    """The body of a Scan broadcasts its state and its row, whose dims have different names. The
    state keeps its shape if its dims are those of the result."""
    model = scan_model(state, line)
    module = hewn.compile(model)
    for steps, rows in ((5, (3, 4)), (1, (3, 4)), (2, (1, 4))):
        feeds = {"h": floats(3, 4), "x": floats(steps, *rows)}
        check(module.run(feeds).values(), oracle(model, feeds))
    for h, x in (((1, 4), (2, 3, 4)), ((2, 4), (2, 3, 4))):
        with pytest.raises(hewn.RunError):
            module.run({"h": floats(*h), "x": floats(*x)})


def test_a_state_that_can_not_keep_its_shape():
    with pytest.raises(hewn.CompileError, match=r"state 0 has shape \[1, 4\], but the body returns \[3, 4\]"):
        hewn.compile(scan_model([1, 4], ["t", 3, 4]))
    with pytest.raises(hewn.CompileError, match="state 0 has shape"):
        hewn.compile(scan_model(["a"], ["t", "b", "a"]))


@pytest.mark.parametrize("shape", [("b", 2, "n", 8), ("b", "n", 16), (2, 2, 3, 8)])
@pytest.mark.parametrize("batch", [1, "b", "c"])
def test_caches_that_all_batch_elements_share(shape, batch):
    """Without position_ids, the caches of a RotaryEmbedding may have one batch element, as PyTorch's
    exporter writes them."""
    make = onnx.helper.make_tensor_value_info
    length = shape[2] if len(shape) == 4 else shape[1]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("RotaryEmbedding", ["x", "cos", "sin"], ["y"], num_heads=2)],
        "rotary",
        [
            make("x", onnx.TensorProto.FLOAT, shape),
            make("cos", onnx.TensorProto.FLOAT, [batch, length, 4]),
            make("sin", onnx.TensorProto.FLOAT, [batch, length, 4]),
        ],
        [make("y", onnx.TensorProto.FLOAT, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=11)
    module = hewn.compile(model)
    x = floats(*({"b": 2, "n": 3}.get(d, d) for d in shape))
    for rows in (1, 2):
        if batch not in (rows, "c") and not (batch == "b" and rows == 2):
            continue
        cos, sin = floats(rows, 3, 4), floats(rows, 3, 4)
        # ONNX's reference requires caches with all batch elements
        whole = {"x": x, "cos": np.broadcast_to(cos, (2, 3, 4)), "sin": np.broadcast_to(sin, (2, 3, 4))}
        check([module(x, cos, sin)], ReferenceEvaluator(model).run(None, whole))
    if batch == "c":
        with pytest.raises(hewn.RunError, match="neither 1 nor the 2"):
            module(x, floats(3, 3, 4), floats(3, 3, 4))

# SPDX-License-Identifier: Apache-2.0
"""Strings, sequences and optional values, compared with onnxruntime: as inputs and outputs, and
through indexing ops, branches and loops."""

import hewn
import numpy as np
import onnx
import pytest
from numeric import oracle

PARSE = onnx.parser.parse_model


def parsed(text, opset=19):
    return PARSE(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def same(got, want):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b)
    elif want is None:
        assert got is None
    else:
        want = np.asarray(want)
        assert got.shape == want.shape
        if want.dtype.kind in "OU":
            assert got.tolist() == want.tolist()
        else:
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-5)


def compare(model, want=None, **feeds):
    module = hewn.compile(model)
    wanted = oracle(model, feeds) if want is None else want
    for _ in range(2):  # the second run reuses memory of the first
        same(list(module.run(feeds).values()), wanted)
    return module


def text(*strings):
    return np.array(strings, dtype=object)


WORDS = text("one", "zwei", "trzy", "", "b\u00e4r \U0001f43b")

# Indexing ops copy strings without reading them.
MOVES = [
    "y = Identity(x)",
    "shape = Constant<value_ints = [5, 1]>() y = Reshape(x, shape)",
    "at = Constant<value_ints = [4, 0, -2]>() y = Gather(x, at)",
    "y = Concat<axis = 0>(x, x)",
    "s = Constant<value_ints = [1]>() e = Constant<value_ints = [4]>() y = Slice(x, s, e)",
    "c = Equal(x, k) y = Where(c, k, x)",
    "t = Constant<value_ints = [3, 5]>() e = Expand(x, t) y = Transpose(e)",
    "r = Constant<value_ints = [2]>() y = Tile(x, r)",
]


@pytest.mark.parametrize("nodes", MOVES)
def test_strings_are_moved(nodes):
    model = parsed(f'g (string[n] x) => (y) <string k = {{"zwei"}}> {{ {nodes} }}')
    compare(model, x=WORDS)


def test_constant_strings():
    model = parsed(
        'g (int64[n] i) => (y, z) <string[3] t = {"a", "", "long one"}> { y = Gather(t, i) z = Identity(t) }'
    )
    compare(model, i=np.array([2, 0, 1, 2]))


def test_strings_of_an_input_are_checked():
    module = hewn.compile(parsed("g (string[n] x) => (y) { y = Identity(x) }"))
    assert module.inputs[0].dtype == object and module.inputs[0].kind == "tensor"
    assert module.run({"x": ["a", "b"]})["y"].tolist() == ["a", "b"]
    assert module.run({"x": np.array(["a", "bc"])})["y"].tolist() == ["a", "bc"]
    with pytest.raises(hewn.RunError, match=r"^input 'x' has int elements, but the model expects strings$"):
        module.run({"x": np.array([1, 2])})
    with pytest.raises(hewn.RunError, match=r"^input 'x' has NoneType elements, but the model expects strings$"):
        module.run({"x": ["a", None]})
    with pytest.raises(hewn.RunError, match=r"^input 'x': 'utf-8' codec can't encode character '.ud800'"):
        module.run({"x": ["\ud800"]})
    with pytest.raises(hewn.RunError, match="zero byte"):
        module.run({"x": [b"a\0b"]})
    mixed = ["", "é", "日本" * 50, "😀", b"\xff\xfe", "\udcff", np.str_("s"), np.bytes_(b"t")]
    decoded = ["", "é", "日本" * 50, "😀", "\udcff\udcfe", "\udcff", "s", "t"]
    assert module.run({"x": mixed})["y"].tolist() == decoded
    assert module.run({"x": np.array(decoded, object)[::-2]})["y"].tolist() == decoded[::-2]
    assert module.run({"x": []})["y"].shape == (0,)
    with pytest.raises(hewn.RunError, match="zero byte"):
        module.run({"x": ["a\0b"]})
    with pytest.raises(hewn.CompileError, match="zero byte"):
        hewn.compile(one_constant("a\0b"))


def one_constant(string):
    model = parsed('g () => (y) { y = Constant<value_string = "x">() }')
    model.graph.node[0].attribute[0].s = string.encode()
    return model


@pytest.mark.parametrize("op", ["Add(x, x)", "Resize(x, , s)", "Unique(x)"])
def test_strings_are_no_numbers(op):
    with pytest.raises(hewn.CompileError):
        hewn.compile(parsed(f"g (string[n] x) => (y) <float[1] s = {{2}}> {{ y = {op} }}"))


def test_string_ops():
    model = parsed(
        """g (string[n] x, string[m, 1] y) => (both, parts, count, same) {
           both = StringConcat(x, y) parts, count = StringSplit<delimiter = "e">(both) same = Equal(both, x) }""",
        20,
    )
    compare(model, x=WORDS, y=text("", "eve").reshape(2, 1))


def test_n_grams_of_strings():
    model = parsed(
        """g (string[n] x) => (y) { y = TfIdfVectorizer<max_gram_length = 2, max_skip_count = 1, min_gram_length = 1,
           mode = "TF", ngram_counts = [0, 2], ngram_indexes = [0, 1, 2, 3], pool_strings = ["a", "b", "a", "c", "b", "a"]>(x) }"""
    )
    compare(model, x=text("a", "c", "b", "a", "x", "a", "c"))


ROWS = [np.arange(3, dtype=np.float32), np.ones(5, np.float32), np.zeros(0, np.float32)]


def test_sequences_at_the_door():
    model = parsed(
        """g (seq(float[n]) s, int64 at, float[m] x) => (taken, longer, shorter, length, all) {
           taken = SequenceAt(s, at) longer = SequenceInsert(s, x, at) shorter = SequenceErase(longer, at)
           length = SequenceLength(longer) all = ConcatFromSequence<axis = 0>(longer) }"""
    )
    module = compare(model, s=ROWS, at=np.array(1), x=np.full(2, 7, np.float32))
    assert module.inputs[0].kind == "sequence" and module.inputs[0].shape == (None,)
    with pytest.raises(hewn.RunError, match="position 3 is out of range for a sequence of length 3"):
        module.run({"s": ROWS, "at": np.array(3), "x": ROWS[0]})
    with pytest.raises(hewn.RunError, match=r"'s'.*rank"):
        module.run({"s": [np.ones((2, 2), np.float32)], "at": np.array(0), "x": ROWS[0]})
    with pytest.raises(hewn.RunError, match="float64, but the model expects float32"):
        module.run({"s": [np.ones(2)], "at": np.array(0), "x": ROWS[0]})
    with pytest.raises(hewn.RunError, match="expects a list of arrays"):
        module.run({"s": ROWS[0], "at": np.array(0), "x": ROWS[0]})


def test_a_sequence_of_strings():
    model = parsed(
        "g (seq(string[n]) s, string[m] x) => (y, z) { y = SequenceInsert(s, x) i = Constant<value_int = -1>() z = SequenceAt(y, i) }"
    )
    compare(model, s=[WORDS, text("q")], x=text("last", ""))


@pytest.mark.parametrize("sizes", [np.array(2), np.array([1, 0, 4])])
def test_split_by_sizes_that_a_run_knows(sizes):
    kind = "int64" if sizes.ndim == 0 else "int64[k]"
    model = parsed(f"g (float[2, n] x, {kind} k) => (y) {{ y = SplitToSequence<axis = 1>(x, k) }}")
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    module = compare(model, x=x, k=sizes)
    with pytest.raises(hewn.RunError, match="do not add up to the dim size 5"):
        module.run({"x": x, "k": np.zeros_like(sizes)})


def test_a_loop_that_collects():
    model = parsed(
        """g (int64 trips, float[n] x) => (collected, length) {
           first = SequenceEmpty()
           collected = Loop(trips, , first) <body = b (int64 i, bool c, seq(float) before) => (bool go, seq(float) after) {
             go = Identity(c) f = Cast<to = 1>(i) y = Mul(x, f) after = SequenceInsert(before, y) }>
           length = SequenceLength(collected) }"""
    )
    compare(model, trips=np.array(6), x=ROWS[0])
    compare(model, trips=np.array(0), x=ROWS[0])


def test_a_list_that_branches_give():
    model = parsed(
        """g (bool c, float[n] x, float[2, m] y) => (s) {
           s = If(c) <then_branch = t () => (seq(float) a) { a = SequenceConstruct(x, x) },
                      else_branch = e () => (seq(float) b) { z = Neg(y) b = SequenceConstruct(z) }> }"""
    )
    for c in (True, False):
        compare(model, c=np.array(c), x=ROWS[0], y=np.ones((2, 3), np.float32))


def test_map_over_open_dims():
    model = parsed(
        """g (seq(float[n, k]) s, float[k] x) => (y, z) {
           y, z = SequenceMap(s, x) <body = b (float[n, k] e, float[k] f) => (float[n, k] p, int64[2] q) {
             p = Add(e, f) q = Shape(e) }> }"""
    )
    compare(model, s=[np.ones((n, 3), np.float32) for n in (1, 4, 2)], x=ROWS[0])


def test_optional_values():
    model = parsed(
        """g (optional(float[n]) o) => (there, y) {
           there = OptionalHasElement(o)
           y = If(there) <then_branch = t () => (float[n] a) { a = OptionalGetElement(o) },
                          else_branch = e () => (float[n] b) { b = Constant<value_floats = [4.0, 5.0]>() }> }"""
    )
    module = compare(model, [np.array(True), ROWS[0]], o=ROWS[0])
    same(list(module.run({"o": None}).values()), [np.array(False), np.array([4, 5], np.float32)])
    assert module.inputs[0].kind == "optional"
    model = parsed("g (optional(float[n]) o) => (y) { y = OptionalGetElement(o) }")
    with pytest.raises(hewn.RunError, match="does not hold"):
        hewn.compile(model).run({"o": None})


def test_a_rank_that_nobody_tells():
    model = parsed("g (seq(float[]) s) => (y) { i = Constant<value_int = 0>() y = SequenceAt(s, i) }")
    with pytest.raises(hewn.CompileError, match="specify a shape in the input's type"):
        hewn.compile(model)


def cast(x, to, opset=19):
    kind = {"O": onnx.TensorProto.STRING}.get(x.dtype.kind) or onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Cast", ["x"], ["y"], to=to)],
        "cast",
        [onnx.helper.make_tensor_value_info("x", kind, [None])],
        [onnx.helper.make_tensor_value_info("y", to, [None])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=9)
    return hewn.compile(model).run({"x": x})["y"]


FLOATS = [0.1, 1, 100, 1e6, -0.0, 1e10, 123456789, 1e-7, 1e38, 1 / 3, 16777216, np.nan, np.inf, -np.inf]
NUMBERS = {
    "float32": (onnx.TensorProto.FLOAT, FLOATS),
    "float64": (onnx.TensorProto.DOUBLE, [*FLOATS, 5e-324, 1.7976931348623157e308, 2**53 + 2.0]),
    "float16": (onnx.TensorProto.FLOAT16, [0.1, -2, 65504, np.inf]),
    "int64": (onnx.TensorProto.INT64, [0, -5, 2**63 - 1, -(2**63)]),
    "uint64": (onnx.TensorProto.UINT64, [0, 2**64 - 1]),
    "int8": (onnx.TensorProto.INT8, [-128, 127]),
    "uint32": (onnx.TensorProto.UINT32, [2**32 - 1]),
    "bool": (onnx.TensorProto.BOOL, [True, False]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_as_text_read_back(name):
    kind, values = NUMBERS[name]
    x = np.array(values, name)
    strings = cast(x, onnx.TensorProto.STRING)
    np.testing.assert_array_equal(cast(strings, kind), x)
    if name == "float32":  # the format of onnxruntime
        want = "0.1 1 100 1000000 -0 1e+10 1.2345679e+08 1e-07 9.9999997e+37 0.33333334 16777216 NaN INF -INF"
        assert strings.tolist() == want.split()


def test_what_numbers_are_read():
    x = text("1", " -2.5\n", "+1e-5", "1E8", "infinity", "-inf", "nAn", "1e400")
    want = np.array([1, -2.5, 1e-5, 1e8, np.inf, -np.inf, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(cast(x, onnx.TensorProto.FLOAT), want)
    x = text("100.5", "-7.9", "1e3", "9223372036854775807", " 12 ")
    assert cast(x, onnx.TensorProto.INT64).tolist() == [100, -7, 1000, 2**63 - 1, 12]
    assert cast(text("0.5", "0", "-1"), onnx.TensorProto.BOOL).tolist() == [True, False, True]


@pytest.mark.parametrize("string", ["", " ", "abc", "1.5x", "0x10", "1,5", "nan(1)", "1 2", "--1", "é"])
@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.INT32])
def test_text_that_is_not_a_number(string, kind):
    with pytest.raises(hewn.RunError, match="string 1 is not a number"):
        cast(text("1", string), kind)


def test_integers_that_no_integer_holds():
    with pytest.raises(hewn.RunError, match="string 0 is not a number"):
        cast(text("1e30"), onnx.TensorProto.INT64)

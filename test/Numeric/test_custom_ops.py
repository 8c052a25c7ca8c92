# SPDX-License-Identifier: Apache-2.0
"""Custom ops as C and Python functions. Tests all forms of shapes, attributes, failures, and which
of several definitions of an op applies."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

import hewn
import numpy as np
import onnx
import pytest
from hewn._custom import CustomOps

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE.parents[1] / "include"
COMPILER = shutil.which("clang-22") or shutil.which("cc")
F = np.float32


def compiled(folder, source):
    path = folder / "ops.o"
    flags = ["-std=c99", "-O1", "-fPIC", "-Wall", "-Werror", f"-I{INCLUDE}"]
    subprocess.run([COMPILER, *flags, "-c", source, "-o", path], check=True)
    return str(path)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("custom"), HERE / "custom_ops.c")


def model(body, domain="t", opset=18):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "{domain}" : 1]> {body}')


def tensor(name, *dims, type="float32", **more):
    return {"name": name, "type": type, "dims": list(dims), **more}


def attribute(name, type, **more):
    return {"name": name, "type": type, **more}


def op(name, function, inputs, outputs, **more):
    return {"domain": "t", "name": name, "function": function, "inputs": inputs, "outputs": outputs, **more}


AFFINE = op(
    "Affine",
    "t_affine",
    [tensor("x", "...", "n")],
    [tensor("y", "...", "n")],
    attributes=[attribute("alpha", "float", default=2), attribute("bias", "int", default=1)],
)
PAIRS = op("Pairs", "t_pairs", [tensor("x", "n", "m")], [tensor("halves", "n", "floordiv(m, 2)"), tensor("sums", "n")])
ABOVE = op(
    "Above",
    "t_above",
    [tensor("x", "n", "m")],
    [tensor("places", "count", 2, type="int64"), tensor("values", "count")],
    sizes=[{"name": "count", "at_most": "n*m"}],
)
REPEAT = op(
    "Repeat",
    "t_repeat",
    [tensor("x", "n"), tensor("times", "n", type="int64")],
    [tensor("y", "total + 1")],
    shape_function="t_total",
    sizes=[{"name": "total", "at_most": 100}],
)
SUM = op(
    "Sum",
    "t_sum",
    [tensor("a", "n"), tensor("b", "n", optional=True), tensor("more", "n", optional=True, variadic=True)],
    [tensor("y", "n")],
)


def build(code, text, *ops, **options):
    return hewn.compile(model(text), custom_ops={"link": [code], "ops": list(ops)}, **options)


X = np.arange(12, dtype=F).reshape(3, 4) - 5

# Shapes are constant or symbolic. The op stands between kernels. Tests also run at -O0 and with
# threads.


@pytest.mark.parametrize("dims", ["3, 4", "n, m"])
@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"threads": 2}, {"target": "x86-64-v2"}])
def test_shapes_are_known(code, dims, options):
    module = build(
        code,
        f"g (float[{dims}] x) => (y, z) {{ a = Neg(x) b = t.Affine<alpha = -1.0>(a) halves, z = t.Pairs(b) y = Abs(halves) }}",
        AFFINE,
        PAIRS,
        **options,
    )
    assert module.outputs[0].shape == ((3, 2) if dims == "3, 4" else ("n", "floordiv(m, 2)"))
    got = module.run({"x": X})
    halves = (X + 1).reshape(3, 2, 2).sum(2)
    np.testing.assert_array_equal(got["y"], np.abs(halves))
    np.testing.assert_array_equal(got["z"], halves.sum(1))


def test_any_rank(code):
    for shape in [(4,), (2, 3, 4), (1, 0, 4)]:
        x = np.ones(shape, F)
        module = build(code, f"g (float[{','.join(map(str, shape))}] x) => (y) {{ y = t.Affine(x) }}", AFFINE)
        np.testing.assert_array_equal(module.run({"x": x})["y"], 2 * x + 1)


@pytest.mark.parametrize("dims", ["3, 4", "n, m"])
def test_sizes_that_the_function_tells(code, dims):
    module = build(
        code,
        f"g (float[{dims}] x) => (places, w) {{ places, values = t.Above(x) w = Mul(values, values) }}",
        ABOVE,
    )
    for x in (X, -np.abs(X), np.abs(X) + 1):
        got = module.run({"x": x})
        np.testing.assert_array_equal(got["places"], np.argwhere(x > 0))
        np.testing.assert_array_equal(got["w"], x[x > 0] ** 2)


def test_a_shape_function(code):
    module = build(code, "g (float[n] x, int64[k] t) => (y, z) { y = t.Repeat(x, t) z = Neg(y) }", REPEAT)
    for times in ([1, 0, 3], [0, 0, 0]):
        got = module.run({"x": np.array([5, 6, 7], F), "t": np.array(times)})
        want = np.concatenate([[-1], np.repeat(np.array([5, 6, 7], F), times)]).astype(F)
        np.testing.assert_array_equal(got["y"], want)
        np.testing.assert_array_equal(got["z"], -want)
    with pytest.raises(hewn.RunError, match="equal"):
        module.run({"x": np.zeros(3, F), "t": np.zeros(2, np.int64)})
    with pytest.raises(hewn.RunError, match=r"takes 101 elements along a dim that has 100"):
        module.run({"x": np.zeros(1, F), "t": np.array([101])})
    with pytest.raises(hewn.RunError, match="wrote the size -2"):
        module.run({"x": np.zeros(1, F), "t": np.array([-2])})


@pytest.mark.parametrize(
    "dim, size", [("total - 3", 1), ("n - total", 99), ("floordiv(total, 2) - 1", 0), ("total", -2)]
)
def test_no_function_is_called_for_a_dim_below_zero(dim, size):
    """The runtime does not call a function for a negative dim. The shape function may return it, or
    a dim expression may give it."""
    called = []
    take = op(
        "Take",
        lambda x: called.append(x) or x,
        [tensor("x", "n")],
        [tensor("y", dim)],
        shape_function=lambda x: size,
        sizes=[{"name": "total"}],
    )
    module = hewn.compile(model("g (float[n] x) => (y) { y = t.Take(x) }"), custom_ops={"ops": [take]})
    with pytest.raises(hewn.RunError, match=r"along a dim that has -|is -2"):
        module.run({"x": X[0]})
    assert not called


def test_in_branches_and_loops(code):
    text = """g (float[2, 2] x, bool c, int64 trips) => (y, z) {
      y = If(c) <then_branch = th () => (float[2, 2] p) { p = t.Affine(x) }, else_branch = el () => (float[2, 2] q) { q = Neg(x) }>
      z = Loop(trips, , x) <body = b (int64 i, bool k, float[2, 2] v) => (bool go, float[2, 2] w) { go = Identity(k) w = t.Affine(v) }>
    }"""
    module = build(code, text, AFFINE)
    x = np.ones((2, 2), F)
    for c in (True, False):
        got = module.run({"x": x, "c": np.array(c), "trips": np.array(3)})
        np.testing.assert_array_equal(got["y"], 3 * x if c else -x)
        np.testing.assert_array_equal(got["z"], 15 * x)


@pytest.mark.parametrize("call, factor", [("x", 1), ("x, x", 2), ("x, , x", 2), ("x, , x, x, x", 4)])
def test_inputs_that_are_absent(code, call, factor):
    module = build(code, f"g (float[n] x) => (y) {{ y = t.Sum({call}) }}", SUM)
    np.testing.assert_array_equal(module.run({"x": X[0]})["y"], factor * X[0])


ATTRIBUTES = [
    attribute("i", "int", default=-7),
    attribute("f", "float", default=0.25),
    attribute("s", "string", default="abc"),
    attribute("is", "ints", default=[1, 2]),
    attribute("fs", "floats", default=[0.5, 3]),
    attribute("ss", "strings", default=["p", ""]),
    attribute("t", "tensor"),
    attribute("none", "ints"),
]
DESCRIBE = op("Describe", "t_describe", [], [tensor("y", type="string")], attributes=ATTRIBUTES)


def test_attributes_of_every_type(code):
    given = """i = 9223372036854775807, f = 1.5, s = "long enough for two words", is = [3], fs = [1.0, 2.0, -3.5],
               ss = ["one", "", "three and more"], t = float[3] {1, 2.5, 3}, none = [4]"""
    module = build(code, f"g () => (y, z) {{ y = t.Describe<{given}>() z = t.Describe() }}", DESCRIBE)
    got = module.run({})
    assert got["y"].item() == (
        "9223372036854775807;1.5;long enough for two words/25;3,1,2,-3.5,one,,three and more,2.5 of 3;4,"
    )
    assert got["z"].item() == "-7;0.25;abc/3;1,2,0.5,3,p,,none;none;"


def test_strings(code):
    mark = op("Mark", "t_mark", [tensor("x", "n", type="string")], [tensor("y", "n", type="string")])
    module = build(code, "g (string[n] x) => (z) { y = t.Mark(x) z = Concat<axis = 0>(y, x) }", mark)
    assert module.run({"x": ["a", "", "\u00e9"]})["z"].tolist() == ["a!", "!", "\u00e9!", "a", "", "\u00e9"]


def test_types_by_name():
    twice = op(
        "Twice",
        lambda x, y: x + y,
        [tensor("x", "n", type="T"), tensor("y", "n", type="T")],
        [tensor("z", "n", type="T")],
        types={"T": ["float64", "int32", "float16"]},
    )
    for dtype, name in ((np.float64, "double"), (np.int32, "int32"), (np.float16, "float16")):
        module = hewn.compile(model(f"g ({name}[n] x) => (z) {{ z = t.Twice(x, x) }}"), custom_ops={"ops": [twice]})
        x = np.arange(5).astype(dtype)
        got = module.run({"x": x})["z"]
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, 2 * x)
    with pytest.raises(
        hewn.CompileError, match="is int64, and its definition in custom ops takes float64, int32, float16"
    ):
        hewn.compile(model("g (int64[n] x) => (z) { z = t.Twice(x, x) }"), custom_ops={"ops": [twice]})
    with pytest.raises(hewn.CompileError, match="'y' is int32, and an input of the same type before it float64"):
        hewn.compile(model("g (double[n] x, int32[n] y) => (z) { z = t.Twice(x, y) }"), custom_ops={"ops": [twice]})


COUNT = op("Count", "t_count", [], [tensor("y", 1)])


def test_a_compile_runs_nothing(code):
    """The compiler does not call the op's function. At run time each node calls it once. If the op
    is declared pure, equal nodes are merged."""
    text = "g () => (a, b) { a = t.Count() b = t.Count() c = t.Count() }"
    for pure in (False, True):
        module = build(code, text, {**COUNT, "pure": pure})
        got = module.run({})
        # The library contains its own copy of the custom op's function, which has not been called
        # before.
        assert got["a"] == 0
        assert got["b"] == (0 if pure else 1)


def test_failures(code):
    fail = op("Fail", "t_fail", [tensor("x", "n")], [tensor("y", "n")], attributes=[attribute("need", "int")])
    module = build(code, "g (float[n] x) => (y) { [short] y = t.Fail<need = 9>(x) }", fail, AFFINE)
    with pytest.raises(hewn.RunError, match="node 'short': 4 samples are too few for 9"):
        module.run({"x": X[0]})
    many = op("Many", "t_too_many", [tensor("x", "n")], [tensor("y", "k")], sizes=[{"name": "k", "at_most": "n"}])
    module = build(code, "g (float[n] x) => (y) { y = t.Many(x) }", many)
    with pytest.raises(hewn.RunError, match=r"wrote the size 5, which is outside 0\.\.4"):
        module.run({"x": X[0]})


def test_what_the_file_says_of_inputs_is_checked(code):
    module = build(code, "g (float[n] a, float[m] b) => (y) { y = t.Sum(a, b) }", SUM)
    module.run({"a": X[0], "b": X[1]})
    with pytest.raises(hewn.RunError, match="two of its sizes must be equal, and are 4 and 3"):
        module.run({"a": X[0], "b": X[1][:3]})
    for body, why in [
        ("(float[3] a, float[4] b) => (y) { y = t.Sum(a, b) }", "a dim of 4 where its definition requires 3"),
        ("(float[3, 1] a) => (y) { y = t.Sum(a) }", r"input 0 has dims \[3, 1\], but its definition requires \[n\]"),
        ("(float[3] a) => (y) { y = t.Sum<axis = 1>(a) }", "has the attribute 'axis', which its definition"),
        ("(float[3] a) => (y, z) { y, z = t.Sum(a) }", "has 2 outputs, and its definition in custom ops makes 1"),
        ("(float[3] a) => (y) { y = t.Sum(, a) }", "lacks input 0 'a'"),
        ("(int64[3] a) => (y) { y = t.Sum(a) }", "'a' is int64, and its definition in custom ops takes float32"),
        ("(seq(float[n]) a) => (y) { y = t.Sum(a) }", "is a sequence or an optional value"),
    ]:
        with pytest.raises(hewn.CompileError, match=why):
            build(code, "g " + body, SUM)


def test_dims_that_are_attributes():
    frames = op(
        "Frames",
        lambda x, size, hop: np.stack([x[i : i + size] for i in range(0, len(x) - size + 1, hop)]),
        [tensor("x", "n")],
        [tensor("y", "floordiv(n - size, hop) + 1", "size")],
        attributes=[attribute("size", "int", required=True), attribute("hop", "int", default=2)],
    )
    ops = {"ops": [frames]}
    module = hewn.compile(model("g (float[n] x) => (y) { y = t.Frames<size = 4>(x) }"), custom_ops=ops)
    assert module.run({"x": np.arange(9, dtype=F)})["y"].shape == (3, 4)
    with pytest.raises(hewn.RunError, match=r"its shape is \[-1, 4\], which is not a valid tensor shape"):
        module.run({"x": np.arange(1, dtype=F)})
    with pytest.raises(hewn.CompileError, match="lacks the attribute 'size'"):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Frames(x) }"), custom_ops=ops)
    with pytest.raises(hewn.CompileError, match="divides by 0"):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Frames<size = 4, hop = 0>(x) }"), custom_ops=ops)


# Tests of custom ops that are Python functions


def test_python_functions():
    def above(x):
        places = np.argwhere(x > 0)
        return places, x[x > 0]

    module = hewn.compile(
        model("g (float[n, m] x) => (places, values) { places, values = t.Above(x) }"),
        custom_ops=[{"ops": [{**ABOVE, "function": above}]}],
    )
    got = module.run({"x": X})
    np.testing.assert_array_equal(got["places"], np.argwhere(X > 0))
    np.testing.assert_array_equal(got["values"], X[X > 0])
    repeat = {
        **REPEAT,
        "function": lambda x, times: np.concatenate([[-1], np.repeat(x, times)]).astype(F),
        "shape_function": lambda x, times: times.sum(),
    }
    module = hewn.compile(
        model("g (float[n] x, int64[n] t) => (y) { y = t.Repeat(x, t) }"), custom_ops={"ops": [repeat]}
    )
    assert module.run({"x": X[0], "t": np.array([0, 1, 0, 2])})["y"].tolist() == [-1, -4, -2, -2]


def test_python_functions_see_attributes_and_strings():
    seen = []

    def describe(**attributes):
        seen.append(attributes)
        return "line"

    module = hewn.compile(
        model('g () => (y) { y = t.Describe<t = float[2] {1, 2}, ss = ["u", "v"]>() }'),
        custom_ops={"ops": [{**DESCRIBE, "function": describe}]},
    )
    assert module.run({})["y"].item() == "line"
    assert seen[0].pop("t").tolist() == [1, 2]
    assert seen[0] == {"i": -7, "f": 0.25, "s": "abc", "is": [1, 2], "fs": [0.5, 3], "ss": ["u", "v"], "none": None}


@pytest.mark.parametrize(
    "function, why",
    [
        (lambda a, b: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda a, b: (a, a), "returned 2 results, but its definition has 1"),
        (lambda a, b: a.astype(np.float64), "result 0 is float64, but its definition has float32"),
        (lambda a, b: a[:2], "result 0 has size 2 in dim 0, but its definition has 4"),
        (lambda a, b: a[None], "result 0 has 2 dims, but its definition has 1"),
    ],
)
def test_python_functions_that_fail(function, why):
    ops = {"ops": [{**SUM, "inputs": SUM["inputs"][:2], "function": function}]}
    module = hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=ops)
    with pytest.raises(hewn.RunError, match=why) as caught:
        module.run({"x": X[0]})
    assert isinstance(caught.value.__cause__, (ZeroDivisionError, ValueError, TypeError))


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError


def raising(problem):
    def function(*inputs, **attributes):
        raise problem

    return function


def test_python_functions_whose_failures_are_odd():
    for problem, why in ((Speechless(), "Speechless"), (ValueError("a\0b {"), r"ValueError: a\\0b")):
        ops = {"ops": [{**SUM, "inputs": SUM["inputs"][:2], "function": raising(problem)}]}
        with pytest.raises(hewn.RunError, match=why) as caught:
            hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=ops).run({"x": X[0]})
        assert caught.value.__cause__ is problem


def told_by(module, x):
    """Runs the module and returns the exception of the Python function that made the run fail."""
    with pytest.raises(hewn.RunError) as caught:
        module.run({"x": x})
    return caught.value.__cause__


def test_each_thread_is_told_what_its_run_raised():
    """Two threads run one module, and runs may finish in any order. Here both runs fail before the
    first thread receives its exception."""
    began, both_failed, first_told = threading.Event(), threading.Event(), threading.Event()

    class Turn:
        lock = threading.Lock()

        def __enter__(self):
            self.lock.acquire()

        def __exit__(self, *problem):
            self.lock.release()
            if threading.current_thread() is first:
                both_failed.wait(60)
            else:
                both_failed.set()
                first_told.wait(60)

    def fail(x, *more):
        began.set()
        raise ValueError(float(x[0]))

    module = hewn.compile(
        model("g (float[n] x) => (y) { y = t.Sum(x) }"),
        custom_ops={"ops": [{**SUM, "inputs": SUM["inputs"][:2], "function": fail}]},
    )
    module._turn = Turn()
    causes = {}

    def tell(number):
        causes[number] = told_by(module, np.array([number], F))

    first = threading.Thread(target=lambda: (tell(1), first_told.set()))
    first.start()
    began.wait(60)
    tell(2)
    first.join()
    assert {number: cause.args for number, cause in causes.items()} == {1: (1.0,), 2: (2.0,)}


def test_a_function_that_runs_a_model():
    """A Python function runs a model. If that run fails, the function may catch the exception and
    raise another one."""

    def module_of(function):
        ops = {"ops": [{**SUM, "inputs": SUM["inputs"][:2], "function": function}]}
        return hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=ops)

    inner = module_of(raising(KeyError("inner")))
    seen = []

    def call_inner(x, *more):
        seen.append(told_by(inner, x))
        raise ValueError("outer")

    assert str(told_by(module_of(call_inner), X[0])) == "outer"
    assert [type(problem) for problem in seen] == [KeyError]


def test_python_results_agree_on_sizes():
    ops = {"ops": [{**ABOVE, "function": lambda x: (np.zeros((3, 2), np.int64), np.zeros(1, F))}]}
    module = hewn.compile(model("g (float[n, m] x) => (p, v) { p, v = t.Above(x) }"), custom_ops=ops)
    with pytest.raises(hewn.RunError, match="result 1 has size 1 in dim 0, but 'count' is 3 in another dim"):
        module.run({"x": X})


@pytest.mark.parametrize("size", [2**64 + 3, -1, 3.9])
def test_sizes_by_python_are_sizes(size):
    repeat = {**REPEAT, "function": lambda x, times: x[:1], "shape_function": lambda x, times: size}
    module = hewn.compile(
        model("g (float[n] x, int64[n] t) => (y) { y = t.Repeat(x, t) }"), custom_ops={"ops": [repeat]}
    )
    with pytest.raises(hewn.RunError, match=r"ValueError|TypeError"):
        module.run({"x": X[0], "t": np.array([0, 1, 0, 2])})


@pytest.mark.parametrize(
    "definition, why",
    [
        ({"ops": 5}, "'ops'"),
        ({"ops": [{**SUM, "function": len, "attributes": [{"type": "int"}]}]}, "'name'"),
        ({"ops": [{**SUM, "function": len, "sizes": 7}]}, "'sizes'"),
    ],
)
def test_what_is_wrong_with_a_dict_the_compiler_tells(definition, why):
    with pytest.raises(hewn.CompileError, match=why):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=definition)


def test_bounds_that_are_none():
    for bound, why in (("floordiv(n, k)", "divides by 0 in the bound"), (2**62, "size in bytes may overflow")):
        most = op("Most", "f", [tensor("x", "n")], [tensor("y", "s", "s")], sizes=[{"name": "s", "at_most": bound}])
        most["attributes"] = [attribute("k", "int", default=0)]
        with pytest.raises(hewn.CompileError, match=why):
            hewn.compile(
                model("g (float[n] x) => (y) { y = t.Most(x) }"), custom_ops={"ops": [{**most, "function": len}]}
            )


def test_a_file_that_nests_without_end(tmp_path):
    (tmp_path / "ops.json").write_text('{"ops": ' + "[" * 3_000_000)
    with pytest.raises(hewn.CompileError, match=r"ops.json: nests deeper"):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=tmp_path / "ops.json")


def test_python_functions_stay_in_their_process(tmp_path):
    ops = {"ops": [{**SUM, "function": lambda *a: a[0]}]}
    with pytest.raises(ValueError, match="a library cannot contain Python functions"):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops=ops, output=tmp_path / "a.so")
    with pytest.raises(TypeError, match="custom_ops must be paths, or dicts"):
        hewn.compile(model("g (float[n] x) => (y) { y = Neg(x) }"), custom_ops=7)


# Tests which of several definitions of an op applies

OWN = """<ir_version: 10, opset_import: ["" : 18, "{0}" : 1]> g (float[n] x) => (y) {{ y = {1}(x) }}
         <domain: "{0}", opset_import: ["" : 18]> {2} (x) => (y) {{ y = Neg(x) }}"""


def test_a_models_own_function_is_the_op():
    """If a function in the ONNX model has the name of a contrib op, the model's function
    applies."""
    own = onnx.parser.parse_model(OWN.format("com.microsoft", "com.microsoft.Gelu", "Gelu"))
    np.testing.assert_array_equal(hewn.compile(own).run({"x": X[0]})["y"], -X[0])
    mine = {**SUM, "domain": "com.microsoft", "name": "Gelu", "function": lambda x, *more: x + 10}
    module = hewn.compile(own, custom_ops={"ops": [mine]})
    np.testing.assert_array_equal(module.run({"x": X[0]})["y"], X[0] + 10)


def test_onnx_says_what_its_ops_are():
    own = onnx.parser.parse_model(OWN.format("ai.onnx", "Abs", "Abs"))
    np.testing.assert_array_equal(hewn.compile(own).run({"x": X[0]})["y"], np.abs(X[0]))
    with pytest.raises(hewn.CompileError, match="op 'Abs' is an ONNX op that hewn supports"):
        hewn.compile(own, custom_ops={"ops": [{**SUM, "domain": "", "name": "Abs", "function": "f"}]})


def test_versions():
    first = {**SUM, "function": lambda x, *more: x}
    third = {**SUM, "function": lambda x, *more: 3 * x, "since_version": 3}
    for version, factor in ((1, 1), (2, 1), (3, 3), (9, 3)):
        text = f'<ir_version: 10, opset_import: ["" : 18, "t" : {version}]> g (float[n] x) => (y) {{ y = t.Sum(x) }}'
        module = hewn.compile(onnx.parser.parse_model(text), custom_ops={"ops": [first, third]})
        np.testing.assert_array_equal(module.run({"x": X[0]})["y"], factor * X[0])
    with pytest.raises(hewn.CompileError, match="requires version 3 or later of its domain"):
        hewn.compile(model("g (float[n] x) => (y) { y = t.Sum(x) }"), custom_ops={"ops": [third]})


# Tests of the cache: if the definition file or the object code changes, the compiler builds another
# artifact


def test_the_cache_knows_the_code(tmp_path):
    source, cache = tmp_path / "ops.c", tmp_path / "cache"
    for k in (1, 2, 2, 3):
        source.write_text(
            '#include "hewn/custom.h"\nint32_t f(hewn_custom_call *c) {'
            f"for (int i = 0; i < 4; ++i) ((float *)hewn_custom_data(c->outputs[0]))[i] = {k}; return 0; }}"
        )
        code = compiled(tmp_path, source)
        module = build(code, "g (float[n] x) => (y) { y = t.Sum(x) }", {**SUM, "function": "f"}, cache_dir=cache)
        assert module.run({"x": X[0]})["y"].tolist() == [k] * 4
    entries = [path.name for path in pathlib.Path(cache).glob("*-entry")]
    assert len(entries) == 3


# Tests of errors in the object code of custom ops that the compiler links


def test_code_that_is_not_there(code, tmp_path):
    text = "g (float[n] x) => (y) { y = t.Sum(x) }"
    with pytest.raises(hewn.CompileError, match=r"can't read .*/none.o, the code of custom ops: No such file"):
        build(str(tmp_path / "none.o"), text, SUM)
    lacks = "undefined symbols in the library: 't_sun'; list the libraries that custom ops call under \"link\""
    with pytest.raises(hewn.CompileError, match=lacks):
        build(code, text, {**SUM, "function": "t_sun"})
    source = tmp_path / "ops.c"
    source.write_text(
        '#include "hewn/custom.h"\nextern int foo(void), bar(void); double cos(double);\n'
        "int32_t t_sum(hewn_custom_call *c) { return foo() + bar() + (int)cos(c->size); }"
    )
    with pytest.raises(hewn.CompileError, match="undefined symbols in the library: 'bar', 'foo';"):
        build(compiled(tmp_path, source), text, SUM)
    (tmp_path / "text.o").write_text("no object")
    with pytest.raises(hewn.CompileError, match=r"text\.o"):
        build(str(tmp_path / "text.o"), text, SUM)


def test_archives_and_shared_libraries(code, tmp_path):
    """The op's function may be in an archive, and may call a shared library."""
    source = tmp_path / "ops.c"
    source.write_text(
        '#include "hewn/custom.h"\nextern float three(void); int32_t f(hewn_custom_call *c) '
        "{ ((float *)hewn_custom_data(c->outputs[0]))[0] = three(); return 0; }"
    )
    (tmp_path / "three.c").write_text("float three(void) { return 3; }")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", tmp_path / "libthree.so", tmp_path / "three.c"], check=True)
    subprocess.run(["ar", "rcs", tmp_path / "ops.a", compiled(tmp_path, source)], check=True)
    ops = {"link": [str(tmp_path / "ops.a"), str(tmp_path / "libthree.so")], "ops": [{**COUNT, "function": "f"}]}
    hewn.compile(model("g () => (y) { y = t.Count() }"), custom_ops=ops, output=tmp_path / "model.so")
    script = "import hewn, sys; print(hewn.load(sys.argv[1]).run({})['y'])"
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "model.so"],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[3.]\n", done.stderr


def test_functions_of_this_process_are_for_it_alone(tmp_path):
    ops = CustomOps({"ops": [{**COUNT, "function": lambda: np.zeros(1, F)}]})
    alone = "custom ops given as functions of this process need an artifact for this process only"
    with pytest.raises(hewn.CompileError, match=alone):
        hewn._compile(model("g () => (y) { y = t.Count() }"), tmp_path / "a.so", custom=ops)


def test_the_page():
    """The definition file in docs/custom-ops.md works."""
    page = (HERE.parents[1] / "docs/custom-ops.md").read_text()
    block = page[page.index('    {"link"') :]
    ops = CustomOps(block[: block.index("\n\n")])
    proto = model("g (float[b, n] x) => (y) { y = com.example.Frames<size = 400>(x) }", "com.example")
    graph = hewn._compile(proto, emit="graph", custom=ops)
    assert (
        "-> tensor<?x?x400xf32>" in graph
        and 'graph.dims = [[#graph.dim<"b">, #graph.dim<"floordiv(n + 80, 160) - 2">, 400]]' in graph
    )


def test_the_example(tmp_path):
    run = HERE.parents[1] / "examples/custom-op/run"
    env = {**os.environ, "HEWN_VENV": sys.prefix, "CC": COMPILER}
    done = subprocess.run([run, tmp_path], env=env, capture_output=True, text=True)
    assert done.stdout == "beats at 0.04 s 1.04 s 2.04 s 3.04 s\n", done.stderr

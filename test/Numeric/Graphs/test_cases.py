# SPDX-License-Identifier: Apache-2.0
"""Programs that are specialized by the value of a symbol: for ranks, for branches, and for specific
sizes."""

import ctypes
import itertools
import os
import pathlib
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from numeric import check, oracle
from onnx import TensorProto, helper

random = np.random.default_rng(16)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs=("y",), **constants):
    """Builds a model of float inputs. Its outputs have no declared shape."""
    return helper.make_model(
        helper.make_graph(
            nodes,
            "cases",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
            [helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
            [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def branch(name, *nodes):
    return helper.make_graph(nodes, name, [], [helper.make_value_info(nodes[-1].output[0], onnx.TypeProto())])


def choose(condition, then, otherwise, output="y"):
    return node("If", [condition], [output], then_branch=branch("t", *then), else_branch=branch("e", *otherwise))


def dim_is(x, axis, value):
    """Returns nodes that compute `is`, whether dim `axis` of `x` equals `value`, and the constants
    of these nodes."""
    return [
        node("Shape", [x], ["shape"]),
        node("Gather", ["shape", f"axis{axis}"], ["dim"]),
        node("Equal", ["dim", f"value{value}"], ["is"]),
    ], {f"axis{axis}": np.int64(axis), f"value{value}": np.int64(value)}


def test_squeeze_drops_what_is_1():
    squeeze = model([node("Squeeze", ["x"])], {"x": ["n", 1, "m"]})
    module = hewn.compile(squeeze)
    assert list(module.cases) == ["n = 1, m = 1", "n = 1, m != 1", "n != 1, m = 1", "n != 1, m != 1"]
    (y,) = module.outputs
    assert y.shape == ("n", "m")
    assert y.cases == {
        "n = 1, m = 1": (),
        "n = 1, m != 1": ("m",),
        "n != 1, m = 1": ("n",),
        "n != 1, m != 1": ("n", "m"),
    }
    for n, m in itertools.product([0, 1, 2, 5], repeat=2):
        x = floats(n, 1, m)
        check([module.run({"x": x})["y"]], oracle(squeeze, {"x": x}))


def test_what_follows_knows_the_rank():
    """In each specialized program, the rank of a Squeeze's result is known to the MatMul, Softmax
    and Reshape after it."""
    chain = model(
        [
            node("Squeeze", ["x"], ["s"]),
            node("MatMul", ["s", "w"], ["p"]),
            node("Softmax", ["p"], ["q"], axis=-1),
            node("Reshape", ["q", "shape"], ["r"]),
            node("Concat", ["r", "r"], ["y"], axis=0),
        ],
        {"x": ["n", 1, "m", 8]},
        ["y", "q"],
        w=floats(8, 16),
        shape=np.array([-1, 4], np.int64),
    )
    module = hewn.compile(chain)
    assert len(module.cases) == 4 and [t.cases != {} for t in module.outputs] == [False, True]
    for n, m in [(1, 1), (1, 7), (7, 1), (3, 5), (40, 2)]:
        x = floats(n, 1, m, 8)
        check(module.run({"x": x}).values(), oracle(chain, {"x": x}))


def test_if_whose_branches_differ_in_rank():
    nodes, constants = dim_is("x", 1, 1)
    squeeze = model(
        [
            *nodes,
            choose("is", [node("Squeeze", ["x", "axis"], ["a"])], [node("Identity", ["x"], ["b"])], "c"),
            node("ReduceSum", ["c", "last"], ["y"], keepdims=0),
        ],
        {"x": ["n", "m", 6]},
        axis=np.array([1], np.int64),
        last=np.array([-1], np.int64),
        **constants,
    )
    module = hewn.compile(squeeze)
    assert list(module.cases) == ["m = 1", "m != 1"]
    for shape in [(1, 1, 6), (4, 1, 6), (1, 4, 6), (3, 2, 6)]:
        x = floats(*shape)
        check([module.run({"x": x})["y"]], oracle(squeeze, {"x": x}))


@pytest.mark.parametrize("op", ["Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
def test_other_comparisons(op):
    """The condition that selects the specialized program is a negated comparison with a dim that is
    an expression of symbols."""
    longer = model(
        [
            node("Concat", ["x", "x"], ["xx"], axis=0),
            node("Shape", ["xx"], ["shape"]),
            node(op, ["shape", "six"], ["is"]),
            node("Not", ["is"], ["not"]),
            choose("not", [node("Unsqueeze", ["x", "front"], ["a"])], [node("Neg", ["x"], ["b"])]),
        ],
        {"x": ["n"]},
        six=np.array([6], np.int64),
        front=np.array([0], np.int64),
    )
    module = hewn.compile(longer)
    assert len(module.cases) == 2
    for n in range(7):
        x = floats(n)
        check([module.run({"x": x})["y"]], oracle(longer, {"x": x}))


def test_expressions_decide_too():
    """The rank of the Squeeze's result depends on the length of a slice with step 2: n = 1 and n =
    2 both leave one element."""
    half = model(
        [node("Slice", ["x", "start", "end", "axes", "step"], ["s"]), node("Squeeze", ["s"], ["y"])],
        {"x": ["n", 3]},
        start=np.array([0], np.int64),
        end=np.array([10**9], np.int64),
        axes=np.array([0], np.int64),
        step=np.array([2], np.int64),
    )
    module = hewn.compile(half)
    assert len(module.cases) == 2
    for n in range(6):
        x = floats(n, 3)
        check([module.run({"x": x})["y"]], oracle(half, {"x": x}))


def test_equal_symbols():
    same = model(
        [
            node("Shape", ["a"], ["s"]),
            node("Shape", ["b"], ["t"]),
            node("Equal", ["s", "t"], ["is"]),
            choose(
                "is",
                [node("Add", ["a", "b"], ["sum"])],
                [node("Concat", ["a", "b"], ["both"], axis=0), node("Unsqueeze", ["both", "front"], ["two"])],
            ),
        ],
        {"a": ["n"], "b": ["m"]},
        front=np.array([0], np.int64),
    )
    module = hewn.compile(same)
    assert sorted(module.cases.values(), key=str) == [None, None]
    for n, m in itertools.product([0, 1, 4], repeat=2):
        feeds = {"a": floats(n), "b": floats(m)}
        check([module.run(feeds)["y"]], oracle(same, feeds))


def test_data_decide_with_a_status():
    """The rank of the Squeeze's result depends on the number of nonzero elements, which is not
    known before the run. With exactly one such element, the run ends with an error instead of a
    wrong shape."""
    found = model([node("NonZero", ["x"], ["z"]), node("Squeeze", ["z"], ["y"])], {"x": ["n"]})
    module = hewn.compile(found)
    assert module.cases == {}
    for x in [[0, 3, 0, 1], [0, 0]]:
        x = np.array(x, np.float32)
        check([module.run({"x": x})["y"]], oracle(found, {"x": x}))
    with pytest.raises(hewn.RunError, match="Squeeze"):
        module.run({"x": np.array([0, 3], np.float32)})


# One branch of the If returns a scalar, the other one a list of one element, as in ONNX's function
# for AffineGrid. BODY uses the returned value.
UNLIKE = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[n] x, int64[1] d) => (RESULT y) {
  one = Constant<value_int = 1>()
  half = Constant<value_float = 0.5>()
  c = Equal(d, one)
  v = If(c) <then_branch = t () => (a) { a = Identity(half) }, else_branch = e () => (b) { b = Cast<to = 1>(d) }>
  like = CastLike(x, v)
  BODY
}"""
INNER = """
  three = Constant<value_int = 3>()
  few = Less(d, three)
  y = If(few) <then_branch = p () => (q) { q = THEN }, else_branch = r () => (s) { s = Sub(x, v) }>"""


def unlike(body, result="float[m]"):
    return onnx.parser.parse_model(UNLIKE.replace("RESULT", result).replace("BODY", body))


@pytest.mark.parametrize("body", ["y = Mul(like, v)", "y = Where(c, v, x)", INNER.replace("THEN", "Add(x, v)")])
@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_ranks_that_nothing_tells(body, d, n):
    feeds = {"x": floats(n), "d": np.array([d])}
    y = hewn.compile(unlike(body)).run(feeds)["y"]
    wanted = oracle(unlike(body), feeds)[0]
    assert y.shape == wanted.shape
    np.testing.assert_allclose(y, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "body, result",
    [
        ("y = Mul(v, v)", "float[m]"),
        ("y = Identity(v)", "float[m]"),
        ("y = Shape(v)", "int64[m]"),
        (INNER.replace("THEN", "Identity(v)"), "float[m]"),
        ("zero = Constant<value_int = 0>() y = Gather(v, zero)", "float"),
    ],
)
def test_ranks_that_something_tells(body, result):
    # The compiler assumes the branch that returns the lower rank. A run that takes the other branch
    # ends with an error.
    try:
        module = hewn.compile(unlike(body, result))
    except hewn.CompileError as problem:
        assert "axis 0" in str(problem)
        return
    feeds = {"x": floats(3), "d": np.array([1])}
    assert module.run(feeds)["y"].shape == oracle(unlike(body, result), feeds)[0].shape
    with pytest.raises(hewn.RunError, match="these inputs take the else branch, which is not compiled: the ranks"):
        module.run({"x": floats(3), "d": np.array([4])})


def test_a_range_answers():
    squeeze = model([node("Squeeze", ["x"])], {"x": ["n", 1, 3]})
    module = hewn.compile(squeeze, dims={"n": (2, 9)})
    assert module.cases == {} and module.outputs[0].shape == ("n", 3)
    assert module.run({"x": floats(2, 1, 3)})["y"].shape == (2, 3)


def test_a_case_that_is_no_model():
    """The op after the Squeeze needs rank 1. The compiler emits code for n = 1, and a run with
    another n is an error."""
    traced = model(
        [node("Squeeze", ["x"], ["s"]), node("Transpose", ["s"], ["y"], name="turn", perm=[0])], {"x": ["n", 3]}
    )
    module = hewn.compile(traced)
    assert module.cases["n = 1"] is None and "turn" in module.cases["n != 1"]
    x = floats(1, 3)
    check([module.run({"x": x})["y"]], [x[0]])
    with pytest.raises(hewn.RunError, match="where n != 1 the model has no result: turn"):
        module.run({"x": floats(2, 3)})
    check([module.run({"x": x})["y"]], [x[0]])


def windows_of_two_lengths(x):
    """Builds the structure of a voice activity detector. One branch of its If is for another
    sampling rate: the windows in this branch are too long for the input `x`, and it expects other
    ranks."""
    rate = [node("Equal", ["rate", "value0"], ["slow"])]

    def conv(weight, at):
        nodes = [node("Conv", [x, weight], [f"c{at}"]), node("Squeeze", [f"c{at}"], [f"s{at}"])]
        return [*nodes, node("ReduceMean", [f"s{at}"], [f"r{at}"], keepdims=0, name=f"mean{at}")]

    built = model(
        [*rate, choose("slow", conv("short", 0), conv("long", 1))],
        {x: [1, 1, "n"]},
        value0=np.int64(0),
        short=floats(1, 1, 4),
        long=floats(1, 1, 16),
    )
    built.graph.input.append(helper.make_tensor_value_info("rate", TensorProto.INT64, []))
    return built


def test_a_branch_that_this_case_has_no_sizes_for():
    voice = windows_of_two_lengths("x")
    module = hewn.compile(voice)
    for n, rate in [(n, rate) for n in [4, 16, 17, 40] for rate in [0, 1] if n >= 16 or rate == 0]:
        feeds = {"x": floats(1, 1, n), "rate": np.array(rate, np.int64)}
        check([module.run(feeds)["y"]], oracle(voice, feeds))
    # The branch of the detector with the long windows is invalid for n = 4.
    with pytest.raises(hewn.RunError):
        module.run({"x": floats(1, 1, 4), "rate": np.array(1, np.int64)})


def test_the_branch_that_is_none_is_told(tmp_path):
    """The compiler warns about a branch that is invalid in one case of the model, or for a size
    that the user sets. A branch with an unsupported op is an error."""
    voice = windows_of_two_lengths("x")
    narrow = next(f for f in voice.graph.node[1].attribute if f.name == "else_branch").g.node[0]

    def told(*more):
        onnx.save(voice, tmp_path / "voice.onnx")
        command = [pathlib.Path(os.environ["HEWN_TOOLS"], "hewn"), "compile", tmp_path / "voice.onnx"]
        done = subprocess.run([*command, "-o", tmp_path / "voice.o", *more], capture_output=True, text=True)
        return done.returncode, done.stderr

    says = "so a run that takes it fails"
    code, text = told()
    assert code == 0 and text.count(says) == 1 and "where n = 4 this branch is not supported" in text
    code, text = told("--dim", "n=4")
    assert code == 0 and text.count(says) == 1 and "where" not in text
    narrow.op_type = "Konv"
    code, text = told()
    assert code == 1 and "warning" not in text and "where" not in text and "Konv" in text
    code, text = told("--dim", "n=4")
    assert code == 1 and "warning" not in text and "Konv" in text


def product(k=64, n=96):
    return model(
        [node("MatMul", ["x", "w"], ["p"]), node("Relu", ["p"], ["r"]), node("MatMul", ["r", "v"], ["y"])],
        {"x": ["n", k]},
        w=floats(k, n),
        v=floats(n, n),
    )


@pytest.fixture(scope="module")
def hot(tmp_path_factory):
    """Compiles a model with code for n = 1, for n = 8, and for all other n up to 64."""
    folder = tmp_path_factory.mktemp("hot")
    proto = product()
    module = hewn.compile(proto, dims={"n": "1,8,1..64"}, output=folder / "hot.so")
    return proto, module, folder


def test_hot_sizes(hot):
    proto, module, _ = hot
    assert list(module.cases) == ["n = 1", "n = 8", "n != 1, n != 8"]
    assert module.outputs[0].shape == ("n", 96) and module.outputs[0].cases == {}
    for n in [1, 2, 8, 9, 64]:
        x = floats(n, 64)
        check([module.run({"x": x})["y"]], oracle(proto, {"x": x}), rtol=1e-4, atol=1e-4)
    with pytest.raises(hewn.RunError, match=r"1\.\.64"):
        module.run({"x": floats(65, 64)})


@pytest.mark.parametrize("n, case", [(1, "[n = 1]"), (8, "[n = 8]"), (9, "[n != 1, n != 8]")])
def test_the_case_is_taken(hot, n, case):
    _, _, folder = hot
    np.save(folder / "x.npy", floats(n, 64))
    command = [os.environ["HEWN_TOOLS"] + "/hewn", "profile", folder / "hot.so", "--input", f"x={folder}/x.npy"]
    shown = subprocess.run([*command, "--seconds=0"], capture_output=True, text=True, check=True).stdout
    kernels = [line for line in shown.splitlines() if "matmul" in line]
    assert kernels and all(case in line for line in kernels), shown


def test_each_case_has_an_arena_of_its_own(hot, tmp_path):
    proto, _, folder = hot
    library = ctypes.CDLL(str(folder / "hot.so"))
    library.hot_arena_bytes.restype = ctypes.c_int64
    library.hot_arena_bytes.argtypes = [ctypes.c_int64]
    for n in (1, 8):
        hewn.compile(proto, dims={"n": n}, output=tmp_path / f"at{n}.so")
        alone = ctypes.CDLL(str(tmp_path / f"at{n}.so"))[f"at{n}_arena_bytes"]
        alone.restype = ctypes.c_int64
        assert library.hot_arena_bytes(n) == alone() > 0
    assert library.hot_arena_bytes(9) > library.hot_arena_bytes(8)


def test_cases_share_the_weights(hot, tmp_path):
    proto, _, folder = hot
    hewn.compile(proto, output=tmp_path / "one.so")
    assert (folder / "hot.so.weights").stat().st_size == (tmp_path / "one.so.weights").stat().st_size


def test_several_machines(tmp_path):
    """A library for several targets has the code of all cases for each target."""
    proto = model([node("Squeeze", ["x"], ["s"]), node("Exp", ["s"], ["y"])], {"x": ["n", 1, 24]})
    module = hewn.compile(proto, target=["x86-64-v2", "x86-64-v3"], output=tmp_path / "both.so")
    for n in (1, 3):
        x = floats(n, 1, 24)
        check([module.run({"x": x})["y"]], oracle(proto, {"x": x}))
        np.save(tmp_path / "x.npy", x)
        command = [os.environ["HEWN_TOOLS"] + "/hewn", "run", tmp_path / "both.so", "--variant=x86-64-v2"]
        shown = subprocess.run([*command, "--input", f"x={tmp_path}/x.npy"], capture_output=True, text=True, check=True)
        assert shown.stdout == ("y: float32 24\n" if n == 1 else "y: float32 3x24\n")


def test_the_oracle_has_cases_too():
    squeeze = model([node("Squeeze", ["x"], ["s"]), node("Neg", ["s"], ["y"])], {"x": ["n", 1, 3]})
    module = hewn.compile(squeeze, optimize=False)
    for n in (1, 2):
        x = floats(n, 1, 3)
        check([module.run({"x": x})["y"]], oracle(squeeze, {"x": x}))

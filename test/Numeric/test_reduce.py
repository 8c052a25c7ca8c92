# SPDX-License-Identifier: Apache-2.0
"""`hewn reduce` finds the smallest model that still fails, and prints a command that reproduces the
failure.

The tests cause a failure on purpose: by a shell command, by a custom op that crashes, hangs or
sleeps, by an error message, or by a tolerance of 0.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import external_data_helper, helper, numpy_helper

TOOLS = pathlib.Path(os.environ["HEWN_TOOLS"])
HEWN = TOOLS / "hewn"
INCLUDE = pathlib.Path(__file__).parents[2] / "include"
HEAD = '<ir_version: 8, opset_import: ["" : 18, "local" : 1, "com.example" : 1]>\n'
CHAIN = """g (float[n, 8] x, float[8, 4] w) => (float[n, 4] y, float[n, 4] z) {
  a = Relu(x)
  p = MatMul(a, w)
  e = Exp(p)
  b = com.example.Bad(e)
  c = Neg(b)
  y = Sqrt(c)
  z = Abs(e)
}"""
OPS = {
    "link": ["ops.o"],
    "ops": [
        {
            "domain": "com.example",
            "name": "Bad",
            "function": "bad",
            "inputs": [{"type": "float32", "dims": ["n", "m"]}],
            "outputs": [{"type": "float32", "dims": ["n", "m"]}],
        }
    ],
}
# A command that exits with 0 if the model is valid and contains an op, also in bodies and
# functions.
HAS = """import sys, onnx
model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, check_custom_domain=False) if len(sys.argv) < 4 else None
def ops(nodes):
    for node in nodes:
        yield node.op_type
        for attribute in node.attribute:
            yield from ops(attribute.g.node)
found = [*ops(model.graph.node), *(op for f in model.functions for op in ops(f.node))]
sys.exit(0 if sys.argv[2] in found else 1)
"""


def run(*arguments, status=0, **options):
    done = subprocess.run([HEWN, *map(str, arguments)], capture_output=True, text=True, **options)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def place(tmp_path):
    (tmp_path / "has.py").write_text(HAS)
    return tmp_path


def model_file(place, text):
    (place / "model.onnxtxt").write_text(HEAD + text)
    return place / "model.onnxtxt"


def bad_op(place, body):
    """Compiles a custom op whose function has the given body. Returns the flags that define the
    op."""
    (place / "ops.c").write_text(
        f"#include <hewn/custom.h>\n#include <stdlib.h>\n#include <unistd.h>\nint32_t bad(hewn_custom_call *call) {{ {body} return 0; }}\n"
    )
    subprocess.run(
        ["cc", "-c", "-fPIC", "-I", INCLUDE, "ops.c", "-o", "ops.o"], cwd=place, check=True, capture_output=True
    )
    (place / "ops.json").write_text(json.dumps(OPS))
    return ["--custom-ops", place / "ops.json"]


def ops_of(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def has(place, op, *more):
    return shlex.join([sys.executable, str(place / "has.py")]) + f" {{}} {op}" + "".join(" " + m for m in more)


def command_of(told):
    return shlex.split(re.search(r"^reproduce: hewn (.*)$", told, re.M).group(1))


def test_by_a_command(place):
    told = run(
        "reduce",
        model_file(place, CHAIN.replace("com.example.Bad", "Tanh")),
        "-o",
        place / "small.onnx",
        "--if",
        has(place, "Tanh"),
    )
    assert ops_of(place / "small.onnx") == ["Tanh"] and "1 node of 7" in told
    # The command saves the inputs of the reduced model, which are values of the original one.
    # Symbolic dims stay symbolic.
    with np.load(place / "small.npz") as arrays:
        assert list(arrays) == ["e"] and (arrays["e"] > 0).all()
    assert onnx.load(place / "small.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    again = re.search(r"^reproduce: (.*)$", told, re.M).group(1)
    assert subprocess.run(again, shell=True).returncode == 0
    # A second run of `hewn reduce` on the same model writes the same bytes.
    first = (place / "small.onnx").read_bytes()
    run("reduce", place / "model.onnxtxt", "-o", place / "small.onnx", "--if", has(place, "Tanh"))
    assert (place / "small.onnx").read_bytes() == first
    told = run("reduce", place / "model.onnxtxt", "-o", place / "small.onnx", "--if", "false {}", status=1)
    assert "the command does not exit with status 0 on the model" in told
    told = run("reduce", place / "model.onnxtxt", "-o", place / "small.onnx", "--if", "no-such-command {}", status=1)
    assert "the command cannot be run: " in told and "no-such-command" in told


BRANCHES = """g (float[n, 4] x, bool c) => (float[n, 4] y) {
  a = Relu(x)
  b = local.twice(a)
  d = If(c) <
    then_branch = t () => (float[n, 4] t3) { t1 = Neg(b)
      t2 = Erf(t1)
      t3 = Abs(t2) },
    else_branch = e () => (float[n, 4] e1) { e1 = Exp(b) }
  >
  y = Neg(d)
}
<domain: "local", opset_import: ["" : 18]>
twice (v) => (w) { two = Constant<value = float {2.0}>()
  u = Mul(v, two)
  w = Sqrt(u) }
"""


def test_bodies_and_functions(place):
    model = model_file(place, BRANCHES)
    run("reduce", model, "-o", place / "small.onnx", "--if", has(place, "Erf", "any"))
    assert ops_of(place / "small.onnx") == ["Erf"] and not onnx.load(place / "small.onnx").functions
    run("reduce", model, "-o", place / "small.onnx", "--if", has(place, "Sqrt", "any"))
    small = onnx.load(place / "small.onnx")
    assert set(np.load(place / "small.npz").files) == {i.name for i in small.graph.input}
    assert [n.op_type for n in small.graph.node] == ["twice"]
    assert [n.op_type for n in small.functions[0].node] == ["Sqrt"]


def test_external_data_and_quantized_graphs(place):
    scale = numpy_helper.from_array(np.float32(0.02), "scale")
    zero = numpy_helper.from_array(np.int8(0), "zero")
    weights = numpy_helper.from_array(np.arange(-600, 600, dtype=np.int64).astype(np.int8).reshape(30, 40), "w")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["wd"]),
        helper.make_node("MatMul", ["d", "wd"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
    ]
    io = [helper.make_tensor_value_info(n, 1, ["n", size]) for n, size in (("x", 30), ("y", 40))]
    graph = helper.make_graph(nodes, "g", io[:1], io[1:], [scale, zero, weights])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])
    external_data_helper.convert_model_to_external_data(model, location="weights.bin", size_threshold=64)
    onnx.save(model, place / "model.onnx")
    run("reduce", place / "model.onnx", "-o", place / "small.onnx", "--if", has(place, "MatMul"))
    assert ops_of(place / "small.onnx") == ["MatMul"] or ops_of(place / "small.onnx") == ["DequantizeLinear", "MatMul"]
    # The reduced model contains its weights instead of naming an external file.
    run("reduce", place / "model.onnx", "-o", place / "small.onnx", "--if", has(place, "DequantizeLinear"))
    assert not any(t.external_data for t in onnx.load(place / "small.onnx", load_external_data=False).graph.initializer)


def test_sizes(place):
    """The command reduces dims of equal size together: in inputs, constants and lists of numbers.
    It keeps the dims that the failure needs."""
    text = """g (float[6, 20] x) => (float[12, 6] y) <float[20, 12] w> {
      p = MatMul(x, w)
      s = Constant<value = int64[2] {6, 12}>()
      r = Reshape(p, s)
      y = Transpose<perm = [1, 0]>(r)
    }"""
    model = onnx.parser.parse_model(HEAD + text)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((20, 12), np.float32), "w"))
    onnx.save(model, place / "model.onnx")
    check = place / "check.sh"
    check.write_text(f"grep -q MatMul $1 && grep -q Reshape $1 && {HEWN} run $1 --input ${{1%.onnx}}.npz >/dev/null\n")
    run("reduce", place / "model.onnx", "-o", place / "small.onnx", "--if", f"sh {check} {{}}")
    small = onnx.load(place / "small.onnx")
    assert ops_of(place / "small.onnx") in (["MatMul", "Constant", "Reshape"], ["Constant", "MatMul", "Reshape"])
    with np.load(place / "small.npz") as arrays:
        assert arrays["x"].shape == (1, 1)
    (w,) = [t for t in small.graph.initializer if t.name == "w"]
    assert numpy_helper.to_array(w).shape == (1, 1)


def test_what_differs(place):
    text = CHAIN.replace("com.example.Bad", "Abs").replace("Neg", "Floor")
    told = run("reduce", model_file(place, text.replace("8", "257")), "-o", place / "small.onnx", "--tolerance", "0")
    assert "differs from -O0 in " in told and len(ops_of(place / "small.onnx")) == 1
    with np.load(place / "small.npz") as arrays:  # the command has reduced the dims
        assert all(dim < 257 for array in arrays.values() for dim in array.shape)
    words = command_of(told)
    assert words[0] == "check" and "--tolerance" in words
    run(*words, status=3)
    told = run("reduce", place / "model.onnxtxt", "-o", place / "small.onnx", status=1)
    assert "the model compiles, runs, and agrees with the reference: there is nothing to reduce" in told


def test_a_message(place):
    model = model_file(place, CHAIN.replace("com.example.Bad", "Nothing"))
    told = run("reduce", model, "-o", place / "small.onnx")
    assert ops_of(place / "small.onnx") == ["Nothing"]
    assert "fails when it is compiled: #0 Nothing (Nothing, opset 18): ONNX has no such op" in told
    assert "ONNX has no such op" in run(*command_of(told), status=1)
    run("reduce", model, "-o", place / "small.onnx", "--message", "no such op")
    assert ops_of(place / "small.onnx") == ["Nothing"]
    told = run("reduce", model, "-o", place / "small.onnx", "--message", "something else", status=1)
    assert "but --message searches for 'something else'" in told


@pytest.mark.parametrize("given", [False, True])
def test_a_crash(place, given):
    flags = bad_op(place, "*(volatile int *)8 = 0;")
    if given:
        np.savez(place / "in.npz", x=np.ones((3, 8), np.float32), w=np.ones((8, 4), np.float32))
        flags += ["--input", place / "in.npz"]
    told = run("reduce", model_file(place, CHAIN), "-o", place / "small.onnx", *flags)
    assert f"crashes when it is run (signal {signal.SIGSEGV:d}" in told
    assert ops_of(place / "small.onnx") == ["Bad"]
    with np.load(place / "small.npz") as arrays:
        assert arrays["e"].shape == (1, 1)
        assert not given or arrays["e"] == np.exp(np.float32(8))
    run(*command_of(told), status=-signal.SIGSEGV)


def test_a_crash_before_anything_runs(place):
    """The compiler crashes before any value of the model has been computed, so that `hewn reduce`
    saves no arrays for the inputs of the reduced model."""
    flags = bad_op(place, "")
    with (place / "ops.c").open("a") as source:
        source.write("__attribute__((constructor)) static void early(void) { abort(); }\n")
    subprocess.run(["cc", "-c", "-fPIC", "-I", INCLUDE, "ops.c", "-o", "ops.o"], cwd=place, check=True)
    told = run("reduce", model_file(place, CHAIN), "-o", place / "small.onnx", *flags)
    assert f"crashes when it is compiled (signal {signal.SIGABRT:d}" in told
    assert len(ops_of(place / "small.onnx")) == 1 and command_of(told)[0] == "compile"


def test_a_reference_that_crashes_alone(place):
    """The compiled model runs, but the reference (-O0) crashes. The reduced model has no reference
    values."""
    flags = bad_op(place, 'if (getenv("RAN")) *(volatile int *)8 = 0; setenv("RAN", "", 1);')
    np.savez(place / "in.npz", x=np.ones((3, 8), np.float32), w=np.ones((8, 4), np.float32))
    flags += ["--input", place / "in.npz"]
    told = run("reduce", model_file(place, CHAIN), "-o", place / "small.onnx", *flags, status=1)
    assert "the reference (-O0) crashes: try -O0" in told


def test_what_hangs(place):
    flags = [*bad_op(place, "for (;;) sleep(1);"), "--timeout", "4"]
    told = run("reduce", model_file(place, CHAIN), "-o", place / "small.onnx", *flags)
    assert "does not end when it is run" in told and ops_of(place / "small.onnx") == ["Bad"]


def test_what_is_slow(place):
    flags = bad_op(place, "usleep(30000);")
    model = model_file(place, CHAIN)
    told = run("reduce", model, "-o", place / "small.onnx", "--slower-than", "25ms", *flags)
    assert re.search(r"takes 3\d\.\d+ ms a run", told), told
    assert ops_of(place / "small.onnx") == ["Bad"] and command_of(told)[0] == "bench"
    # The reference (-O0) sleeps in the custom op as long as the compiled model does.
    record = json.loads(run("reduce", model, "-o", place / "small.onnx", "--slower-than", "0.5x", "--json", *flags))
    assert record["shows"] == "slow" and record["nodes"] == 1 and record["nodes_before"] == 7
    assert record["model"] == str(place / "small.onnx") and record["arrays"] == str(place / "small.npz")
    assert record["ended"] == "smallest" and record["again"].startswith("hewn bench ")
    told = run("reduce", model, "-o", place / "small.onnx", "--compile-slower-than", "1e-6", *flags)
    assert "compiles in 0." in told and len(ops_of(place / "small.onnx")) == 1
    told = run("reduce", model, "-o", place / "small.onnx", "--compile-slower-than", "1000", *flags, status=1)
    assert "compiles in" not in told and "there is nothing to reduce" in told
    told = run("reduce", model, "-o", place / "small.onnx", "--slower-than", "1", status=1)
    assert "#3 Bad" in told and "its time cannot be measured" in told


def test_limits_and_interrupts_leave_the_smallest_so_far(place):
    model = model_file(place, CHAIN.replace("com.example.Bad", "Tanh"))
    slow = "sleep 1; " + has(place, "Tanh")
    told = run("reduce", model, "-o", place / "small.onnx", "--if", slow, "--time-limit", "5")
    assert "--time-limit was reached" in told and "Tanh" in ops_of(place / "small.onnx")
    told = run("reduce", model, "-o", place / "small.onnx", "--if", slow, "--time-limit", "0.1", status=1)
    assert "--time-limit was reached before a symptom was found" in told
    (place / "small.onnx").unlink()
    (place / "scratch").mkdir()
    going = subprocess.Popen(
        [HEWN, "reduce", model, "-o", place / "small.onnx", "--if", slow],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place / "scratch")},
        # The command starts with the default handler of SIGINT, because a shell's background jobs
        # ignore this signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(600):
        if (place / "small.onnx").exists():
            break
        time.sleep(0.1)
    going.send_signal(signal.SIGINT)
    told, _ = going.communicate(timeout=30)
    assert going.returncode == 130 and "; interrupted" in told and "Tanh" in ops_of(place / "small.onnx")
    assert not list((place / "scratch").iterdir())


def test_what_can_not_be_done(place):
    model = model_file(place, CHAIN.replace("com.example.Bad", "Tanh"))
    assert "-o requires a model file" in run("reduce", model, "-o", place / "small.npz", status=1)
    assert "would overwrite the input file" in run("reduce", model, "-o", model, status=1)
    assert "can't write" in run("reduce", model, "-o", "/nowhere/small.onnx", status=1)
    np.savez(place / "in.npz", nobody=np.ones(3, np.float32))
    told = run("reduce", model, "-o", place / "small.onnx", "--input", place / "in.npz", status=1)
    assert "the model has no input 'nobody'" in told
    text = "g (string[n] x) => (string[n] y) { y = Identity(x) }"
    told = run("reduce", model_file(place, text), "-o", place / "small.onnx", status=1)
    assert "is a string tensor, a sequence or an optional value, which cannot be generated or read" in told
    told = run("reduce", model_file(place, "g (float[n] x) => (float[n] x) { }"), "-o", place / "small.onnx", status=1)
    assert "there is nothing to reduce" in told

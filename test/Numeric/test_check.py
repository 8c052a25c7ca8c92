# SPDX-License-Identifier: Apache-2.0
"""`hewn check` compares the values of a model with a reference, names the first one that differs,
and extracts a submodel that reproduces the difference.

The differences in these tests are rounding differences, which `--tolerance 0` reports, or changed
values in a reference file.
"""

import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess

import numpy as np
import onnx
import pytest
import sessions

HEWN = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
DENSE = """g (float[batch, 257] x, float[257, 8] w, int64[rows, 3] i) => (float[batch, 8] y, float[rows, 3, 4] e) {
  p = MatMul(x, w)
  r = Relu(p)
  s = Shape(r)
  two = Constant<value = float {2.0}>()
  m = Mul(r, two)
  y = Reshape(m, s)
  t = Constant<value = float[3, 4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>()
  e = Gather(t, i)
}"""


@pytest.fixture
def check(tmp_path):
    def run(model, *arguments, status=0, opset=18):
        if not isinstance(model, pathlib.Path):
            (tmp_path / "model.onnxtxt").write_text(HEAD.replace("18", str(opset)) + model)
            model = tmp_path / "model.onnxtxt"
        done = subprocess.run([HEWN, "check", model, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def all_values(text, feeds):
    """Returns the inputs and onnxruntime's value of every node."""
    model = onnx.parser.parse_model(HEAD + text)
    names = [name for node in model.graph.node for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_value_info(name, onnx.TypeProto()) for name in names)
    results = sessions.plain_session(model).run(None, feeds)
    return {**feeds, **dict(zip(names, results))}


def dense_feeds():
    random = np.random.default_rng(0)
    draw = lambda *dims: random.uniform(-1, 1, dims).astype(np.float32)  # noqa: E731
    return {"x": draw(5, 257), "w": draw(257, 8), "i": np.array([[0, 1, 2]] * 5)}


def test_equal(check):
    told = check(DENSE)
    assert "2 outputs and 6 values of 8 nodes agree with -O0; the largest error is" in told
    # The inputs that the command draws are valid: indices below 3, a size for each symbolic dim.
    assert "'i' int64 3x3" in told and "'x' float32 2x257" in told and "seed 0" in told
    assert "not compared: 2 constants" in told
    listed = check(DENSE, "--verbose", "--dim", "batch=4")
    assert re.search(r"^equal .*'p' float32\[4, 8\], node '#0 MatMul' \(MatMul\)$", listed, re.M)
    assert check(DENSE, "--outputs-only").count("values of") == 0


def test_rounding_that_decides_is_told_from_errors(check):
    # The difference of two equal sums consists of rounding errors only, and so do all values
    # computed from it. No digit of these values is correct.
    told = check(
        """g (float[64, 512] x, float[512, 16] w) => (float[64, 16] d, int32[64, 16] k) {
      p = MatMul(x, w)
      x0, x1 = Split<axis = 1, num_outputs = 2>(x)
      w0, w1 = Split<axis = 0, num_outputs = 2>(w)
      p0 = MatMul(x0, w0)
      p1 = MatMul(x1, w1)
      q = Add(p0, p1)
      d = Sub(p, q)
      million = Constant<value = float {1000000}>()
      s = Mul(d, million)
      k = Cast<to = 6>(s)
    }""",
        "--verbose",
    )
    assert re.search(r"^\d of them differ only by rounding", told, re.M)
    assert re.search(r"^rounding .*'d'", told, re.M) and re.search(r"^rounding .*'k'", told, re.M)
    assert re.search(r"^equal .*'q'", told, re.M)


def test_compile_only(check):
    assert check(DENSE, "--compile-only").endswith(": compiles\n")
    lacking = "g (float[2] x) => (float[2] y) {\n a = Nothing(x)\n y = Nobody(a)\n}"
    for flags in [["--compile-only"], []]:
        told = check(lacking, *flags, status=1)
        assert "#0 Nothing" in told and "#1 Nobody" in told


def test_names_the_first_that_differs_and_cuts_it_out(check, tmp_path):
    told = check(DENSE, "--tolerance", "0", "--reduce", tmp_path / "part.onnx", status=3)
    assert "differs from -O0 at node '#0 MatMul' (MatMul), in its output 'p' float32[batch, 8]: " in told
    assert re.search(r"\d+ of 16 elements, by up to \S+ \(\S+ of the largest\), at \[\d, \d\]: \S+ for \S+\n", told)
    part = onnx.load(tmp_path / "part.onnx").graph
    assert [n.op_type for n in part.node] == ["MatMul"]
    assert part.input[-1].type.tensor_type.shape.dim[0].dim_param == "batch"
    again = check(tmp_path / "part.onnx", "--input", tmp_path / "part.npz", "--tolerance", "0", status=3)
    assert "(MatMul), in its output 'p'" in again
    assert "agree with -O0" in check(tmp_path / "part.onnx", "--input", tmp_path / "part.npz")


def test_bisects_from_the_outputs(check, tmp_path):
    # With --outputs-only, `hewn check` adds no intermediate value to the outputs of the full model,
    # so that the model is fused as without the check. It compiles submodels with the same fusion.
    told = check(DENSE, "--outputs-only", "--tolerance", "0", status=3)
    assert "differs from -O0 at node '#0 MatMul' (MatMul), in its output 'p' float32[batch, 8]: " in told
    # The model has an exact reduction after a GEMM that has rounding errors.
    two = """g (float[n, 2049] x, float[2049, 8] w) => (float[n] y, float[n] z) {
      a = Neg(x)
      p = MatMul(a, w)
      q = Abs(p)
      y = ReduceMax<keepdims = 0>(q, axis)
      z = ReduceMax<keepdims = 0>(a, axis)
    }""".replace("{", "{\n axis = Constant<value = int64[1] {1}>()", 1)
    told = check(two, "--outputs-only", "--tolerance", "0", "--reduce", tmp_path / "part.onnx", status=3)
    assert "(MatMul), in its output 'p'" in told
    assert [n.op_type for n in onnx.load(tmp_path / "part.onnx").graph.node] == ["MatMul"]


def test_the_command_that_shows_it_is_whole(check, tmp_path):
    """The command that is printed reproduces the same difference. It has the same flags, except
    those that do not apply to the submodel."""
    ops = {
        "link": [],
        "ops": [
            {
                "domain": "com.example",
                "name": "Unused",
                "function": "example_unused",
                "inputs": [{"type": "float32", "dims": ["n"]}],
                "outputs": [{"type": "float32", "dims": ["n"]}],
            }
        ],
    }
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "ops.json").write_text(json.dumps(ops))
    flags = ["--dim", "batch=3..5", "--target", "x86-64-v2", "--limit", "nodes=1000", "--float32-precision=high"]
    flags += ["--custom-ops", folder / "ops.json", "--tolerance", "1e-3,1e-3", "--threads=2"]
    values = all_values(DENSE, dense_feeds())
    values["m"] = values["m"] + np.float32(0.5)
    np.savez(folder / "all.npz", **values)
    flags += ["--reference", folder / "all.npz"]
    told = check(DENSE, "--reduce", folder / "part.onnx", *flags, status=3)
    command = re.search(r"which differ when compiled alone: hewn (check .*)$", told, re.M).group(1)
    words = shlex.split(command)
    for flag, value in [("dim", "batch=3..5"), ("target", "x86-64-v2"), ("limit", "nodes=1000"), ("threads", "2")]:
        assert words[words.index(f"--{flag}") + 1] == value
    assert str(folder / "ops.json") in words and "high" in words
    again = subprocess.run([HEWN, *words], capture_output=True, text=True)
    assert again.returncode == 3 and "(Mul), in its output 'm'" in again.stdout, again.stdout + again.stderr
    # A dim that --dim has set to a number is constant in the submodel.
    flags = ["--dim", "batch=5", "--reference", folder / "all.npz"]
    told = check(DENSE, "--reduce", folder / "part.onnx", *flags, status=3)
    words = shlex.split(re.search(r"hewn (check .*)$", told, re.M).group(1))
    assert "--dim" not in words
    assert subprocess.run([HEWN, *words], capture_output=True).returncode == 3


def test_keeps_what_is_fused(check, tmp_path):
    # A kernel keeps float32 values between float16 ops. The difference therefore appears in the
    # result of the second op, and not if each op runs alone.
    chain = "g (float16[n, 64] x) => (float16[n, 64] y) {\n a = Mul(x, x)\n b = Exp(a)\n y = Mul(b, a)\n}"
    told = check(chain, "--tolerance", "0", "--reduce", tmp_path / "part.onnx", status=3)
    assert "at node '#1 Exp' (Exp)" in told
    assert [n.op_type for n in onnx.load(tmp_path / "part.onnx").graph.node] == ["Mul", "Exp"]
    assert "agree with -O0" in check(chain)


@pytest.mark.parametrize("folder", [False, True])
def test_values_from_elsewhere(check, tmp_path, folder):
    def store(values):
        if not folder:
            np.savez(tmp_path / "all.npz", **values)
            return tmp_path / "all.npz"
        (tmp_path / "all").mkdir(exist_ok=True)
        for name, value in values.items():
            np.save(tmp_path / f"all/{name}.npy", value)
        return tmp_path / "all"

    values = all_values(DENSE, dense_feeds())
    told = check(DENSE, "--reference", store(values))
    assert "2 outputs and 6 values" in told and "'x' float32 5x257" in told
    values["m"] = values["m"].copy()
    values["m"][3, 2] += 0.5
    told = check(DENSE, "--reference", store(values), "--reduce", tmp_path / "part.onnx", status=3)
    assert "at node '#4 Mul' (Mul), in its output 'm'" in told and ": 1 of 40 elements, by up to 0.5 (" in told
    assert (
        "at [3, 2]: " in told
        and "hewn at -O0 gives the same value: the difference is not due to an optimization" in told
    )
    assert "the model's outputs do not differ" in told
    part = onnx.load(tmp_path / "part.onnx").graph
    assert [n.op_type for n in part.node if n.op_type != "Constant"] == ["Mul"]
    assert "'m'" in check(tmp_path / "part.onnx", "--reference", tmp_path / "part.npz", status=3)


def test_not_a_number_and_forms_are_told(check, tmp_path):
    values = all_values(DENSE, dense_feeds())
    values["r"] = values["r"].copy()
    values["r"][0, 1] = np.nan
    values["e"] = values["e"].astype(np.float64)
    np.savez(tmp_path / "all.npz", **values)
    told = check(DENSE, "--reference", tmp_path / "all.npz", "--verbose", status=3)
    assert re.search(r"'r'.*: 1 of 40 elements, 1 of them NaN or infinite on one side only, .*at \[0, 1\]: ", told)
    assert re.search(r"^DIFFERS .*'e'", told, re.M) and re.search(r"^equal .*'m'", told, re.M)


def test_weights_outside_of_the_messages(check, tmp_path):
    # The command does not copy large weights of the model file, or of an external data file, into
    # the submodels that it compiles.
    weights = np.random.default_rng(0).uniform(-1, 1, (300, 40)).astype(np.float32)
    model = onnx.parser.parse_model(
        HEAD + "g (float[n, 300] x) => (float[n, 40] y) {\n a = MatMul(x, w)\n b = Tanh(a)\n y = Mul(b, b)\n}"
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "inside.onnx")
    onnx.save(model, tmp_path / "outside.onnx", save_as_external_data=True, location="outside.bin", size_threshold=0)
    for name in "inside.onnx", "outside.onnx":
        assert "3 values of 3 nodes agree with -O0" in check(tmp_path / name)
        part = tmp_path / "parts" / "part.onnx"
        part.parent.mkdir(exist_ok=True)
        told = check(tmp_path / name, "--tolerance", "0", "--reduce", part, status=3)
        assert "'#0 MatMul'" in told
        assert np.array_equal(onnx.numpy_helper.to_array(onnx.load(part).graph.initializer[0]), weights)


def test_groups_by_memory(check):
    chain = "g (float[512, 512] x) => (float[512, 512] y) {\n a = Exp(x)\n b = Neg(a)\n y = Tanh(b)\n}"
    assert "3 values of 3 nodes" in check(chain, "--memory", "1")
    told = check(chain.replace("512, 512", "1024, 512"), "--memory", "1", "--verbose")
    assert "0 values of 3 nodes" in told and "3 that cannot be outputs" in told
    assert "'a': it has 2 MiB, more than --memory" in told


def test_a_move_that_is_refused_is_said(check, tmp_path):
    # A shape that depends on rounded values may become invalid when they are perturbed. `hewn
    # check` then knows no error bound for the values after it.
    text = """g (float[4096] x) => (float[n, m] y) <float[64] w = {ONES}> {
      s = ReduceMax<keepdims = 1>(w)
      low = Floor(s)
      high = Ceil(s)
      sizes = Concat<axis = 0>(low, high)
      shape = Cast<to = 7>(sizes)
      z = Neg(x)
      y = Reshape(z, shape)
    }""".replace("ONES", ", ".join(["64.0"] * 64))
    x = np.arange(4096, dtype=np.float32)
    np.savez(tmp_path / "r.npz", x=x, y=-x.reshape(64, 64) - (x == 5).reshape(64, 64))
    told = check(text, "--reference", tmp_path / "r.npz", status=3)
    assert "1 of 4096 elements" in told
    assert (
        "the effect of rounding may be larger than measured: the reference rejected 3 perturbed runs" in told
        and "Reshape" in told
    )


def test_what_is_not_compared_is_said(check, tmp_path):
    noise = "g (float[4] x) => (float[4] y) {\n n = RandomNormal<shape = [4]>()\n y = Add(x, n)\n}"
    assert "1 output and 2 values" in check(noise)  # a second context draws the same random numbers
    np.savez(tmp_path / "noise.npz", **{name: np.full(4, 9, np.float32) for name in "xny"})
    told = check(noise, "--reference", tmp_path / "noise.npz")
    assert "0 outputs and 0 values" in told and "2 random" in told
    loop = """g (float[4] x, int64 trips) => (float[4] y) {
      yes = Constant<value = bool {1}>()
      y = Loop(trips, yes, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] u) {
        d = Identity(c)
        u = Mul(v, v)
      }>
    }"""
    assert "values in the bodies of 1 node (If, Loop, Scan) are only compared as its outputs" in check(loop)
    words = "g (string[2] x) => (bool[2] y) {\n y = Equal(x, x)\n}"
    assert (
        "input 'x' is a string tensor, a sequence or an optional value, which cannot be generated or read: nothing was "
        "compared; use --compile-only" in check(words, opset=19, status=1)
    )
    assert "compiles" in check(words, "--compile-only", opset=19)
    sequence = "g (float[2] x) => (seq(float[2]) y) {\n y = SequenceConstruct(x, x)\n}"
    assert "no output is a numeric tensor: nothing was compared" in check(sequence, status=1)


def test_flags(check, tmp_path):
    told = check(DENSE, "--tolerance", "much", status=2)
    assert "error: --tolerance expects RELATIVE or RELATIVE,ABSOLUTE, got 'much'" in told
    np.savez(tmp_path / "q.npz", q=np.zeros(3))
    assert "the model has no input 'q'" in check(DENSE, "--input", tmp_path / "q.npz", status=1)
    told = check(DENSE, "--reference", tmp_path / "q.npz", status=1)
    assert "q.npz has no array with the name of a value of the model" in told
    values = all_values(DENSE, dense_feeds())
    x = values.pop("x")
    np.savez(tmp_path / "r.npz", **values)
    told = check(DENSE, "--reference", tmp_path / "r.npz", status=1)
    assert (
        "r.npz has no array for input 'x', which its values depend on: add it to the reference, or pass it by --input"
        in told
    )
    np.save(tmp_path / "x.npy", x)
    assert "agree with" in check(DENSE, "--reference", tmp_path / "r.npz", "--input", f"x={tmp_path / 'x.npy'}")
    assert "can't write" in check(DENSE, "--reduce", "/nowhere/part.onnx", status=1)
    unlike = "g (float[a] x, float[7] z) => (float[7] y) {\n s = Shape(z)\n y = Reshape(x, s)\n}"
    assert (
        "found no inputs that the model accepts; the first error: node '#1 Reshape': two of its sizes must be equal, and "
        "are 3 and 7\nnote: set inputs by --input and sizes of dims by --dim"
        in check(unlike, "--dim", "a=3..5", status=1)
    )


def test_a_reduced_model_spares_what_is_read(check, tmp_path):
    onnx.save(onnx.parser.parse_model(HEAD + DENSE), tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    np.savez(tmp_path / "m.npz", **all_values(DENSE, dense_feeds()))
    for reduced, file in ("m.onnx", "m.onnx"), ("m.npz", "m.npz"), ("m.txt", "m.npz"):
        arguments = ("--reference", tmp_path / "m.npz", "--reduce", tmp_path / reduced, "--tolerance", 0)
        told = check(tmp_path / "m.onnx", *arguments, status=1)
        assert f"--reduce would overwrite the input file '{tmp_path / file}'" in told
    told = check(tmp_path / "m.onnx", "--reduce", tmp_path / "part.npz", status=1)
    assert f"--reduce requires a model file, got the array file '{tmp_path / 'part.npz'}'" in told
    assert (tmp_path / "m.onnx").read_bytes() == before


def test_an_input_that_no_memory_holds(check):
    said = check("g (float[35184372088832] x) => (y) { y = ReduceMax<keepdims = 0>(x) }", status=1)
    assert "input 'x' would exceed 4 GB: set sizes by --dim, or the input by --input" in said


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_weights_of_any_field_are_moved(tmp_path, dtype):
    """The command estimates the error bound by perturbing the weights. Weights may be stored as raw
    data or in a typed field, in an initializer or in a node."""
    random = np.random.default_rng(3)
    w, x = (random.uniform(-1, 1, dims).astype(dtype) for dims in ((64, 8), (4, 64)))
    raw = onnx.numpy_helper.from_array(w, "w")
    field = onnx.helper.make_tensor("w", raw.data_type, w.shape, w.ravel().tolist())
    assert raw.raw_data and not field.raw_data
    info, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    forms = {"raw": [raw], "field": [field]}
    forms["raw constant"] = [node("Constant", [], ["w"], value=raw)]
    forms["constant"] = [node("Constant", [], ["w"], value=field)]
    if dtype == np.float32:
        shape = onnx.numpy_helper.from_array(np.array(w.shape), "shape")
        rows = node("Constant", [], ["rows"], value_floats=w.ravel().tolist())
        forms["floats"] = [rows, shape, node("Reshape", ["rows", "shape"], ["w"])]
    for name, made in forms.items():
        nodes = [one for one in made if isinstance(one, onnx.NodeProto)] + [node("MatMul", ["x", "w"], ["y"])]
        graph = onnx.helper.make_graph(
            nodes,
            "g",
            [info("x", raw.data_type, [4, 64])],
            [info("y", raw.data_type, [4, 8])],
            [one for one in made if isinstance(one, onnx.TensorProto)],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, tmp_path / f"{name}.onnx")
    said = {}
    for name, steps in itertools.product(forms, range(3, 8, 2)):
        # The model's results are small sums of large products, so that rounding errors dominate.
        wide = x.astype(np.float64) @ w.astype(np.float64)
        y = (wide + np.finfo(dtype).eps * 2.0**steps).astype(dtype)
        np.savez(tmp_path / "r.npz", x=x, y=y)
        arguments = [tmp_path / f"{name}.onnx", "--reference", tmp_path / "r.npz", "--verbose"]
        done = subprocess.run([HEWN, "check", *arguments], capture_output=True, text=True)
        said.setdefault(steps, set()).add((done.returncode, "differ only by rounding" in done.stdout))
    assert all(len(each) == 1 for each in said.values()), said
    # The model must have some rounding difference from the reference; without one, this test would
    # prove nothing.
    assert any(decides for each in said.values() for _, decides in each), said


ENDLESS = """g (float[4] x) => (float[4] z, float[4] y) {
  z = Relu(x)
  count = Constant<value = int64 {9223372036854775807}>()
  go = Constant<value = bool {1}>()
  y = Loop(count, go, z) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
    d = Identity(c)
    w = Sin(v)
  }>
}"""


def test_the_time_limit_ends_a_model_that_loops(check):
    told = check(ENDLESS, "--limit", "seconds=3", status=1)
    assert re.search(
        r"error: the limit of 3 s \(--limit seconds=NUMBER raises it\) ended the check during this step: ", told
    )
    record, _ = json.JSONDecoder().raw_decode(check(ENDLESS, "--json", "--limit", "seconds=3", status=1))
    assert record["ended"] == "time limit" and record["outputs"] == [] and not record["differs"]


def test_the_time_limit_is_a_number_of_seconds(check):
    for text in ("seconds=0", "seconds=-1", "seconds=x", "seconds=nan", "seconds"):
        assert f"'{text}' is not a valid limit: 'seconds' must be a number above 0" in check(
            DENSE, "--limit", text, status=2
        )
    assert "agree with -O0" in check(DENSE, "--limit", "seconds=100")

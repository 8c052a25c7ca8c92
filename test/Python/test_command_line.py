# SPDX-License-Identifier: Apache-2.0
"""Tests the command line as scripts use it: with --json, the standard output contains only JSON
with the keys of docs/reference/json.md. Also tests Ctrl-C and colors."""

import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import hewn
import models
import numpy as np
import onnx
import pytest

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "json.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    onnx.save(models.scaled(), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tool(*arguments, **options):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def record(*arguments, status=0):
    done = tool(*arguments, "--json")
    assert done.returncode == status, done.stderr
    told = json.loads(done.stdout)
    assert (told["command"], told["file"], told["hewn"]) == (arguments[0], arguments[1], hewn.__version__)
    documented = DOCS.read_text()
    for key in told:
        assert f"`{key}`" in documented, f"docs/reference/json.md does not tell of '{key}' of {arguments[0]}"
    return told


def test_run(folder):
    told = record("run", "model.onnx", "--input", "x=x.npy", "--output-dir", "out")
    assert told["outputs"] == [{"name": "y", "type": "float32", "shape": [3, 4], "file": "out/y.npy"}]
    np.testing.assert_array_equal(np.load("out/y.npy"), np.full((3, 4), 4, np.float32))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f4", ">f4"])
def test_arrays_of_any_memory_order(folder, order, kind):
    x = np.arange(12, dtype=kind).reshape(3, 4)
    np.save("x.npy", np.asarray(x, order=order))
    tool("run", "model.onnx", "--input", "x=x.npy", "--output-dir", "out", check=True)
    np.testing.assert_array_equal(np.load("out/y.npy"), 3 * x + 1)


COMMANDS = ["compile", "run", "bench", "profile", "explain", "check", "reduce", "info", "quantize", "tune"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_100_columns(command):
    done = tool("help", command)
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 100


def test_help_of_compile_has_groups_and_examples(folder):
    (folder / "samples").mkdir()
    np.savez(folder / "samples" / "one.npz", x=np.ones((3, 4), np.float32))
    text = tool("help", "compile").stdout
    groups = ["Output", "Target", "Model and shapes", "Precision", "Quantization", "Partitioning", "Diagnostics"]
    places = [text.index(f"\n{group}:\n") for group in groups]
    assert places == sorted(places)
    examples = [line.split() for line in text.split("\nExamples:\n")[1].splitlines()]
    assert len(examples) == 3
    for _, *arguments in examples:
        done = tool(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)


@pytest.mark.parametrize("command", ["bench", "profile"])
def test_measured(folder, command):
    tool("compile", "model.onnx", "-o", "model.so")
    told = record(command, "model.so", "--seconds", "0", "--dim", "batch=5", "--threads", "2")
    assert told["dims"] == {"batch": 5} and told["assumed_dims"] == [] and told["threads"] == 2 and told["cpu"]
    assert told["inputs"] == [{"name": "x", "type": "float32", "shape": [5, 4]}]
    times = told["milliseconds"]
    assert 0 < times["fastest"] <= times["p50"] <= times["p90"] <= times["p99"] <= times["slowest"]
    assert told["runs"] >= 3 and told["runs_per_second"] == pytest.approx(1e3 / times["mean"])
    assert told["items_per_second"] == pytest.approx(5 * told["runs_per_second"])
    if command == "profile":
        best = told["fastest_run"]
        inside = sum(kernel["milliseconds"] for kernel in best["kernels"])
        assert best["launches"] == sum(kernel["launches"] for kernel in best["kernels"]) > 0
        assert best["milliseconds"] == pytest.approx(inside + best["between_kernels_milliseconds"])
    assert record(command, "model.so", "--seconds", "0")["assumed_dims"] == ["batch"]


def test_dims_that_were_bound_are_told(folder):
    told = record("bench", "model.onnx", "--seconds", "0", "--dim", "batch=5")
    assert told["dims"] == {"batch": 5} and told["assumed_dims"] == []


def test_explain(folder):
    told = record("explain", "model.onnx", "--dim", "batch=2", "--target", "x86-64-v3,x86-64-v2")
    assert [variant["title"] for variant in told["variants"]] == ["x86-64-v3", "x86-64-v2"]
    text = tool("explain", "model.onnx", "--dim", "batch=2", "--target", "x86-64-v3,x86-64-v2").stdout
    for variant in told["variants"]:
        # the text output of the command has to show the data of the JSON record
        for kernel in variant["kernels"]:
            assert f"  {kernel['name']} x{kernel['launches']}  because: {kernel['why']}\n" in text
            assert f"{kernel['flop']} flop in contractions, {kernel['bytes']} bytes" in text
    assert {stage["stage"] for stage in told["stages"]} >= {"import", "plan"}


def test_check(folder):
    told = record("check", "model.onnx")
    assert told["compiles"] and not told["differs"] and told["first_difference"] is None
    assert [(value["name"], value["judgement"]) for value in told["outputs"]] == [("y", "equal")]
    assert {value["name"]: value["op"] for value in told["values"]} == {"m": "Mul", "y": "Add"}
    np.savez("wrong.npz", x=np.ones((3, 4), np.float32), y=np.zeros((3, 4), np.float32))
    told = record("check", "model.onnx", "--reference", "wrong.npz", status=3)
    assert told["differs"] and told["first_difference"]["name"] == "y"
    assert record("check", "model.onnx", "--compile-only")["compiles"]


def test_info(folder):
    told = record("info", "model.onnx")
    assert told["kind"] == "model" and told["opsets"] == {"ai.onnx": 18} and told["ops"] == {"Add": 1, "Mul": 1}
    expected = {"name": "x", "kind": "tensor", "type": "float32", "shape": ["batch", 4]}
    assert told["inputs"] == [expected] and [dim["name"] for dim in told["dims"]] == ["batch"]
    for output in "model.so", "model.a", "model.o":
        tool("compile", "model.onnx", "-o", output, "--dim", "batch=1..8")
        told = record("info", output)
        assert told["bytes"] == (folder / output).stat().st_size
        (model,) = told["models"]
        assert model["inputs"] == [expected] and model["hewn"] == hewn.__version__
        assert model["dims"] == [{"name": "batch", "min": 1, "max": 8}]


def test_info_names_the_files_of_weights(folder):
    """`hewn info` lists the external files of tensors in the graph, in a node, in a body and in a
    function."""

    def outside(name, file):
        tensor = onnx.numpy_helper.from_array(np.ones(2, np.float32), name)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=file)
        tensor.external_data.add(key="length", value="8")
        return tensor

    body = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["v"], ["u"])], "then", [],
                                  [onnx.helper.make_tensor_value_info("u", 1, [2])], [outside("v", "body.bin")])  # fmt: skip
    function = onnx.helper.make_function(
        "f", "f", ["a"], ["b"],
        [onnx.helper.make_node("Constant", [], ["c"], value=outside("c", "in/function.bin")),
         onnx.helper.make_node("Add", ["a", "c"], ["b"])],
        [onnx.helper.make_opsetid("", 18)],
    )  # fmt: skip
    model = onnx.load("model.onnx")
    model.functions.append(function)
    model.graph.initializer.extend([outside("w", "w.bin"), outside("w2", "w.bin")])
    model.graph.node.extend([onnx.helper.make_node("Constant", [], ["k"], value=outside("k", "node.bin")),
                             onnx.helper.make_node("If", ["b"], ["i"], then_branch=body, else_branch=body)])  # fmt: skip
    onnx.save(model, "files.onnx")
    weights = record("info", "files.onnx")["weights"]
    assert weights["external"] and weights["files"] == ["body.bin", "in/function.bin", "node.bin", "w.bin"]
    weights = record("info", "model.onnx")["weights"]
    assert not weights["external"] and weights["files"] == []


def test_info_says_what_the_library_says(folder):
    built = models.model(
        [
            onnx.helper.make_node("NonZero", ["x"], ["at"]),
            onnx.helper.make_node("Identity", ["s"], ["t"]),
            onnx.helper.make_node("Concat", ["x", "x"], ["twice"], axis=0),
        ],
        [("x", onnx.TensorProto.FLOAT16, ["n", None]), ("s", onnx.TensorProto.STRING, [2])],
        [("at", onnx.TensorProto.INT64, [2, None]), ("t", onnx.TensorProto.STRING, [2]),
         ("twice", onnx.TensorProto.FLOAT16, [None, None])],
    )  # fmt: skip
    module = hewn.compile(built, output="model.so")
    (model,) = record("info", "model.so")["models"]
    for told, loaded in (model["inputs"], module.inputs), (model["outputs"], module.outputs):
        assert [(t["name"], tuple(t["shape"])) for t in told] == [(t.name, t.shape) for t in loaded]
        assert [t["type"] for t in told] == ["string" if t.dtype == object else str(t.dtype) for t in loaded]
    assert model["variants"] == module.variants


def test_info_of_a_member_past_the_end(folder):
    tool("compile", "model.onnx", "-o", "model.a")
    whole = bytearray((folder / "model.a").read_bytes())
    at = 8  # start of the archive's first member that is an object; a member's header has 60 bytes, 10 of them its size
    while whole[at + 60 : at + 64] != b"\x7fELF":
        size = int(whole[at + 48 : at + 58])
        at += 60 + size + size % 2
    whole[at + 48 : at + 58] = b"9999999999"
    (folder / "changed").write_bytes(whole)
    done = tool("info", "changed")
    assert done.returncode == 1 and "an archive member extends past the end of the file" in done.stderr


@pytest.mark.parametrize("output", ["model.so", "model.a", "model.o"])
def test_info_of_damaged_files_answers(folder, output):
    """`hewn info` reports an error for a file with damage in its headers or in the description of
    the model."""
    tool("compile", "model.onnx", "-o", output)
    whole = (folder / output).read_bytes()
    note = whole.index(b"hewn\0\0\0\0")
    dice = random.Random(0)
    answers = set()
    for _ in range(40):
        changed = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            begin, end = dice.choice([(0, 64), (64, 700), (note - 16, note + 450), (len(whole) - 2000, len(whole))])
            changed[dice.randrange(begin, min(end, len(whole)))] = dice.choice([0, 127, 128, 255, dice.randrange(256)])
        (folder / "changed").write_bytes(
            changed[: len(changed) if dice.random() < 0.9 else dice.randrange(len(changed))]
        )
        done = tool("info", "changed")
        assert done.returncode in (0, 1), done.stderr
        assert (done.stdout == "") == (done.returncode == 1) == done.stderr.startswith("error: ")
        answers.add(done.returncode)
    assert answers == {0, 1}


@pytest.mark.parametrize("command", ["run", "bench", "profile", "explain", "check", "info"])
def test_an_error_leaves_the_output_empty(folder, command):
    done = tool(command, "nothing.onnx", "--json")
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("error: ")


def test_artifacts_of_one_model_have_weights_of_their_own(folder):
    """Writing an archive or an object for another target to the folder of a library does not change
    the library or its weights."""
    onnx.save(models.deep(2), "deep.onnx")
    first = tool("compile", "deep.onnx", "-o", "libdeep.so").stderr
    before = (folder / "deep.weights").read_bytes()
    assert first.startswith("wrote libdeep.so (") and "deep.weights (" in first
    for output in "deep.so", "deep.a", "libdeep.a", "deep.o", "lib.so", "libdeep.a.so":
        assert tool("compile", "deep.onnx", "-o", output, "--target=x86-64-v2", "--quiet").stderr == ""
        assert (folder / f"{output}.weights").read_bytes() != before
    assert (folder / "deep.weights").read_bytes() == before
    hewn.load("libdeep.so", verify=True)


def test_a_header_that_another_artifact_has_too(folder):
    """All artifacts with the C name m share the header m.h. If an artifact of another model
    replaces the header, a warning names the other artifacts."""
    onnx.save(models.deep(2), "deep.onnx")
    assert "warning" not in tool("compile", "deep.onnx", "-o", "m.a").stderr
    before = (folder / "m.h").read_text()
    # The second artifact has the same C interface as the first one, so that the header does not
    # change and no warning is needed.
    assert "warning" not in tool("compile", "deep.onnx", "-o", "libm.so", "--target=x86-64-v2").stderr
    told = tool("compile", "model.onnx", "-o", "libm.so").stderr
    assert (
        "warning: 'm.h' is now the header of libm.so and differs from the previous one: compile m.a again, or keep artifacts of different models in separate folders"
        in told
    )
    now = (folder / "m.h").read_text()
    assert now != before and "batch" in now and "batch" not in before
    assert "warning" not in tool("compile", "model.onnx", "-o", "m.a").stderr
    (folder / "libm.so").unlink()
    # No warning is needed, because no other artifact in the folder uses the header.
    assert "warning" not in tool("compile", "deep.onnx", "-o", "m.a").stderr
    assert (folder / "m.h").read_text() == before
    with pytest.warns(UserWarning, match="'m.h' is now the header of m.so .* compile m.a again"):
        hewn.compile("model.onnx", output="m.so")


def test_a_dim_whose_name_has_an_equals_sign(folder):
    """The name of a dim in --dim is everything before the last equals sign."""
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    values = [(name, onnx.TensorProto.FLOAT, ["len=past+1", 4]) for name in "xy"]
    onnx.save(models.model([node], values[:1], values[1:]), "odd.onnx")
    assert record("info", "odd.onnx")["inputs"][0]["shape"] == ["len=past+1", 4]
    done = tool("compile", "odd.onnx", "-o", "odd.so", "--dim", "len=past+1=1..8")
    assert done.returncode == 0, done.stderr
    assert record("bench", "odd.so", "--seconds", "0", "--dim", "len=past+1=3")["inputs"][0]["shape"] == [3, 4]
    assert tool("check", "odd.onnx", "--dim", "len=past+1=3").returncode == 0
    with hewn.compile("odd.onnx", dims={"len=past+1": 2}) as module:
        assert [value.shape for value in module.inputs] == [(2, 4)]


def test_ctrl_c_tells_what_was_measured(folder):
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [TOOL, "bench", "model.onnx", "--dim", "batch=1", "--seconds", "100", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(scratch)}
    )
    while not list(scratch.glob("hewn*/*.so")):
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    told = json.loads(out)
    assert told["interrupted"] and told["runs"] > 0
    assert list(scratch.iterdir()) == []


def on_a_terminal(*arguments, **environment):
    ours, theirs = pty.openpty()
    subprocess.run([TOOL, *arguments], stderr=theirs, timeout=60, env=os.environ | {"TERM": "xterm"} | environment)
    os.close(theirs)
    told = os.read(ours, 4096).decode()
    os.close(ours)
    return told


def test_colours_are_for_terminals(folder):
    assert "\033[" in on_a_terminal("info", "nothing.onnx")
    assert "\033[" not in on_a_terminal("info", "nothing.onnx", NO_COLOR="1")
    assert "\033[" not in tool("info", "nothing.onnx", env=os.environ | {"TERM": "xterm"}).stderr


def test_a_compile_on_a_terminal_tells_what_is_next(folder):
    told = on_a_terminal("compile", "model.onnx", "-o", "libscaled.so")
    assert re.search(r"compiled in [\d.]+ s for host \(\S+\): use --target=portable", told)
    assert "run it: hewn run libscaled.so --input NAME=FILE.npy" in told
    told = on_a_terminal("compile", "model.onnx", "-o", "scaled.a", "--target=x86-64-v3")
    assert re.search(r"compiled in [\d.]+ s for x86-64-v3\r?\n", told) and "link it: cc main.c scaled.a" in told
    assert "compiled in" not in tool("compile", "model.onnx", "-o", "libscaled.so").stderr


def test_progress_is_for_terminals(folder):
    for arguments, step in [
        (("check", "model.onnx"), "hewn: the reference of 2 nodes ..."),
        (("tune", "model.onnx", "--dim", "batch=2", "--budget", "0"), "hewn: compiling the model and measuring"),
    ]:
        told = on_a_terminal(*arguments)
        assert f"\r\033[K{step}" in told
        assert "hewn: " not in tool(*arguments).stderr  # a pipe


def completed(*words):
    """Returns the words that bash's completion offers for the last of these words."""
    script = (
        tool("completion", "bash").stdout + 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _hewn; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script, "-", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.split()


def flags(command):
    return {line.split()[0] for line in tool("help", command).stdout.splitlines() if line.startswith("  -")}


def test_bash_completes_commands_flags_and_values():
    assert {"compile", "info", "help"} <= set(completed("hewn", ""))
    assert completed("hewn", "comp") == ["compile", "completion"]
    for command in "compile", "run", "check", "info":
        assert set(completed("hewn", command, "-")) == flags(command) | {"--help"}
    assert set(completed("hewn", "compile", "--target", "x86")) == {"x86-64-v2", "x86-64-v3", "x86-64-v4"}
    assert completed("hewn", "explain", "--float32-precision", "=", "me") == ["medium"]
    assert completed("hewn", "run", "mod") == []  # the shell completes file names


@pytest.mark.parametrize(("shell", "option"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_scripts_of_other_shells(tmp_path, shell, option):
    script = tool("completion", shell).stdout
    for command in "compile", "run", "check", "info":
        for flag in flags(command):
            name = flag.lstrip("-")
            assert (f" {name} " if shell == "fish" else f"'{flag}") in script or f"'*{flag}" in script
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"there is no {shell} here to read its script")
    path = tmp_path / "script"
    path.write_text(script)
    subprocess.run([program, option, path], check=True, timeout=60)


def test_python_says_the_same(folder):
    for wrong in 0, -1, 1.5, True:
        with pytest.raises(ValueError, match="threads must be a positive integer"):
            hewn.compile(models.scaled(), threads=wrong)
    module = hewn.compile("model.onnx", output="model.so")
    module.close()
    with pytest.raises(ValueError, match="threads must be a positive integer, got 0"):
        hewn.load("model.so", threads=0)
    with pytest.raises(TypeError, match=r"dims must be given by name, as in dims=\{'batch': 1\}, got list"):
        hewn.compile(models.scaled(), dims=[1])
    with pytest.raises(
        hewn.RunError, match=r"'model\.onnx' is a model, not a library: use hewn\.compile to compile and load it"
    ):
        hewn.load("model.onnx")
    for linked in "model.a", "model.o":
        tool("compile", "model.onnx", "-o", linked)
        with pytest.raises(hewn.RunError, match="must be linked into a program; only a library"):
            hewn.load(linked)
    with pytest.raises(hewn.CompileError) as raised:
        hewn.compile(models.wrong())
    assert "error: " not in str(raised.value) and "first (Conjure" in str(raised.value)


def test_parts_of_a_library(folder):
    """Truncated copies of a library are rejected. dlopen would read beyond the end of such a file,
    which kills the process by a signal."""
    hewn.compile(models.scaled(), output="whole.so").close()
    pathlib.Path("load.py").write_text("""
import hewn
whole = open("whole.so", "rb").read()
for length in sorted({*range(0, len(whole), len(whole) // 97), *range(60, 700, 8), len(whole) - 1, len(whole)}):
    open("part.so", "wb").write(whole[:length])
    try:
        hewn.load("part.so").close()
        print(length, "loaded", flush=True)
    except hewn.RunError as error:
        print(length, error, flush=True)
""")
    done = subprocess.run([sys.executable, "load.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.stdout[-100:], done.stderr)
    said = done.stdout.splitlines()
    assert said[-1].endswith("loaded") and sum("truncated" in line for line in said) > 100


def test_python_m_hewn_is_the_command(folder):
    done = subprocess.run([sys.executable, "-m", "hewn", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == tool("--version").stdout

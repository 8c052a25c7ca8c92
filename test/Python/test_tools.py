# SPDX-License-Identifier: Apache-2.0
"""Tests hewn.check, hewn.reduce, hewn.profile and hewn.tune: results, files and errors."""

import inspect
import json
import os
import pathlib
import pickle
import subprocess

import hewn
import models
import numpy as np
import onnx
import pytest
from hewn import commands

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
ONES = np.ones((2, 4), np.float32)


def test_check_agrees_with_the_reference():
    told = hewn.check(models.scaled(), inputs={"x": ONES}, dims={"batch": 2})
    assert (told["command"], told["compiles"], told["differs"], told["ended"]) == ("check", True, False, "complete")
    assert [output["name"] for output in told["outputs"]] == ["y"]
    assert told["inputs"] == [{"name": "x", "type": "float32", "shape": [2, 4]}]


def test_check_finds_a_difference(tmp_path):
    reduced = tmp_path / "reduced.onnx"
    wrong = {"x": ONES, "m": 3 * ONES, "y": 5 * ONES}
    told = hewn.check(models.scaled(), reference=wrong, reduce=reduced, dims={"batch": 2})
    assert told["differs"] is True
    assert [value["name"] for value in told["values"] if value["judgement"] == "differs"] == ["y"]
    assert [node.op_type for node in onnx.load(reduced).graph.node] == ["Add"]
    assert told["reduced"]["nodes"] == 1
    near = hewn.check(models.scaled(), reference=wrong, tolerance=(0.0, 2.0), dims={"batch": 2})
    assert near["differs"] is False


def test_check_ends_at_its_time_limit():
    with pytest.raises(hewn.ToolError, match=r"the limit of 0\.001 s \(limits=.*ended the check"):
        hewn.check(models.deep(), limits={"seconds": 0.001})


def test_check_only_compiles():
    assert hewn.check(models.scaled(), compile_only=True)["compiles"] is True


def test_reduce_keeps_the_unknown_op(tmp_path):
    output = tmp_path / "small.onnx"
    told = hewn.reduce(models.wrong(), output=output, message="ONNX has no such op")
    assert (told["shows"], told["nodes"], told["nodes_before"]) == ("error", 1, 4)
    assert [node.op_type for node in onnx.load(output).graph.node] == ["Conjure"]


def test_reduce_runs_a_command(tmp_path):
    output = tmp_path / "small.onnx"
    told = hewn.reduce(models.deep(layers=4), output=output, if_="grep -q MatMul {}", time_limit=30)
    assert told["shows"] == "command"
    assert told["nodes"] == len(onnx.load(output).graph.node) < told["nodes_before"]


def test_reduce_requires_a_failure(tmp_path):
    with pytest.raises(hewn.ToolError, match="there is nothing to reduce"):
        hewn.reduce(models.scaled(), output=tmp_path / "small.onnx", dims={"batch": 2})
    assert not list(tmp_path.iterdir())


def test_profile_times_each_kernel(tmp_path):
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    lines = []
    told = hewn.profile(models.deep(layers=3), seconds=0.1, threads=2, html=page, trace=trace, progress=lines.append)
    assert told["threads"] == 2
    assert told["milliseconds"]["fastest"] > 0
    kernels = told["fastest_run"]["kernels"]
    assert kernels and all(kernel["milliseconds"] > 0 for kernel in kernels)
    assert page.read_text().startswith("<!")
    assert json.loads(trace.read_text())["traceEvents"]


def test_profile_of_a_library(tmp_path):
    library = tmp_path / "libmodel.so"
    hewn.compile(models.scaled(), output=library).close()
    told = hewn.profile(library, dims={"batch": 3}, seconds=0.05)
    assert (told["file"], told["dims"]) == (str(library), {"batch": 3})
    with pytest.raises(hewn.ToolError, match="is already compiled: remove optimize=False"):
        hewn.profile(library, optimize=False)


def test_tune_writes_schedules_that_compile_reads(tmp_path):
    model, tuning = models.deep(layers=2, width=256), tmp_path / "tuning"
    lines = []
    told = hewn.tune(model, output=tuning, budget=3, progress=lines.append)
    assert told["part"] == "1/1" and told["interrupted"] is False
    assert any(line.startswith("hewn tune: ") for line in lines)
    rows = [json.loads(line) for line in tuning.read_text().splitlines()[1:]]
    assert {row["kernel"] for row in rows} == {k["kernel"] for k in told["kernels"] if k["tried"] > 1}
    merged = hewn.merge_tunings([tuning, tuning], tmp_path / "merged")
    assert merged["rows"] == len(rows)
    hewn.compile(model, tuning=tmp_path / "merged").close()


def test_an_exception_of_progress_ends_the_command(tmp_path):
    class Enough(Exception):
        pass

    def stop(line):
        raise Enough(line)

    with pytest.raises(Enough, match="hewn tune"):
        hewn.tune(models.deep(layers=2, width=256), budget=60, progress=stop)


def test_warnings_are_python_warnings():
    clash = models.model(
        [onnx.helper.make_node("Add", ["a", "b"], ["y"])],
        [("a", onnx.TensorProto.FLOAT, ["n", 1]), ("b", onnx.TensorProto.FLOAT, [1, "n"])],
        [("y", onnx.TensorProto.FLOAT, [None, None])],
    )
    with pytest.warns(UserWarning, match="'n'"):
        hewn.check(clash, compile_only=True)


@pytest.mark.parametrize(
    ("function", "arguments", "problem"),
    [
        (hewn.check, {"tolerance": "much"}, "tolerance expects RELATIVE or RELATIVE,ABSOLUTE, got 'much'"),
        (hewn.check, {"memory": 0}, "memory expects a positive integer, got '0'"),
        (hewn.reduce, {"slower_than": "long"}, "slower_than expects milliseconds or a factor"),
        (hewn.reduce, {"if_": "true"}, "if_ requires {} in its command"),
        (hewn.reduce, {"if_": "true {}", "message": "x"}, "only one of if_, slower_than, compile_slower_than"),
        (hewn.profile, {"seconds": -1}, "seconds expects a number of seconds, got '-1'"),
        (hewn.tune, {"budget": "long"}, "budget expects a number of seconds, got 'long'"),
        (hewn.tune, {"part": "3/2"}, "part expects a part from 1/N to N/N, got '3/2'"),
        (hewn.tune, {"target": "sm_90a"}, "tuning for GPUs is not supported: 'sm_90a'"),
    ],
)
def test_a_wrong_argument_is_named(function, arguments, problem):
    with pytest.raises(ValueError) as raised:
        function(models.scaled(), **arguments)
    assert str(raised.value).startswith(problem)


def test_an_unknown_argument_is_named():
    with pytest.raises(TypeError, match=r"check\(\) got an unexpected .* 'tolerances'; did you mean 'tolerance'\?"):
        hewn.check(models.scaled(), tolerances=1)
    with pytest.raises(TypeError, match=r"reduce\(\) got an unexpected keyword argument 'quantize'"):
        hewn.reduce(models.scaled(), quantize="int8")
    with pytest.raises(TypeError, match="inputs must be arrays by name or a file, got ndarray"):
        hewn.check(models.scaled(), inputs=ONES)
    with pytest.raises(ValueError, match=r"check\(\) runs custom ops in another process"):
        hewn.check(models.scaled(), custom_ops={"ops": [{"name": "F", "function": abs}]})


def test_all_errors_of_a_model_are_listed():
    with pytest.raises(hewn.ToolError) as raised:
        hewn.check(models.wrong())
    assert [message.split()[0] for message in raised.value.messages] == ["first", "second", "third"]
    assert pickle.loads(pickle.dumps(raised.value)).messages == raised.value.messages


def test_quantization_reads_feeds(tmp_path):
    feeds = ({"x": np.full((2, 4), i, np.float32)} for i in range(3))
    told = hewn.profile(models.scaled(), dims={"batch": 2}, quantize="int8", calibration=feeds, seconds=0.05)
    assert told["dims"] == {"batch": 2}


@pytest.mark.parametrize("name", ["check", "profile", "reduce", "tune"])
def test_every_flag_of_a_command_is_an_argument(name):
    """`--json` is always given, `--verbose` changes only the text, `--merge` is `merge_tunings`."""
    page = subprocess.run([TOOL, "help", name], capture_output=True, text=True, check=True).stdout
    flags = {line.split()[0].lstrip("-") for line in page.splitlines() if line.startswith("  -")}
    python = {flag: argument for argument, flag in commands._FLAGS.items()} | {"O0": "optimize"}
    function = getattr(hewn, name)
    shared = commands.QuantizeOptions if name in ("tune", "profile") else commands.CompileOptions
    arguments = set(inspect.signature(function).parameters) | set(shared.__annotations__)
    missing = {python.get(flag, flag.replace("-", "_")) for flag in flags} - arguments
    assert missing == {"json"} | {"check": {"verbose"}, "tune": {"merge"}}.get(name, set())

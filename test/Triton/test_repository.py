# SPDX-License-Identifier: Apache-2.0
"""Tests the folders and configurations that `hewn compile --triton` writes, without a server."""

import re
import signal
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from server import MODELS, TOOLS

OPSET = '<ir_version: 10, opset_import: ["" : 19]>\n'


def compile_text(folder, text, *flags, name="model", repository="repository"):
    path = folder / f"{name}.onnxtxt"
    path.write_text(text)
    command = [TOOLS / "hewn", "compile", path, "--triton", folder / repository, *flags]
    done = subprocess.run(command, capture_output=True, text=True, umask=0o022)
    return done.returncode, done.stderr


def config_of(folder, text, *flags, name="model"):
    status, told = compile_text(folder, text, *flags, name=name)
    assert status == 0, told
    return (folder / "repository" / name / "config.pbtxt").read_text()


def lines(config, key):
    return re.findall(rf"^{key} \[ \{{ (.*) \}} \]$", config, re.M)


def test_a_batch(tmp_path):
    config = config_of(tmp_path, MODELS["picked"])
    assert lines(config, "input") == [
        'name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] }',
        'name: "z" data_type: TYPE_FP32 dims: [ -1 ]',
        'name: "i" data_type: TYPE_INT64 dims: [ -1 ]',
    ]
    assert "\nmax_batch_size: 64\n" in config and "\ndynamic_batching { }\n" in config
    assert config.startswith('name: "model"\nbackend: "hewn"\n')
    assert lines(config, "instance_group") == ["count: 1 kind: KIND_CPU"]
    assert 'key: "threads" value { string_value: "1" }' in config


@pytest.mark.parametrize("bound, most", [("1..16", 16), ("0..5", 5), ("2..9", 0), ("4", 0)])
def test_a_bound_of_the_batch(tmp_path, bound, most):
    config = config_of(tmp_path, MODELS["picked"], "--dim", f"batch={bound}")
    assert f"\nmax_batch_size: {most}\n" in config
    assert ("dynamic_batching" in config) == (most > 0)


@pytest.mark.parametrize(
    "signature, body",
    [
        ("(float[n] x, float[m] y) => (float[n] z)", "z = Neg(x)"),  # two different symbols
        ("(float[n, n] x) => (float[n, n] z)", "z = Neg(x)"),  # the symbol is also another dim
        (
            "(float[n, 2] x) => (float[k] z)",
            "s = Shape(x)\n flat = Constant <value_ints = [-1]>()\n z = Reshape(x, flat)",
        ),
        ("(float[n] x) => (int64[1, k] z)", "z = NonZero(x)"),
        ("(float[n] x, float y) => (float[n] z)", "z = Add(x, y)"),  # y is a scalar
    ],
)
def test_no_batch(tmp_path, signature, body):
    config = config_of(tmp_path, f"{OPSET}model {signature} {{ {body} }}")
    assert "\nmax_batch_size: 0\n" in config and "dynamic_batching" not in config


def test_sizes_that_are_fixed_open_and_nothing(tmp_path):
    config = config_of(
        tmp_path,
        OPSET
        + "model (float x, int8[2, n] y, uint16[3, 0] e) => (float z, int8[2, m] w) { z = Neg(x)\n w = Concat <axis = 1>(y, y) }",
    )
    assert lines(config, "input") == [
        'name: "x" data_type: TYPE_FP32 dims: [ 1 ]',
        'name: "y" data_type: TYPE_INT8 dims: [ 2, -1 ]',
        'name: "e" data_type: TYPE_UINT16 dims: [ 3, -1 ]',
    ]
    assert lines(config, "output")[1] == 'name: "w" data_type: TYPE_INT8 dims: [ 2, -1 ]'


def test_types(tmp_path):
    names = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float double string".split()
    inputs = ", ".join(f"{name}[2] i_{name}" for name in names)
    outputs = ", ".join(f"{name}[2] o_{name}" for name in names)
    body = "\n".join(f"o_{name} = Identity(i_{name})" for name in names)
    config = config_of(tmp_path, f"{OPSET}model ({inputs}) => ({outputs}) {{ {body} }}")
    told = [re.search("TYPE_([A-Z0-9]+)", line)[1] for line in lines(config, "output")]
    assert told == "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 BF16 FP32 FP64 STRING".split()


def test_states_of_rows_alone(tmp_path):
    """A state whose only dim is the batch dim is rejected with batching, because Triton then lists
    no dims for it. Without batching it is accepted."""
    text = OPSET + "model (float[n] x, float[n] past) => (float[n] next) { next = Add(x, past) }"
    status, told = compile_text(tmp_path, text, "--triton-state", "past=next")
    assert status == 1 and "past=next: input and output have only the batch dim" in told
    config = config_of(tmp_path, text, "--triton-state", "past=next", "--dim", "n=4")
    assert "\nmax_batch_size: 0\n" in config and 'output_name: "next" data_type: TYPE_FP32 dims: [ 4 ]' in config


def test_a_state(tmp_path):
    config = config_of(tmp_path, MODELS["summed"], "--triton-state", "past=present")
    assert lines(config, "input") == ['name: "x" data_type: TYPE_FP32 dims: [ 3 ]']
    assert lines(config, "output") == ['name: "y" data_type: TYPE_FP32 dims: [ 3 ]']
    assert 'input_name: "past" output_name: "present" data_type: TYPE_FP32 dims: [ -1, 3 ]' in config
    assert 'initial_state { name: "zeros" data_type: TYPE_FP32 dims: [ 0, 3 ] zero_data: true }' in config
    assert "\n  max_sequence_idle_microseconds: 60000000\n" in config and "dynamic_batching" not in config


def test_names_are_quoted(tmp_path):
    node = helper.make_node("Neg", ['a "b"\\c\n'], ["y"])
    float2 = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ('a "b"\\c\n', "y")]
    model = helper.make_model(helper.make_graph([node], "g", float2[:1], float2[1:]), ir_version=9)
    onnx.save(model, tmp_path / "1-a.b.onnx")
    subprocess.run([TOOLS / "hewn", "compile", tmp_path / "1-a.b.onnx", "--triton", tmp_path], check=True)
    config = (tmp_path / "1-a.b/config.pbtxt").read_text()
    assert config.startswith('name: "1-a.b"\n')
    assert lines(config, "input") == [r'name: "a \"b\"\\c\012" data_type: TYPE_FP32 dims: [ 2 ]']


def weighty(scale):
    weights = numpy_helper.from_array(np.full([64, 64], scale, np.float32), "w")
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 64]) for n in "xy"]
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", io[:1], io[1:], [weights]), ir_version=9)


def test_files(tmp_path):
    """A compile writes a library and its weights to the folder of a version. A second compile
    replaces both files; if it fails, it replaces neither."""
    path, repository = tmp_path / "dense.onnx", tmp_path / "deep/repository"
    onnx.save(weighty(1), path)
    command = [TOOLS / "hewn", "compile", path, "--triton", repository]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert (
        told.startswith(f"wrote {repository}/dense/1/model.so (")
        and "model.so.weights (" in told
        and "config.pbtxt" in told
    )
    files = {file: file.stat().st_ino for file in repository.rglob("*") if file.is_file()}
    assert sorted(str(file.relative_to(repository)) for file in files) == [
        "dense/1/model.so",
        "dense/1/model.so.weights",
        "dense/config.pbtxt",
    ]
    before = {file: file.read_bytes() for file in files}
    path.write_bytes(b"no model")
    assert subprocess.run(command, capture_output=True).returncode == 1
    assert {file: file.read_bytes() for file in repository.rglob("*") if file.is_file()} == before
    onnx.save(weighty(2), path)
    subprocess.run(command, check=True, capture_output=True)
    assert (repository / "dense/1/model.so.weights").read_bytes() != before[repository / "dense/1/model.so.weights"]
    assert not [one for one in (repository / "dense").iterdir() if one.name not in ("1", "config.pbtxt")]


def test_an_interrupted_compile_leaves_nothing(tmp_path):
    """An interrupted compile removes its files and the folders that it created. Earlier files
    remain."""
    chain = "".join(f", t{n + 1} = MatMul(t{n}, w), s{n} = Sin(t{n})" for n in range(400))
    text = '<ir_version: 9, opset_import: ["": 17]>\ng (float[n, 64] t0, float[64, 64] w) => (float[n, 64] t400) {\n'
    (tmp_path / "deep.onnxtxt").write_text(text + "  z = Identity(t0)" + chain + "\n}\n")
    (tmp_path / "kept").mkdir()
    for where, left in (("new/repository", {"kept", "deep.onnxtxt"}), ("kept/repository", {"kept", "deep.onnxtxt"})):
        command = [TOOLS / "hewn", "compile", tmp_path / "deep.onnxtxt", "--triton", tmp_path / where]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while not list((tmp_path / where).glob("deep/hewn-*")):
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT, process.communicate()
        assert {one.name for one in tmp_path.iterdir()} == left and not list((tmp_path / "kept").iterdir())


def test_weights_go_with_their_library(tmp_path):
    """If a new model without weights replaces a model, the weights file of the old model is
    removed."""
    path = tmp_path / "dense.onnx"
    onnx.save(weighty(1), path)
    command = [TOOLS / "hewn", "compile", path, "--triton", tmp_path / "repository"]
    for flags, files in (((), ["model.so", "model.so.weights"]), (("--embed-weights",), ["model.so"])):
        subprocess.run([*command, *flags], check=True, capture_output=True)
        assert sorted(file.name for file in (tmp_path / "repository/dense/1").iterdir()) == files


def test_a_config_that_has_no_place(tmp_path):
    """If config.pbtxt cannot be written, no file of the old model is replaced."""
    path, model = tmp_path / "dense.onnx", tmp_path / "repository/dense"
    onnx.save(weighty(1), path)
    command = [TOOLS / "hewn", "compile", path, "--triton", tmp_path / "repository"]
    subprocess.run(command, check=True, capture_output=True)
    (model / "config.pbtxt").unlink()
    (model / "config.pbtxt").mkdir()
    before = {file.name: (file.stat().st_ino, file.read_bytes()) for file in (model / "1").iterdir()}
    onnx.save(weighty(2), path)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and f"can't write '{model}/config.pbtxt': Is a directory" in done.stderr
    assert {file.name: (file.stat().st_ino, file.read_bytes()) for file in (model / "1").iterdir()} == before
    assert sorted(one.name for one in model.iterdir()) == ["1", "config.pbtxt"]


def test_others_may_read(tmp_path):
    """Only the umask restricts the permissions of the written files, because a server runs as
    another user."""
    text = OPSET + "model (float[2] x) => (float[2] y) { y = Neg(x) }"
    status, told = compile_text(tmp_path, text, repository="outer/inner")
    assert status == 0, told
    folders = [tmp_path / "outer", *(one for one in (tmp_path / "outer").rglob("*") if one.is_dir())]
    assert {str(one.relative_to(tmp_path)): oct(one.stat().st_mode & 0o777) for one in folders} == {
        "outer": "0o755",
        "outer/inner": "0o755",
        "outer/inner/model": "0o755",
        "outer/inner/model/1": "0o755",
    }
    for file in (one for one in (tmp_path / "outer").rglob("*") if one.is_file()):
        assert file.stat().st_mode & 0o444 == 0o444, file


@pytest.mark.parametrize("repository, outer", [("repository", "repository"), ("outer/inner/repository", "outer")])
def test_a_failure_leaves_no_folder(tmp_path, repository, outer):
    status, told = compile_text(
        tmp_path,
        OPSET + "model (float[2] x) => (float8e4m3fn[2] y) { y = Cast <to = 17>(x) }",
        repository=repository,
    )
    assert status == 1 and "output 'y' is float8e4m3fn, a type that Triton does not support" in told
    assert not (tmp_path / outer).exists()
    status, told = compile_text(
        tmp_path, OPSET + "model (float[2] x) => (float[2] y) { y = Nowhere(x) }", repository=repository
    )
    assert status == 1 and not (tmp_path / outer).exists()

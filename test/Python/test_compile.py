# SPDX-License-Identifier: Apache-2.0
"""Tests hewn.compile: the forms in which a model can be passed, options, and errors."""

import os
import pathlib
import pickle
import threading
import time

import hewn
import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def test_a_model_is_a_path_bytes_or_a_proto(tmp_path):
    proto = models.scaled()
    path = tmp_path / "scaled.onnx"
    onnx.save(proto, path)
    data = proto.SerializeToString()
    for form in (proto, data, bytearray(data), memoryview(data), str(path), path):
        np.testing.assert_array_equal(hewn.compile(form).run({"x": X})["y"], 3 * X + 1)


def test_the_bytes_of_a_model_stay_as_they_are():
    """The compiler frees its copy of the weights after packing them, but does not change the
    caller's bytes."""
    w = np.ones((200, 300), np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [100, 200])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [100, 300])],
        [numpy_helper.from_array(w, "w")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    data = proto.SerializeToString()
    hewn.compile(data)
    assert data == proto.SerializeToString()


def test_a_model_is_nothing_else():
    with pytest.raises(TypeError, match=r"^model must be a path, bytes, a ModelProto, .* got int$"):
        hewn.compile(7)


def with_external_data(folder):
    """Saves the model y = x + weight, with the weight in the external file model.data. Returns the
    path of the model, and the weight."""
    path = folder / "model.onnx"
    weight = np.arange(4096, dtype=np.float32)
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    shape = ("x", onnx.TensorProto.FLOAT, [4096])
    proto = models.model([node], [shape], [("y", *shape[1:])], [("w", weight)])
    onnx.save(proto, path, save_as_external_data=True, location="model.data", size_threshold=0)
    return path, weight


def test_external_data_lies_beside_the_model(tmp_path):
    path, weight = with_external_data(tmp_path)
    assert (tmp_path / "model.data").exists()
    np.testing.assert_array_equal(hewn.compile(path).run({"x": weight})["y"], 2 * weight)
    refused = "initializer 'w' is stored in the file 'model.data', but the model has no folder: pass its path instead of its bytes"
    with pytest.raises(hewn.CompileError, match=refused):
        hewn.compile(path.read_bytes())


def test_output_keeps_the_artifact(tmp_path):
    path = tmp_path / "libscaled.so"
    module = hewn.compile(models.scaled(), output=path)
    assert module.name == "scaled"
    assert {"libscaled.so", "scaled.h"} <= {path.name for path in tmp_path.iterdir()}
    del module
    np.testing.assert_array_equal(hewn.load(path).run({"x": X})["y"], 3 * X + 1)
    np.testing.assert_array_equal(hewn.load(str(path)).run({"x": X})["y"], 3 * X + 1)


def test_without_output_nothing_stays_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    module = hewn.compile(models.scaled())
    assert len(list(tmp_path.iterdir())) == 1
    del module
    assert not list(tmp_path.iterdir())
    with pytest.raises(hewn.CompileError):
        hewn.compile(models.wrong())
    assert not list(tmp_path.iterdir())


def test_dims_are_bound_to_a_value_or_a_range():
    free = hewn.compile(models.scaled())
    assert free.inputs[0].shape == ("batch", 4)
    one = hewn.compile(models.scaled(), dims={"batch": 2})
    assert one.inputs[0].shape == (2, 4) and one.outputs[0].shape == (2, 4)
    np.testing.assert_array_equal(one.run({"x": X})["y"], 3 * X + 1)
    some = hewn.compile(models.scaled(), dims={"batch": (1, 2)})
    some.run({"x": X})
    with pytest.raises(hewn.RunError, match=r"dimension 'batch' is 3; the model was compiled for 1\.\.2"):
        some.run({"x": np.zeros((3, 4), np.float32)})


def test_every_precision_and_the_oracle_give_the_same():
    for options in ({"precision": "high"}, {"precision": "medium"}, {"optimize": False}, {"threads": 2}):
        np.testing.assert_array_equal(hewn.compile(models.scaled(), **options).run({"x": X})["y"], 3 * X + 1)


def test_a_target_that_every_machine_has():
    np.testing.assert_array_equal(hewn.compile(models.scaled(), target="x86-64-v2").run({"x": X})["y"], 3 * X + 1)


def test_compile_error_has_every_diagnostic():
    with pytest.raises(hewn.CompileError) as caught:
        hewn.compile(models.wrong())
    found = [(d.node, d.op, d.domain, d.opset) for d in caught.value.diagnostics if not d.is_warning]
    assert found == [("first", "Conjure", "", 18), ("second", "Vanish", "", 18), ("third", "Fuse", "com.elsewhere", 3)]
    assert all(d.reason for d in caught.value.diagnostics)
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics
    for name in ("first", "second", "third"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"target": "z80"}, "unknown target 'z80'"),
        ({"precision": "exact"}, "unknown float32 precision 'exact'"),
        ({"quantize": "int1"}, "int1"),
        ({"dims": {"bach": 1}}, "no input has a dim 'bach'; there are: batch"),
        ({"dims": {"batch": -1}}, "dims={'batch': '-1'} is not valid"),
        ({"dims": {"batch": (5, 2)}}, r"dims={'batch': '5\.\.2'} is not valid"),
        ({"output": "model.dll"}, r"output must be a library \(\.so\), got 'model\.dll'"),
        ({"output": "model.a"}, r"use `hewn compile` for \.a and \.o"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(hewn.CompileError, match=message):
        hewn.compile(models.scaled(), **options)


def test_files_that_are_no_models(tmp_path):
    for name, content in (("empty.onnx", b""), ("noise.onnx", bytes(range(256)) * 8)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(hewn.CompileError, match=name):
            hewn.compile(tmp_path / name)
    with pytest.raises(hewn.CompileError, match=r"missing\.onnx"):
        hewn.compile(tmp_path / "missing.onnx")
    with pytest.raises(hewn.CompileError):
        hewn.compile(b"no model")


def test_other_threads_run_while_one_compiles():
    ticks, times, stop = [], [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    model = models.deep()
    thread.start()
    try:
        times.append(time.monotonic())
        hewn.compile(model)
        times.append(time.monotonic())
    finally:
        stop.set()
        thread.join()
    # If the compile held the GIL, the thread would not tick during it. The first and last tenth of
    # the compile run Python code.
    begin, end = times[0] + 0.1 * (times[1] - times[0]), times[1] - 0.1 * (times[1] - times[0])
    assert sum(begin < t < end for t in ticks) >= 10


def test_two_threads_compile_at_once():
    results = [None, None]

    def work(i):
        results[i] = hewn.compile(models.scaled()).run({"x": X + i})["y"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(2):
        np.testing.assert_array_equal(results[i], 3 * (X + i) + 1)


def test_a_cache_gives_the_same_library(tmp_path):
    cache, plain = tmp_path / "cache", tmp_path / "plain.so"
    hewn.compile(models.scaled(), output=plain)
    first, again = tmp_path / "first" / "plain.so", tmp_path / "again" / "plain.so"
    for path in (first, again):
        path.parent.mkdir()
        hewn.compile(models.scaled(), output=path, cache_dir=cache)
        assert path.read_bytes() == plain.read_bytes()
    assert [f for f in cache.iterdir() if f.name.startswith("llvmcache-")]


def test_cache_entries_are_not_used_for_another_target(tmp_path):
    """Compiles for different targets use different cache entries, because the key of an entry is
    the hash of everything that the entry depends on."""
    cache = tmp_path / "cache"
    hewn.compile(models.scaled(), cache_dir=cache)
    before = set(cache.iterdir())
    hewn.compile(models.scaled(), cache_dir=cache, target="x86-64-v2")
    assert set(cache.iterdir()) > before


def test_kept_artifacts_know_their_external_data(tmp_path):
    model, weight = with_external_data(tmp_path)

    def run():
        return hewn.compile(model, cache_dir=tmp_path / "cache").run({"x": weight})["y"]

    for factor in (1, 3, 1):
        (tmp_path / "model.data").write_bytes((weight * factor).tobytes())
        np.testing.assert_array_equal(run(), (1 + factor) * weight)
    (tmp_path / "model.data").unlink()
    with pytest.raises(hewn.CompileError, match=r"model\.data"):
        run()


def renamed(proto, name):
    """Returns the model with its input `x` and its node renamed to `name`, which are bytes that
    need not be UTF-8."""
    mark = b"\x01" * len(name)
    for node in proto.graph.node:
        node.name = mark.decode()
        node.input[:] = [mark.decode() if i == "x" else i for i in node.input]
    proto.graph.input[0].name = mark.decode()
    return proto.SerializeToString().replace(mark, name)


def test_names_need_not_be_utf8():
    module = hewn.compile(renamed(models.scaled(), b"n\xe4me"))
    assert module.inputs[0].name == "n\udce4me"
    np.testing.assert_array_equal(module.run({"n\udce4me": X})["y"], 3 * X + 1)


def test_warnings_are_python_s():
    inputs = [(name, onnx.TensorProto.FLOAT, [4]) for name in "xw"]
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = models.model([node], inputs, [("y", onnx.TensorProto.FLOAT, [4])], [("w", np.ones(4, np.float32))])
    with pytest.warns(UserWarning, match="^inputs with an initializer are constants: 'w'") as told:
        hewn.compile(proto)
    assert told[0].filename == __file__


def test_messages_are_text_whatever_a_model_holds():
    proto = models.scaled()
    proto.graph.node[0].op_type = "Frobnicate"
    with pytest.raises(hewn.CompileError, match=r"n\\xe4\\x1b\[31m") as problem:
        hewn.compile(renamed(proto, b"n\xe4\x1b[31m"))
    assert problem.value.diagnostics[0].node.startswith("n\\xe4")


def test_paths_need_not_be_utf8(tmp_path):
    folder = pathlib.Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xe4"))
    folder.mkdir()
    path = str(folder / "model.onnx")
    with pytest.raises(hewn.CompileError, match=r"m\\xe4"):
        hewn.compile(path)
    onnx.save(models.scaled(), path)
    output = str(folder / "libmodel.so")
    np.testing.assert_array_equal(hewn.compile(path, output=output).run({"x": X})["y"], 3 * X + 1)
    np.testing.assert_array_equal(hewn.load(output).run({"x": X})["y"], 3 * X + 1)


def test_limits_are_the_callers():
    call = helper.make_node("twice", ["x"], ["y"], domain="my")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    nodes = [helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Abs", ["t"], ["y"])]
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in "xy"]
    graph = helper.make_graph([call], "g", shape[:1], shape[1:])
    twice = helper.make_function("my", "twice", ["x"], ["y"], nodes, opsets)
    proto = helper.make_model(graph, opset_imports=opsets, functions=[twice], ir_version=9)
    np.testing.assert_array_equal(hewn.compile(proto, limits={"nodes": 2}).run({"x": X})["y"], X)
    with pytest.raises(hewn.CompileError, match=r"more than the limit of 1 .limits={'nodes': NUMBER} raises it"):
        hewn.compile(proto, limits={"nodes": 1})
    with pytest.raises(hewn.CompileError, match="one of: nodes, nesting, bytes, folding"):
        hewn.compile(proto, limits={"time": 1})


def test_messages_name_arguments_instead_of_flags():
    for dims, told in [
        ({"batch": "x"}, r"dims={'batch': 'x'} is not valid: expected a size, a pair \(low, high\), or text such as"),
        ({"batch": (4, 2)}, r"dims={'batch': '4..2'} is not valid: "),
        ({"batch": -1}, r"dims={'batch': '-1'} is not valid: "),
    ]:
        with pytest.raises(hewn.CompileError, match=told) as raised:
            hewn.compile(models.scaled(), dims=dims)
        assert "--" not in str(raised.value)
    with pytest.raises(hewn.CompileError, match="'time=1' is not a valid limit: limits takes NAME=NUMBER"):
        hewn.compile(models.scaled(), limits={"time": 1})

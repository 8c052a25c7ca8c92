# SPDX-License-Identifier: Apache-2.0
"""Compares hewn.compat.onnxruntime with onnxruntime: equal calls give equal results, or exceptions
of the same class and kind.

Separate tests cover the intended differences, which docs/python/onnxruntime.md lists.
"""

import dataclasses
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import typing
import warnings

import hewn
import models
import numpy as np
import onnx
import onnxruntime as real
import pytest
from hewn.compat import onnxruntime as ours
from onnx import TensorProto, helper

X = np.arange(8, dtype=np.float32).reshape(2, 4)
F, I64, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HEWN_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


def quiet(engine):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    return options


def session_of(engine, proto, options=None, **more):
    data = proto if isinstance(proto, (bytes, str)) else proto.SerializeToString()
    return engine.InferenceSession(data, options or quiet(engine), providers=["CPUExecutionProvider"], **more)


@dataclasses.dataclass
class Outcome:
    """The result of a call: a value; or the class of an exception, the kind of failure that its
    text shows, and the text."""

    value: object = None
    raised: str = ""
    kind: str = ""
    text: str = ""


# Patterns in the text of an exception that identify the kind of failure. The rest of the text
# differs between the engines.
KINDS = [
    r"Required inputs \(.*\) are missing from input feed \(.*\)",
    r"Invalid input name: \S+",
    r"Invalid output name: ?\S+",
    r"Unexpected input data type\. Actual: \(.*\) , expected: \(.*\)",
    r"Invalid rank for input: \S+ Got: \d+ Expected: \d+",
    r"Got invalid dimensions for input: \S+ for the following indices\s+index: \d+ Got: \d+ Expected: \d+",
    r"Unable to handle object of type <class '.*'>",
    r"Could not create tensor from given input list",
    r"Input must be a list of dictionaries or a single numpy array for input '.*'",
    r"does not have configuration with key: .*",
    r"No graph was found",
    r"Protobuf parsing failed",
    r"doesn't exist",
    r"terminate flag",
    r"Failed to find NodeArg with name: \S+",
    r"At least one output should be requested",
    r"\[ONNXRuntimeError\] : \d+ : \w+",
]


def outcome(call, engine):
    try:
        return Outcome(value=call(engine))
    except Exception as problem:
        told = [found[0] for kind in KINDS if (found := re.search(kind, str(problem)))]
        name = f"{type(problem).__module__.rpartition('.')[2]}.{type(problem).__name__}"
        kind = "; ".join(" ".join(t.replace("name: ", "name:").split()) for t in told)
        return Outcome(raised=name, kind=kind, text=str(problem))


def same(a, b):
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-6)
        else:
            np.testing.assert_array_equal(a, b)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            same(one, other)
    else:
        assert a == b


def agree(call):
    """Makes a call with both engines. Asserts that they return equal values or raise equal
    exceptions."""
    theirs, own = outcome(call, real), outcome(call, ours)
    assert (own.raised, own.kind) == (theirs.raised, theirs.kind), own.text or theirs.text
    same(own.value, theirs.value)
    return theirs


def described(args):
    return [(each.name, each.type, each.shape) for each in args]


def told_by(session):
    meta = session.get_modelmeta()
    fields = "custom_metadata_map description domain graph_description graph_name producer_name version"
    return [
        *(described(get()) for get in (session.get_inputs, session.get_outputs, session.get_overridable_initializers)),
        [getattr(meta, field) for field in fields.split()],
        session.get_providers(),
        session.get_provider_options(),
    ]


def labelled():
    proto = models.scaled()
    proto.producer_name, proto.domain, proto.model_version, proto.doc_string = "maker", "a.b", 7, "a model"
    proto.graph.doc_string = "its graph"
    for key, value in (("character", "a\nb\né"), ("empty", "")):
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, value
    return proto


def relu(shape, out, code=F):
    return models.model([helper.make_node("Identity", ["x"], ["y"])], [("x", code, shape)], [("y", code, out)])


def strings():
    return relu(["n"], ["n"], S)


def sequence():
    node = helper.make_node("SequenceConstruct", ["x", "x"], ["y"])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", F, ["n"])],
        [helper.make_tensor_sequence_value_info("y", F, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def overridable(ir_version=10):
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = models.model([node], [("x", F, ["n"]), ("w", F, [1])], [("y", F, ["n"])], [("w", np.float32([2]))])
    proto.ir_version = ir_version
    return proto


def gathers():
    node = helper.make_node("Gather", ["x", "i"], ["y"])
    return models.model([node], [("x", F, ["n"]), ("i", I64, ["m"])], [("y", F, ["m"])])


def adds():
    node = helper.make_node("Add", ["a", "b"], ["y"])
    return models.model([node], [("a", F, ["n"]), ("b", F, ["m"])], [("y", F, ["k"])])


INTERFACES = {
    "metadata": labelled,
    "no output shape": lambda: relu(["n", None, 3], None),
    "output's own names": lambda: relu(["n", None, 3], ["p", "q", "r"]),
    "unnamed dims": lambda: relu([None, None], [None, None]),
    "names with other characters": lambda: relu(["batch size", "p2o.Dim.0", "1st"], ["batch size", None, None]),
    "a scalar": lambda: relu([], []),
    "strings": strings,
    "sequence": sequence,
    "overridable": overridable,
    "initializers as inputs": lambda: overridable(3),
    "half": lambda: relu([2], [2], TensorProto.FLOAT16),
    "bfloat16": lambda: relu([2], [2], TensorProto.BFLOAT16),
    "two": models.two_inputs,
}


@pytest.mark.parametrize("name", INTERFACES)
def test_sessions_tell_the_same(name, tmp_path):
    proto = INTERFACES[name]()
    agree(lambda engine: told_by(session_of(engine, proto)))
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    agree(lambda engine: told_by(session_of(engine, str(path))))


def test_external_data_and_large_initializers_are_passed_over(tmp_path):
    w = np.ones(5000, np.float32)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = models.model([node], [("x", F, [5000])], [("y", F, [5000])], [("w", w)])
    agree(lambda engine: [told_by(session_of(engine, proto)), session_of(engine, proto).run(None, {"x": w})])
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="model.data", size_threshold=0)
    agree(lambda engine: session_of(engine, str(path)).run(None, {"x": w}))


RUNS = {
    "all": (None, {"x": X}),
    "an empty list": ([], {"x": X}),
    "a tuple": (("y",), {"x": X}),
    "twice": (["y", "y"], {"x": X}),
    "a text": ("y", {"x": X}),
    "numbers": ([1], {"x": X}),
    "an unknown output": (["q"], {"x": X}),
    "nothing": (None, {}),
    "another name": (None, {"z": X}),
    "one more": (None, {"x": X, "z": X}),
    "doubles": (None, {"x": X.astype(np.float64)}),
    "halves": (None, {"x": X.astype(np.float16)}),
    "integers": (None, {"x": X.astype(np.int32)}),
    "bools": (None, {"x": X > 1}),
    "texts": (None, {"x": np.array([["a"]])}),
    "fewer dims": (None, {"x": X[0]}),
    "more dims": (None, {"x": X[None]}),
    "another size": (None, {"x": X[:, :3]}),
    "no rows": (None, {"x": X[:0]}),
    "columns first": (None, {"x": np.asfortranarray(X)}),
    "backwards": (None, {"x": X[:, ::-1]}),
    "lists": (None, {"x": [[1, 2, 3, 4]]}),
    "a list of floats": (None, {"x": [[1.5, 2, 3, 4]]}),
    "a flat list": (None, {"x": [1.0, 2.0]}),
    "a list of texts": (None, {"x": [["a", "b", "c", "d"]]}),
    "a list of arrays": (None, {"x": [X]}),
    "an empty list as input": (None, {"x": []}),
    "a number": (None, {"x": 1.0}),
    "NumPy's number": (None, {"x": np.float32(1)}),
    "a text as input": (None, {"x": "abc"}),
    "bytes as input": (None, {"x": b"abc"}),
    "a number as name": (None, {1: X}),
    "no dict": (None, [X]),
    "wrong in two ways": (["q"], {"x": X.astype(np.float64)}),
    "unknown beside a wrong one": (None, {"x": X[0], "z": X}),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_the_same(name):
    names, feeds = RUNS[name]
    agree(lambda engine: session_of(engine, models.scaled()).run(names, feeds))


NOT_SCALED = {
    "order of outputs": (models.two_inputs, ["more", "total"], {"a": np.int64([1, 5]), "b": np.int64([4, 2])}),
    "texts": (strings, None, {"x": np.array(["a", "bé"])}),
    "texts as objects": (strings, None, {"x": np.array(["a", "b"], object)}),
    "a list of texts": (strings, None, {"x": ["a", "b"]}),
    "no texts": (strings, None, {"x": X[0]}),
    "sequence": (sequence, None, {"x": X[0]}),
    "a constant stays": (overridable, None, {"x": X[0]}),
    "an index outside": (gathers, None, {"x": X[0], "i": np.int64([9])}),
    "sizes that don't fit": (adds, None, {"a": X[0], "b": X[0, :3]}),
    "a size of 1": (adds, None, {"a": X[0], "b": X[0, :1]}),
    "a scalar": (lambda: relu([], []), None, {"x": np.array(3, np.float32)}),
}


@pytest.mark.parametrize("name", NOT_SCALED)
def test_runs_of_other_models_are_the_same(name):
    make, names, feeds = NOT_SCALED[name]
    agree(lambda engine: session_of(engine, make()).run(names, feeds))


DTYPES = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64, np.uint16, np.bool_]


@pytest.mark.parametrize("seed", range(12))
def test_feeds_made_at_random_are_judged_alike(seed):
    """Builds a model with a few inputs of random types and dims. Both engines accept matching
    feeds, and agree on feeds with one change."""
    rng = np.random.default_rng(seed)
    names = [f"i{n}" for n in range(rng.integers(1, 4))]
    dtypes = [DTYPES[rng.integers(len(DTYPES))] for _ in names]
    dims = [
        [int(rng.integers(1, 4)) if rng.random() < 0.6 else f"d{n}_{k}" for k in range(rng.integers(1, 4))]
        for n, _ in enumerate(names)
    ]
    codes = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for dtype in dtypes]
    proto = models.model(
        [helper.make_node("Identity", [name], [f"o{name}"]) for name in names],
        [(name, code, shape) for name, code, shape in zip(names, codes, dims)],
        [(f"o{name}", code, shape) for name, code, shape in zip(names, codes, dims)],
    )
    sessions = {engine: session_of(engine, proto) for engine in (real, ours)}
    fine = {
        name: rng.integers(0, 2, [d if isinstance(d, int) else int(rng.integers(0, 4)) for d in shape]).astype(dtype)
        for name, dtype, shape in zip(names, dtypes, dims)
    }
    agree(lambda engine: sessions[engine].run(None, fine))
    for _ in range(12):
        feeds, name = dict(fine), names[rng.integers(len(names))]
        change = rng.integers(6)
        if change == 0:
            feeds[name] = feeds[name].astype(DTYPES[rng.integers(len(DTYPES))])
        elif change == 1:
            feeds[name] = feeds[name][None]
        elif change == 2 and feeds[name].ndim:
            feeds[name] = np.concatenate([feeds[name], feeds[name]], axis=rng.integers(feeds[name].ndim))
        elif change == 3:
            del feeds[name]
        elif change == 4:
            feeds["other"] = feeds[name]
        outputs = [f"o{n}" for n in rng.permutation(names)] + ["none"] * (rng.random() < 0.2)
        agree(lambda engine, feeds=feeds, outputs=outputs: sessions[engine].run(outputs, feeds))


LOADS = {
    "no file": "/nowhere/model.onnx",
    "no model": b"abc" * 9,
    "nothing": b"",
    "a folder": "/tmp",
    "a number": 7,
    "an op that is not": models.wrong().SerializeToString(),
    "a type that is not": relu([2], [2]).SerializeToString().replace(b"Identity", b"ldentity"),
}


@pytest.mark.parametrize("name", LOADS)
def test_models_that_are_none_are_refused_alike(name):
    assert agree(lambda engine: engine.InferenceSession(LOADS[name], quiet(engine))).raised


def test_what_hewn_said_is_the_cause():
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.InvalidGraph, match="ONNX has no such op") as caught:
        session_of(ours, models.wrong())
    assert isinstance(caught.value.__cause__, hewn.CompileError)
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.Fail) as caught:
        session_of(ours, adds()).run(None, {"a": X[0], "b": X[0, :3]})
    assert isinstance(caught.value.__cause__, hewn.RunError)


def test_truncated_models_are_refused_whatever_is_left(tmp_path):
    data = labelled().SerializeToString()
    for length in range(0, len(data) - 1, 7):
        with pytest.raises(Exception) as caught:
            session_of(ours, data[:length])
        assert type(caught.value).__module__.endswith("pybind11_state"), length


def test_models_with_bytes_that_changed_are_refused_or_run():
    """A damaged model file gives a session or one of onnxruntime's exceptions."""
    data = bytearray(labelled().SerializeToString())
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        made = outcome(lambda engine, changed=changed: told_by(session_of(engine, bytes(changed))) and None, ours)
        assert not made.raised or made.raised.startswith("onnxruntime_pybind11_state."), made


def test_types_in_types_have_an_end():
    proto = models.scaled()
    kind = proto.graph.output[0].type
    for _ in range(40):
        kind = kind.sequence_type.elem_type
    kind.tensor_type.elem_type = F
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.InvalidProtobuf, match="types are nested too deeply"):
        session_of(ours, proto)


def test_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.InvalidProtobuf, match="not a regular file"):
        ours.InferenceSession(tmp_path / "pipe.onnx")


FIELDS = {name: value for name, value in vars(ours.SessionOptions()).items() if not name.startswith("_")}


def plain(value):
    return (type(value).__name__, value.name, int(value)) if hasattr(value, "name") else value


@pytest.mark.parametrize("name", FIELDS)
def test_options_have_the_defaults_and_types_that_they_have(name):
    agree(lambda engine: plain(getattr(engine.SessionOptions(), name)))
    for value in ("text", 3, 2.5, None, True):
        agree(lambda engine, value=value: setattr(engine.SessionOptions(), name, value))


def test_no_field_of_options_is_missing():
    for kind in ("SessionOptions", "RunOptions"):
        theirs = {
            n
            for n in dir(getattr(real, kind))
            if not n.startswith("_") and not callable(getattr(getattr(real, kind)(), n))
        }
        assert {n for n in vars(getattr(ours, kind)()) if not n.startswith("_")} == theirs
    agree(lambda engine: setattr(engine.SessionOptions(), "intra_op_threads", 1))


def test_configurations():
    for kind, add, get in (
        ("SessionOptions", "add_session_config_entry", "get_session_config_entry"),
        ("RunOptions", "add_run_config_entry", "get_run_config_entry"),
    ):

        def use(engine, kind=kind, add=add, get=get):
            options = getattr(engine, kind)()
            getattr(options, add)("a", "b")
            getattr(options, add)("a", "c")
            return getattr(options, get)("a")

        assert agree(use).value == "c"
        agree(lambda engine, kind=kind, get=get: getattr(getattr(engine, kind)(), get)("none"))
        agree(lambda engine, kind=kind, add=add: getattr(getattr(engine, kind)(), add)("a", 1))
    with pytest.raises(ValueError, match=r"hewn\.cash"):
        ours.SessionOptions().add_session_config_entry("hewn.cash", "x")


def test_dims_are_bound_by_options():
    def use(engine, size):
        options = quiet(engine)
        options.add_free_dimension_override_by_name("batch", size)
        options.add_free_dimension_override_by_name("nobody", 3)
        session = session_of(engine, models.scaled(), options)
        return [described(session.get_inputs()), session.run(None, {"x": X})]

    assert not agree(lambda engine: use(engine, 2)).raised
    assert agree(lambda engine: use(engine, 3)).raised


def test_threads_are_those_of_the_options():
    options = ours.SessionOptions()
    options.intra_op_num_threads = 3
    assert "3 threads" in repr(session_of(ours, models.scaled(), options)._module)
    options.intra_op_num_threads = 1
    assert "1 thread" in repr(session_of(ours, models.scaled(), options)._module)
    cores = len(os.sched_getaffinity(0))
    assert 1 <= ours.SessionOptions()._compile_options()["threads"] <= cores


def test_run_options():
    def use(engine, terminate):
        options = engine.RunOptions()
        options.terminate = terminate
        return session_of(engine, models.scaled()).run(None, {"x": X}, options)

    assert not agree(lambda engine: use(engine, False)).raised
    assert agree(lambda engine: use(engine, True)).raised
    agree(lambda engine: session_of(engine, models.scaled()).run(None, {"x": X}, {}))


def test_options_that_are_not_done_say_so():
    options = ours.SessionOptions()
    options.enable_profiling, options.optimized_model_filepath = True, "optimized.onnx"
    with pytest.warns(RuntimeWarning) as told:
        session_of(ours, models.scaled(), options)
    assert [str(w.message).split(":")[0] for w in told] == ["enable_profiling", "optimized_model_filepath"]
    assert {w.filename for w in told} == {__file__}  # the warning names the caller's line
    with pytest.warns(RuntimeWarning, match="'nosuch' is ignored"):
        session_of(ours, models.scaled(), nosuch=1)
    for refused in ("add_initializer", "add_external_initializers", "register_custom_ops_library"):
        arguments = ("name", None) if refused == "add_initializer" else ("x",)
        with pytest.raises(ours.capi.onnxruntime_pybind11_state.NotImplemented):
            getattr(options, refused)(*arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session_of(ours, models.scaled())


def test_profiles(tmp_path):
    """Both packages write a file of trace events, with one event for each run."""

    def profile(engine):
        options = engine.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / f"{engine.__name__}-p")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            session = session_of(engine, models.scaled(), options)
        assert session.get_profiling_start_time_ns() > 0
        for _ in range(3):
            session.run(None, {"x": X})
        path = pathlib.Path(session.end_profiling())
        runs = [event for event in json.loads(path.read_text()) if event["name"] == "model_run"]
        keys = {key for event in runs for key in event}
        assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in runs)
        return path.parent == tmp_path, len(runs), sorted(keys), session_of(engine, models.scaled()).end_profiling()

    assert profile(ours) == profile(real) == (True, 3, ["args", "cat", "dur", "name", "ph", "pid", "tid", "ts"], "")


@pytest.mark.parametrize(
    "providers, options, warns",
    [
        (None, None, False),
        ([], None, False),
        (["CPUExecutionProvider"], None, False),
        ([("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})], None, False),
        (["CPUExecutionProvider"], [{}], False),
        (["CUDAExecutionProvider", "CPUExecutionProvider"], None, True),
        (["CUDAExecutionProvider"], None, True),
        ([("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"], None, True),
    ],
)
def test_providers(providers, options, warns):
    def use(engine):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            data = models.scaled().SerializeToString()
            made = engine.InferenceSession(data, quiet(engine), providers=providers, provider_options=options)
        return [made.get_providers(), bool(told), made.run(None, {"x": X})]

    assert agree(use).value[1] == warns


def test_providers_that_are_none_fall_back(capfd):
    """If a provider is not available, onnxruntime prints that it falls back to another one; hewn
    raises a warning."""
    data = models.scaled().SerializeToString()
    for providers, options in ((["CPUExecutionProvider"], [{}, {}]), ([7], None), ("CPUExecutionProvider", None)):
        with pytest.warns(UserWarning):
            assert ours.InferenceSession(data, providers=providers, provider_options=options).get_providers() == [
                "CPUExecutionProvider"
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = real.InferenceSession(data, quiet(real), providers=providers, provider_options=options)
        assert made.get_providers() == ["CPUExecutionProvider"]
    assert ours.get_available_providers() == ["CPUExecutionProvider"]
    agree(lambda engine: [engine.get_device(), engine.get_version_string(), engine.__version__])


def test_values():
    def use(engine):
        value = engine.OrtValue.ortvalue_from_numpy(X.copy())
        made = engine.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
        made.update_inplace(X * 2)
        session = session_of(engine, models.scaled())
        results = session.run_with_ort_values(["y"], {"x": value})
        facts = [
            [v.shape(), v.data_type(), v.element_type(), v.device_name(), v.is_tensor(), v.has_value(), v.numpy()]
            for v in (value, made, *results)
        ]
        sizes = [v.tensor_size_in_bytes() for v in (value, made)]
        return [facts, sizes, session.run(None, {"x": value}), np.asarray(made), np.from_dlpack(value)]

    assert not agree(use).raised
    agree(
        lambda engine: session_of(engine, models.scaled()).run(None, {"x": engine.OrtValue.ortvalue_from_numpy(X[0])})
    )
    agree(lambda engine: engine.OrtValue.ortvalue_from_numpy([1, 2]))
    agree(lambda engine: engine.OrtValue.ortvalue_from_numpy(X, "cuda", 0))
    agree(lambda engine: engine.OrtValue.ortvalue_from_shape_and_type([2], 10).data_type())
    agree(lambda engine: engine.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(X[:1]))
    agree(lambda engine: engine.OrtDevice.make("nothing", 0))
    own = X.copy()
    assert np.shares_memory(ours.OrtValue.ortvalue_from_numpy(own).numpy(), own)


def test_values_of_types_that_numpy_lacks():
    bits = np.uint16([0x3F80, 0x4000])

    def use(engine):
        value = engine.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
        session = session_of(engine, relu([2], [2], TensorProto.BFLOAT16))
        (result,) = session.run_with_ort_values(None, {"x": value})
        return [value.data_type(), value.element_type(), result.data_type(), result.shape()]

    assert not agree(use).raised
    value = ours.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
    assert value.numpy().astype(np.float32).tolist() == [1, 2]


def test_bindings():
    def use(engine):
        session = session_of(engine, models.scaled())
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        first = binding.copy_outputs_to_cpu()
        into = np.zeros((2, 4), np.float32)
        binding.bind_output("y", "cpu", 0, np.float32, [2, 4], into.ctypes.data)
        binding.bind_input("x", "cpu", 0, np.float32, [2, 4], X.ctypes.data)
        session.run_with_iobinding(binding)
        value = engine.OrtValue.ortvalue_from_shape_and_type([1, 4], np.float32)
        binding.bind_ortvalue_input("x", engine.OrtValue.ortvalue_from_numpy(X[1:]))
        binding.bind_ortvalue_output("y", value)
        session.run_with_iobinding(binding)
        return [first, into, value.numpy(), [v.numpy() for v in binding.get_outputs()]]

    assert not agree(use).raised


@pytest.mark.parametrize("wrong", ["no output", "unknown output", "type", "size of output"])
def test_bindings_that_do_not_fit(wrong):
    def use(engine):
        session = session_of(engine, models.scaled())
        binding = session.io_binding()
        binding.bind_cpu_input("x", X.astype(np.float64) if wrong == "type" else X)
        if wrong == "unknown output":
            binding.bind_output("z")
        elif wrong == "size of output":
            binding.bind_ortvalue_output("y", engine.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32))
        elif wrong == "type":
            binding.bind_output("y")
        session.run_with_iobinding(binding)

    theirs, own = outcome(use, real), outcome(use, ours)
    assert theirs.raised == own.raised == "builtins.RuntimeError"


def test_async_runs_call_back():
    def use(engine, feeds):
        done, results = threading.Event(), []

        def callback(given, user, problem):
            results.extend([[np.array(g) for g in given], user, bool(problem)])
            done.set()

        session_of(engine, models.scaled()).run_async(None, feeds, callback, 7)
        assert done.wait(30)
        return results

    assert agree(lambda engine: use(engine, {"x": X})).value[2] is False
    assert agree(lambda engine: use(engine, {"x": X[0]})).value[2] is True
    agree(lambda engine: session_of(engine, models.scaled()).run_async(None, {}, print, 7))


def test_threads_may_share_a_session():
    session = session_of(ours, models.scaled())
    wrong = []

    def work(n):
        for _ in range(50):
            if not np.array_equal(session.run(None, {"x": X * n})[0], 3 * X * n + 1):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_models_are_kept(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("HEWN_CACHE_DIR", str(folder))
    session_of(ours, models.deep())
    kept = set(folder.iterdir())
    assert kept and folder.stat().st_mode & 0o077 == 0
    session_of(ours, models.deep())
    assert set(folder.iterdir()) == kept
    options = ours.SessionOptions()
    options.add_session_config_entry("hewn.cache_dir", str(tmp_path / "other"))
    session_of(ours, models.scaled(), options)
    assert list((tmp_path / "other").iterdir())
    monkeypatch.setenv("HEWN_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    session_of(ours, models.scaled())
    assert not (tmp_path / "home").exists()
    monkeypatch.delenv("HEWN_CACHE_DIR")
    session_of(ours, models.scaled())
    assert (tmp_path / "home/hewn/artifacts").is_dir()


def test_own_settings():
    options = ours.SessionOptions()
    options.add_session_config_entry("hewn.target", "x86-64-v2")
    assert session_of(ours, models.scaled(), options)._module.variants == ["x86-64-v2"]
    options.add_session_config_entry("hewn.precision", "lowest")
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.Fail, match="unknown float32 precision 'lowest'"):
        session_of(ours, models.scaled(), options)


def test_what_differs():
    """Tests calls that onnxruntime accepts and hewn rejects, which is intended."""
    state = ours.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NotImplemented, match="constants of the compiled model: w"):
        session_of(ours, overridable()).run(None, {"x": X[0], "w": np.float32([3])})
    two = models.model(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [("a", F, ["n"]), ("b", F, ["n"])],
        [("y", F, ["n"])],
    )
    with pytest.raises(state.InvalidArgument, match="'n' is 1 in input a and 3 in input b"):
        session_of(ours, two).run(None, {"a": X[0, :1], "b": X[0, :3]})
    # onnxruntime accepts any shape for a scalar input.
    scalar = session_of(ours, relu([], []))
    assert scalar.run(None, {"x": np.float32([3])})[0].shape == ()
    with pytest.raises(state.InvalidArgument, match="Got: 1 Expected: 0"):
        scalar.run(None, {"x": X[0]})
    with pytest.raises(state.NotImplemented, match="onnxruntime's own format"):
        ours.InferenceSession("model.ort")
    with pytest.warns(RuntimeWarning, match="seeds of the model's nodes"):
        ours.set_seed(3)


PROGRAM = """
import sys
import beside
import numpy, onnxruntime
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession as again
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
import onnxruntime.capi.onnxruntime_pybind11_state as state
assert state is sys.modules["hewn.compat.onnxruntime.capi.onnxruntime_pybind11_state"]
assert again is InferenceSession and C.SessionOptions is SessionOptions and state.InvalidArgument is C.InvalidArgument
session = InferenceSession(sys.argv[1])
try:
    session.run(None, {"x": numpy.ones(3, "f")})
except InvalidArgument:
    print(session.run(None, {"x": numpy.ones((1, 4), "f")})[0].tolist(), onnxruntime.get_build_info())
try:
    import onnxruntime.quantization
except ImportError as problem:
    print(problem)
"""


def python(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)


def test_programs_run_unchanged(tmp_path):
    onnx.save(models.scaled(), tmp_path / "model.onnx")
    (tmp_path / "folder").mkdir()
    program = tmp_path / "folder/program.py"
    program.write_text(PROGRAM)
    (tmp_path / "folder/beside.py").write_text("")
    for how, folder in (([program], tmp_path), (["-m", "program"], tmp_path / "folder")):
        done = subprocess.run(
            [sys.executable, "-m", "hewn.compat.onnxruntime", *how, tmp_path / "model.onnx"],
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("[[4.0, 4.0, 4.0, 4.0]] hewn ")
        assert "No module named 'onnxruntime.quantization'" in done.stdout


def test_install_is_refused_behind_the_real_one():
    done = python("-c", "import onnxruntime\nfrom hewn.compat.onnxruntime import install\ninstall()")
    assert done.returncode == 1 and "ImportError: onnxruntime is already imported" in done.stderr
    both = (
        "from hewn.compat.onnxruntime import install, uninstall\ninstall(); install()\nimport onnxruntime as a\nuninstall()\n"
        "import onnxruntime as b\nassert a.__name__ == 'hewn.compat.onnxruntime' and b.__name__ == 'onnxruntime'\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import Fail\nassert Fail.__module__.startswith('onnxruntime')"
    )
    done = python("-c", both)
    assert done.returncode == 0, done.stderr


def test_every_name_is_documented_and_annotated():
    assert ours.__all__ == sorted(ours.__all__)
    for name in ours.__all__:
        member = getattr(ours, name)
        assert name == "__version__" or member.__doc__, name
        functions = [member] if inspect.isfunction(member) else vars(member).values() if inspect.isclass(member) else []
        for function in functions:
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                assert function.__doc__, function.__qualname__
                hints = typing.get_type_hints(function)
                named = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
                assert {*named, "return"} == set(hints), function.__qualname__


def test_the_page_tells_of_every_name():
    page = (pathlib.Path(__file__).parents[2] / "docs/python/onnxruntime.md").read_text()
    names = {n for n in (*ours.__all__, *FIELDS) if n != "__version__"}
    assert not {name for name in names if f"`{name}" not in page and f".{name}" not in page}

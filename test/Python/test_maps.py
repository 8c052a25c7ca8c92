# SPDX-License-Identifier: Apache-2.0
"""Maps as inputs and outputs: ZipMap, DictVectorizer and CastMap, compared with onnxruntime; in
Python, in C, and in the command line."""

import json
import subprocess

import hewn
import numpy as np
import onnx
import onnxruntime as real
import pytest
from hewn.compat import onnxruntime as ours
from onnx import TensorProto, helper
from test_embedding import TOOL, build, run

F32, F64, I64, S = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
ML = "ai.onnx.ml"
SCORES = np.array([[0.25, 0.5, 0.125], [0.75, 0.0, -1.0]], np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HEWN_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


def map_info(name, key, value, sequence=False):
    of = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))
    return helper.make_value_info(name, helper.make_sequence_type_proto(of) if sequence else of)


def model_of(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op, x="x", y="y", name="node", **attributes):
    return helper.make_node(op, [x], [y], domain=ML, name=name, **attributes)


def zip_map(labels, dims=("n", 3)):
    key, kind = ("classlabels_strings", S) if isinstance(labels[0], str) else ("classlabels_int64s", I64)
    inputs = [helper.make_tensor_value_info("x", F32, dims)]
    return model_of([node("ZipMap", **{key: labels})], inputs, [map_info("y", kind, F32, sequence=True)])


def of_map(op, key, value, result, **attributes):
    outputs = [helper.make_tensor_value_info("y", result, None)]
    return model_of([node(op, **attributes)], [map_info("x", key, value)], outputs)


def session(engine, model):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    return engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


# ZipMap


@pytest.mark.parametrize("labels", [[0, 1, 2], [7, -3, 2**62], ["cat", "dog", "bird"], ["é", "", "z"]])
@pytest.mark.parametrize("x", [SCORES, SCORES[:1], SCORES[:0]], ids=["two rows", "a row", "no rows"])
def test_zip_map_returns_the_dicts_of_onnxruntime(labels, x):
    model = zip_map(labels)
    (want,) = session(real, model).run(None, {"x": x})
    (got,) = session(ours, model).run(None, {"x": x})
    assert got == want and list(map(list, got)) == list(map(list, want))
    for row in got:
        assert type(row) is dict and {type(v) for v in row.values()} == {float}
    assert hewn.compile(model).run({"x": x}) == {"y": want}


def test_zip_map_of_a_row_without_a_batch():
    model = zip_map([1, 2, 3], dims=[3])
    assert session(ours, model).run(None, {"x": SCORES[0]}) == session(real, model).run(None, {"x": SCORES[0]})


def test_zip_map_of_a_dynamic_number_of_columns():
    module = hewn.compile(zip_map([1, 2, 3], dims=["n", "m"]))
    assert module.run({"x": SCORES[1:]})["y"] == [{1: 0.75, 2: 0.0, 3: -1.0}]
    with pytest.raises(hewn.RunError, match=r"^node 'node': two of its sizes must be equal, and are 4 and 3$"):
        module.run({"x": np.zeros((2, 4), np.float32)})


def test_a_map_after_other_ops_beside_other_outputs():
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"]),
        helper.make_node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
        node("ZipMap", "p", "a", classlabels_strings=["u", "v", "w"]),
        node("ZipMap", "x", "b", "other", classlabels_int64s=[4, 5, 6]),
    ]
    outputs = [
        map_info("a", S, F32, sequence=True),
        helper.make_tensor_value_info("label", I64, ["n"]),
        map_info("b", I64, F32, sequence=True),
    ]
    model = model_of(nodes, [helper.make_tensor_value_info("x", F32, ["n", 3])], outputs)
    a, label, b = session(ours, model).run(None, {"x": SCORES})
    want = session(real, model).run(None, {"x": SCORES})
    assert label.tolist() == want[1].tolist() and b == want[2]
    for mine, other in zip(a, want[0]):
        assert mine == pytest.approx(other)
    assert session(ours, model).run(["b"], {"x": SCORES}) == [b]


# Maps as inputs


@pytest.mark.parametrize(
    "feed",
    [{"a": 1.5}, {"c": 2.0, "a": 1.0, "unknown": 9.0}, {"unknown": 1.0}, {"b": np.float32(3), "a": 4, "c": True}],
)
def test_dict_vectorizer_of_names(feed):
    model = of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a", "c", "b", "z"])
    (want,) = session(real, model).run(None, {"x": feed})
    (got,) = session(ours, model).run(None, {"x": feed})
    assert got.dtype == want.dtype and got.tolist() == want.tolist()


@pytest.mark.parametrize("feed", [{5: 1.5, -2: 3.0}, {2**40: 1.0}, {7: 1.0, 5: float("inf")}])
def test_dict_vectorizer_of_numbers(feed):
    model = of_map("DictVectorizer", I64, F32, F32, int64_vocabulary=[-2, 5, 2**40])
    assert (
        session(ours, model).run(None, {"x": feed})[0].tolist()
        == session(real, model).run(None, {"x": feed})[0].tolist()
    )


@pytest.mark.parametrize(
    ["value", "given", "want"],
    [
        (I64, {"a": 2**60 + 1}, [2**60 + 1, 0]),
        (F64, {"b": 0.1}, [0.0, 0.1]),
        (S, {1: "one", 3: "three"}, ["", "one"]),
    ],
)
def test_dict_vectorizer_of_values_that_onnxruntime_cannot_be_fed(value, given, want):
    """Python's onnxruntime only accepts dicts of floats."""
    keys = {"int64_vocabulary": [2, 1]} if value == S else {"string_vocabulary": ["a", "b"]}
    module = hewn.compile(of_map("DictVectorizer", I64 if value == S else S, value, value, **keys))
    assert module.run({"x": given})["y"].tolist() == [want]


def test_an_empty_dict_has_only_defaults():
    module = hewn.compile(of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a", "b"]))
    assert module.run({"x": {}})["y"].tolist() == [[0, 0]]


@pytest.mark.parametrize("form", ["DENSE", "SPARSE"])
@pytest.mark.parametrize(["to", "result"], [("TO_FLOAT", F32), ("TO_INT64", I64)])
@pytest.mark.parametrize("feed", [{5: 1.5, 2: 2.25, 0: -3.75}, {9: 1.0}, {3: 7.0, 1: 1 / 3, 2: 1e10}])
def test_cast_map(form, to, result, feed):
    model = of_map("CastMap", I64, F32, result, cast_to=to, map_form=form, max_map=4)
    (want,) = session(real, model).run(None, {"x": feed})
    (got,) = session(ours, model).run(None, {"x": feed})
    assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_cast_map_of_strings():
    given = {3: "2.5", 0: "-1"}
    sparse = of_map("CastMap", I64, S, F32, cast_to="TO_FLOAT", map_form="SPARSE", max_map=4)
    assert hewn.compile(sparse).run({"x": given})["y"].tolist() == [[-1, 0, 0, 2.5]]
    words = of_map("CastMap", I64, S, S, cast_to="TO_STRING", map_form="DENSE", max_map=1)
    assert hewn.compile(words).run({"x": given})["y"].tolist() == [["-1", "2.5"]]
    numbers = of_map("CastMap", I64, F32, S, cast_to="TO_STRING", map_form="SPARSE", max_map=3)
    assert hewn.compile(numbers).run({"x": {1: 1.5}})["y"].tolist() == [["0.f", "1.5", "0.f"]]


def test_a_negative_key_ends_a_sparse_cast():
    model = of_map("CastMap", I64, F32, F32, cast_to="TO_FLOAT", map_form="SPARSE", max_map=4)
    with pytest.raises(hewn.RunError, match=r"^node 'node': value -1 is below the lowest valid value, 0$"):
        hewn.compile(model).run({"x": {-1: 1.0}})
    # As for other indices, the class of the exception differs.
    with pytest.raises(real.capi.onnxruntime_pybind11_state.Fail):
        session(real, model).run(None, {"x": {-1: 1.0}})
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.InvalidArgument):
        session(ours, model).run(None, {"x": {-1: 1.0}})


def test_a_map_that_passes_through():
    model = model_of([], [map_info("x", I64, F32)], [map_info("x", I64, F32)])
    module = hewn.compile(model)
    assert module.run({"x": {3: 1.0, 1: 2.0}}) == {"x": {1: 2.0, 3: 1.0}}
    assert module.run({"x": {}}) == {"x": {}}


# Module


def test_a_module_describes_its_maps():
    module = hewn.compile(zip_map(["a", "b", "c"]))
    assert module.outputs == [hewn.Tensor("y", np.dtype("float32"), ("n", 3), "sequence of maps", {}, np.dtype(object))]
    assert "y: sequence of maps of str to float32(n, 3)" in repr(module)
    module = hewn.compile(of_map("DictVectorizer", I64, F64, F64, int64_vocabulary=[1]))
    assert module.inputs == [hewn.Tensor("x", np.dtype("float64"), ("d0",), "map", {}, np.dtype("int64"))]


def test_the_tensors_of_a_map_can_be_requested():
    module = hewn.compile(zip_map([3, 2, 1]))
    found = module.run({"x": SCORES}, outputs=["y_values", "y_keys"])
    assert found["y_values"].tolist() == SCORES.tolist() and found["y_keys"].tolist() == [3, 2, 1]
    into = np.zeros((2, 3), np.float32)
    assert module.run({"x": SCORES}, out={"y_values": into})["y"][0] == {1: 0.125, 2: 0.5, 3: 0.25}
    assert into.tolist() == SCORES.tolist()
    assert module(SCORES) == module.run({"x": SCORES})["y"]
    with pytest.raises(hewn.RunError, match=r"^no such outputs: z; the model's outputs are: y$"):
        module.run({"x": SCORES}, outputs=["z"])
    with pytest.raises(hewn.RunError, match=r"^out 'y' is a map: pass arrays for 'y_keys' and 'y_values'$"):
        module.run({"x": SCORES}, out={"y": []})


@pytest.mark.parametrize(
    ["given", "told"],
    [
        ([("a", 1.0)], "input 'x' is list, but the model expects a dict"),
        ({1: 1.0}, "input 'x' has the key 1, but the model expects keys of type str"),
        ({"a": "b"}, "input 'x' has the value 'b' for 'a', but the model expects float32"),
    ],
)
def test_what_is_no_map_of_the_type_is_rejected(given, told):
    module = hewn.compile(of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a", "b"]))
    with pytest.raises(hewn.RunError) as raised:
        module.run({"x": given})
    assert str(raised.value) == told
    with pytest.raises(hewn.RunError, match=r"^missing inputs: x$"):
        module.run({})


def test_integers_that_do_not_fit_are_rejected():
    module = hewn.compile(of_map("DictVectorizer", I64, F32, F32, int64_vocabulary=[1]))
    for given in ({True: 1.0}, {1.5: 1.0}, {2**70: 1.0}):
        with pytest.raises(hewn.RunError, match=r"^input 'x'"):
            module.run({"x": given})


# hewn.compat.onnxruntime


@pytest.mark.parametrize(
    "given",
    [
        {},
        {1: 1.0},
        {"a": "b"},
        [{"a": 1.0}],
        np.ones(2, np.float32),
        5,
        None,
        {"a": np.ones(1, np.float32)},
        {"a": 1.0},
    ],
    ids=repr,
)
def test_exceptions_are_those_of_onnxruntime(given):
    model = of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a", "b"])
    raised = []
    for engine in (real, ours):
        try:
            session(engine, model).run(None, {"x": given})
            raised.append("")
        except Exception as problem:
            raised.append(type(problem).__name__)
    # onnxruntime raises RuntimeError for most, and Fail for an array as a value.
    assert raised[1] == raised[0] or raised == ["Fail", "RuntimeError"]


def test_types_and_values_of_a_session():
    for model in (zip_map([1, 2, 3]), of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a"])):
        mine, other = session(ours, model), session(real, model)
        for a, b in zip(mine.get_inputs() + mine.get_outputs(), other.get_inputs() + other.get_outputs()):
            assert (a.name, a.type) == (b.name, b.type)
            assert a.type.startswith("tensor") or a.shape == b.shape == []
    model = zip_map([1, 2, 3])
    values = [
        session(e, model).run_with_ort_values(None, {"x": e.OrtValue.ortvalue_from_numpy(SCORES)})[0]
        for e in (ours, real)
    ]
    told = [(v.data_type(), v.is_tensor(), v.is_tensor_sequence(), v.has_value()) for v in values]
    assert told[0] == told[1]
    results = []
    for engine in (ours, real):
        bound = session(engine, model)
        binding = bound.io_binding()
        binding.bind_cpu_input("x", SCORES)
        binding.bind_output("y")
        bound.run_with_iobinding(binding)
        results.append(binding.copy_outputs_to_cpu())
    assert results[0] == results[1]


# C and the command line


def test_a_c_program_reads_keys_and_values(tmp_path):
    onnx.save(zip_map(["no", "maybe", "yes"]), tmp_path / "model.onnx")
    subprocess.run([TOOL, "compile", "model.onnx", "-o", "zip.a", "--quiet"], cwd=tmp_path, check=True)
    onnx.save(of_map("DictVectorizer", S, F32, F32, string_vocabulary=["a", "b", "c"]), tmp_path / "model.onnx")
    subprocess.run([TOOL, "compile", "model.onnx", "-o", "dict.a", "--quiet"], cwd=tmp_path, check=True)
    header = (tmp_path / "zip.h").read_text()
    assert '*   y_keys: "y_keys", string [3], the keys of the map "y"\n' in header
    assert '*   y_values: "y_values", float32 [n][3], the values of the map "y"\n' in header
    source = """
    #include "dict.h"
    #include "zip.h"
    #include <stdio.h>
    int main(void) {
      hewn_context *c, *d;
      const float x[6] = {1, 2, 3, 4, 5, 6};
      const char *keys[3], *names[2] = {"c", "a"};
      float values[6], numbers[2] = {7, 8}, row[3];
      if (hewn_context_create(&zip, NULL, &c).code != HEWN_OK || hewn_context_create(&dict, NULL, &d).code != HEWN_OK)
        return 1;
      hewn_status status = zip_run(c, x, keys, values, 2);
      printf("%d %s=%g %s=%g\\n", (int)status.code, keys[0], values[0], keys[2], values[5]);
      status = dict_run(d, names, numbers, row, 2);
      printf("%d %g %g %g\\n", (int)status.code, row[0], row[1], row[2]);
      printf("%d %d %d %d\\n", (int)zip.inputs[0].role, (int)zip.outputs[0].role, (int)zip.outputs[1].role,
             (int)dict.inputs[1].role);
      hewn_context_destroy(c);
      hewn_context_destroy(d);
      return 0;
    }
    """
    assert run(build(tmp_path, source, "zip.a", "dict.a")) == ["0 no=1 yes=6", "0 8 0 7", "0 1 2 2"]


def test_info_and_run_show_the_tensors(tmp_path):
    def tool(*arguments):
        done = subprocess.run([TOOL, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    onnx.save(zip_map([2, 5, 9]), tmp_path / "zip.onnx")
    np.save(tmp_path / "x.npy", SCORES)
    assert "  y: sequence of maps of int64 to float32\n" in tool("info", "zip.onnx")
    told = json.loads(tool("info", "zip.onnx", "--json"))["outputs"][0]
    assert (told["kind"], told["keys"], told["type"], told["shape"]) == ("sequence of maps", "int64", "float32", None)
    tool("compile", "zip.onnx", "-o", "libzip.so", "--quiet")
    text = tool("info", "libzip.so")
    assert "y_keys: map keys of int64[3]\n" in text and "y_values: map values of float32[n, 3]\n" in text
    tool("run", "libzip.so", "--input", "x=x.npy", "--output-dir", "out")
    assert np.load(tmp_path / "out/y_keys.npy").tolist() == [2, 5, 9]
    assert np.load(tmp_path / "out/y_values.npy").tolist() == SCORES.tolist()
    assert tool("check", "zip.onnx", "--input", "x=x.npy")
    onnx.save(zip_map(["a", "b", "c"]), tmp_path / "names.onnx")
    onnx.save(of_map("CastMap", I64, F32, F32, cast_to="TO_FLOAT", map_form="DENSE", max_map=1), tmp_path / "cast.onnx")
    assert "  x: map of int64 to float32\n" in tool("info", "cast.onnx")
    assert "  d0\n" in tool("info", "cast.onnx")
    tool("compile", "cast.onnx", "-o", "libcast.so", "--quiet")
    np.save(tmp_path / "keys.npy", np.array([5, 1], np.int64))
    np.save(tmp_path / "values.npy", np.array([0.5, 0.25], np.float32))
    tool("run", "libcast.so", "--input", "x_keys=keys.npy", "--input", "x_values=values.npy", "--output-dir", "out")
    assert np.load(tmp_path / "out/y.npy").tolist() == [[0.25, 0.5]]

# SPDX-License-Identifier: Apache-2.0
"""Tests hewn.Module: the description of its model, the inputs that it accepts, and its errors."""

import gc
import threading

import hewn
import models
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def scaled():
    return hewn.compile(models.scaled())


@pytest.fixture(scope="module")
def pair():
    return hewn.compile(models.two_inputs())


class Borrowed:
    """An object that supports DLPack, but is not a NumPy array."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_inputs_and_outputs_are_described(pair):
    assert pair.inputs == [hewn.Tensor("a", np.dtype(np.int64), ("n",)), hewn.Tensor("b", np.dtype(np.int64), ("n",))]
    assert pair.outputs == [
        hewn.Tensor("total", np.dtype(np.int64), ("n",)),
        hewn.Tensor("more", np.dtype(np.bool_), ("n",)),
    ]


def test_results_come_by_name_in_the_model_s_order(pair):
    results = pair.run({"b": np.int64([1, 5]), "a": np.int64([3, 4])})
    assert list(results) == ["total", "more"]
    np.testing.assert_array_equal(results["total"], [4, 9])
    np.testing.assert_array_equal(results["more"], [True, False])
    assert results["total"].dtype == np.int64 and results["more"].dtype == np.bool_


def test_any_number_of_rows(scaled):
    for rows in (1, 7, 0, 300):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        np.testing.assert_allclose(scaled.run({"x": x})["y"], 3 * x + 1, rtol=1e-6, atol=1e-6)


def test_strided_inputs_are_taken(scaled):
    np.testing.assert_array_equal(scaled.run({"x": X.T.copy().T})["y"], 3 * X + 1)
    np.testing.assert_array_equal(scaled.run({"x": X[::-1]})["y"], 3 * X[::-1] + 1)


def test_read_only_inputs_are_taken(scaled):
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(scaled.run({"x": x})["y"], 3 * X + 1)


def test_dlpack_inputs(scaled):
    np.testing.assert_array_equal(scaled.run({"x": Borrowed(X)})["y"], 3 * X + 1)


def test_values_of_onnxruntime(scaled):
    value = onnxruntime.OrtValue.ortvalue_from_numpy(X)
    np.testing.assert_array_equal(scaled.run({"x": value})["y"], 3 * X + 1)


def test_lists_and_numbers(scaled, pair):
    np.testing.assert_array_equal(scaled.run({"x": [[0, 1, 2, 3]]})["y"], [[1, 4, 7, 10]])
    np.testing.assert_array_equal(pair.run({"a": [1], "b": (2,)})["total"], [3])
    with pytest.raises(hewn.RunError, match="input 'a'"):
        pair.run({"a": [1.5], "b": [2]})
    with pytest.raises(hewn.RunError, match="input 'a'"):
        pair.run({"a": "text", "b": [2]})
    with pytest.raises(hewn.RunError, match="input 'x'"):
        scaled.run({"x": [[1, 2, 3, 4], [1]]})


def test_results_outlive_the_module():
    module = hewn.compile(models.scaled())
    result = module.run({"x": X})["y"]
    del module
    gc.collect()
    result += 1  # results are writable
    np.testing.assert_array_equal(result, 3 * X + 2)


def test_each_run_has_results_of_its_own(scaled):
    first = scaled.run({"x": X})["y"]
    scaled.run({"x": X + 1})
    np.testing.assert_array_equal(first, 3 * X + 1)


@pytest.mark.parametrize(
    "feeds, message",
    [
        ({}, "missing inputs: a, b"),
        ({"a": np.int64([1])}, "missing inputs: b"),
        (
            {"a": np.int64([1]), "c": np.int64([1])},
            "missing inputs: b; no such inputs: c; the model's inputs are: a, b",
        ),
        ({"a": np.int64([1]), "b": np.float32([1])}, "input 'b' is float32, but the model expects int64"),
        (
            {"a": np.int64([1]), "b": np.int64([[1]])},
            r"input 'b': shape \[n\] \(rank 1\) expected, got \[1, 1\] \(rank 2\)",
        ),
        ({"a": np.int64([1]), "b": np.int64([1, 2])}, "dimension 'n' is 1 in input 'a' and 2 in input 'b'"),
    ],
)
def test_inputs_that_do_not_fit(pair, feeds, message):
    with pytest.raises(hewn.RunError, match=message):
        pair.run(feeds)


def test_wrong_fixed_dim(scaled):
    with pytest.raises(hewn.RunError, match=r"input 'x': shape .* expected, got \[2, 5\]"):
        scaled.run({"x": np.zeros((2, 5), np.float32)})


def test_a_shape_that_is_a_formula_of_symbols():
    twice = models.model(
        [helper.make_node("Concat", ["x", "x"], ["y"], axis=0)],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, None)],
    )
    module = hewn.compile(twice)
    assert module.inputs[0].shape == ("n", 4)
    assert module.outputs[0].shape == ("2*n", 4)
    assert module.run({"x": X})["y"].shape == (4, 4)


def test_a_shape_that_the_data_decides():
    count = models.model(
        [helper.make_node("Range", ["zero", "n", "one"], ["y"])],
        [("n", TensorProto.INT64, [])],
        [("y", TensorProto.INT64, None)],
        [("zero", np.int64(0)), ("one", np.int64(1))],
    )
    module = hewn.compile(count)
    assert module.outputs[0].shape == (None,)
    for n in (3, 0, 100):
        np.testing.assert_array_equal(module.run({"n": np.int64(n)})["y"], np.arange(n))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "bool"])
def test_types(dtype):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    same = models.model([helper.make_node("Identity", ["x"], ["y"])], [("x", kind, [3])], [("y", kind, [3])])
    x = np.array([0, 1, 1], dtype)
    result = hewn.compile(same).run({"x": x})["y"]
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x)


def test_types_that_numpy_lacks():
    import ml_dtypes

    kind = TensorProto.BFLOAT16
    twice = models.model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", kind, [3])], [("y", kind, [3])])
    x = np.array([0, 1, 1.5], ml_dtypes.bfloat16)
    result = hewn.compile(twice).run({"x": x})["y"]
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(result.astype(np.float32), [0, 2, 3])


def test_threads_share_a_module(scaled):
    """Threads can run one module concurrently; the runs are serialized."""
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((64 + seed, 4)).astype(np.float32)
        for _ in range(200):
            if not np.allclose(scaled.run({"x": x})["y"], 3 * x + 1, rtol=1e-6, atol=1e-6):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_load_refuses_what_is_no_model(tmp_path):
    path = tmp_path / "libnothing.so"
    with pytest.raises(hewn.RunError, match=r"libnothing\.so"):
        hewn.load(path)
    path.write_bytes(b"no library")
    with pytest.raises(hewn.RunError, match=r"libnothing\.so"):
        hewn.load(path)


def test_load_says_that_the_weights_are_missing(tmp_path):
    path = tmp_path / "libdeep.so"
    hewn.compile(models.deep(layers=1), output=path)
    (tmp_path / "deep.weights").rename(tmp_path / "elsewhere")
    with pytest.raises(hewn.RunError, match=r"deep\.weights"):
        hewn.load(path)


def test_errors_are_exceptions_of_the_package():
    assert issubclass(hewn.RunError, Exception) and issubclass(hewn.CompileError, Exception)
    assert not issubclass(hewn.RunError, hewn.CompileError)


def test_inputs_come_by_name():
    with pytest.raises(TypeError, match="arrays by name"):
        hewn.compile(models.scaled()).run(np.zeros((2, 4), np.float32))

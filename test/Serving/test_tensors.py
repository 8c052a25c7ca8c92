# SPDX-License-Identifier: Apache-2.0
"""Tests the conversion between a model's tensors and the Open Inference Protocol, without a server:
types, shapes, data, errors."""

import re

import hewn
import numpy as np
import pytest
from mlserver_hewn import tensors


def tensor(dtype, *shape, **more):
    return hewn.Tensor("x", np.dtype(dtype), shape, **more)


def nested(depth, item):
    for _ in range(depth):
        item = [item]
    return item


@pytest.mark.parametrize(
    ("dtype", "told"),
    [
        ("bool", "BOOL"),
        ("uint8", "UINT8"),
        ("int64", "INT64"),
        ("float16", "FP16"),
        ("float64", "FP64"),
        ("O", "BYTES"),
    ],
)
def test_types(dtype, told):
    assert tensors.datatype_of(tensor(dtype, 1), "input") == told


def test_types_that_numpy_lacks():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert tensors.datatype_of(tensor(ml_dtypes.bfloat16, 1), "input") == "FP32"
    with pytest.raises(
        tensors.Unservable, match=r"^output 'x' is float8_e5m2: the Open Inference Protocol has no such type$"
    ):
        tensors.datatype_of(tensor(ml_dtypes.float8_e5m2, 1), "output")
    got = tensors.array_of(tensor(ml_dtypes.bfloat16, 2), "FP32", [2], [1.0, 1.001], None)
    assert got.dtype == ml_dtypes.bfloat16 and tensors.data_of(got) == ([1.0, 1.0], None)


def test_kinds_that_it_has_not():
    with pytest.raises(
        tensors.Unservable,
        match="input 'x' is optional sequence of float32: the Open Inference Protocol only supports tensors",
    ):
        tensors.datatype_of(tensor("float32", kind="optional sequence"), "input")


def test_shapes():
    assert tensors.shape_of(tensor("float32", "n", 3, "2 * n", None)) == [-1, 3, -1, -1]
    assert tensors.shape_of(tensor("float32")) == []


def test_batch_dim():
    a, b = tensor("float32", "n", 3), tensor("int64", "n")
    assert tensors.batch_dim([a], [b]) == "n"
    for inputs, outputs in [
        ([a], [tensor("float32")]),
        ([a], [tensor("float32", 2, 3)]),
        ([tensor("float32", "m", 3), a], [b]),
        ([tensor("float32", 1, 3)], [tensor("float32", 1)]),
        ([a], [tensor("float32", "n", 1, cases={"n = 1": (1,)})]),
    ]:
        with pytest.raises(
            tensors.Unservable,
            match="max_batch_size requires a dynamic dim that is the first of all inputs and outputs",
        ):
            tensors.batch_dim(inputs, outputs)


@pytest.mark.parametrize("dim", ["n", "2 * n", "n + 1"])
def test_a_batch_that_is_also_another_dim(dim):
    """In y = MatMul(x, transpose(x)), the length of a row of y depends on the number of rows of x,
    so requests to this model cannot be batched."""
    a = tensor("float32", "n", 3)
    for inputs, outputs in [([a], [tensor("float32", "n", dim)]), ([tensor("float32", "n", 3, dim)], [a])]:
        with pytest.raises(
            tensors.Unservable,
            match=rf"^max_batch_size: 'n', .* is also in dim [12] of 'x', which is {re.escape(dim)}$",
        ):
            tensors.batch_dim(inputs, outputs)
    assert tensors.batch_dim([tensor("float32", "n", "n2")], [tensor("float32", "n", "an + n.1")]) == "n"


@pytest.mark.parametrize(
    ("dtype", "shape", "data", "wanted"),
    [
        ("float32", [2, 2], [[1, 2], [3.5, None]], [[1, 2], [3.5, np.nan]]),
        ("float32", [4], [1, 2, 3, 4], [1, 2, 3, 4]),
        ("float32", [0], [], []),
        ("float64", [1], [1e300], [1e300]),
        ("uint64", [2], [2**64 - 1, 0], [2**64 - 1, 0]),
        ("int8", [2], [-128, 127], [-128, 127]),
        ("bool", [2], [True, False], [True, False]),
        ("bool", [2], [1, 0], [True, False]),
        ("float32", [2], [np.float32([1]), np.float32([2])], [1, 2]),
        ("O", [2], ["a", b"b\xff"], ["a", "b\udcff"]),
        ("O", [1, 1], [["a"]], [["a"]]),
        ("O", [4], [["a", ["b"]], [], "c", [[["d"]]]], ["a", "b", "c", "d"]),
        ("O", [1], nested(1005, "a"), ["a"]),
    ],
)
def test_data(dtype, shape, data, wanted):
    wide = tensor(dtype, *["n"] * len(shape))
    got = tensors.array_of(wide, tensors.DATATYPES[wide.dtype.name], shape, data, None)
    assert got.dtype == wide.dtype and list(got.shape) == shape
    np.testing.assert_array_equal(got, np.array(wanted, wide.dtype).reshape(shape))


def test_base64():
    assert tensors.array_of(tensor("O", 1), "BYTES", [1], ["YWI="], "base64").tolist() == ["ab"]
    with pytest.raises(tensors.BadRequest, match="input 'x' is not valid base64"):
        tensors.array_of(tensor("O", 1), "BYTES", [1], ["YWI"], "base64")


@pytest.mark.parametrize(
    ("dtype", "shape", "data", "told"),
    [
        ("float32", [1, 2], [1, 2], "has shape [1, 2], but the model expects [-1]"),
        ("float32", [-1], [1], "has shape [-1], but the model expects [-1]"),
        ("float32", [3], [1, 2], "has 2 elements, but its shape [3] has 3"),
        ("float32", [2**62], [1, 2], f"has 2 elements, but its shape [{2**62}]"),
        ("float32", [2], [[1, 2], [3]], "lists have different lengths"),
        ("float32", [1], ["1"], "contains a value that is not a number"),
        ("float32", [2], [{}, None], "contains a value that is not a number"),
        ("float32", [1], [True], "contains a value that is not a number"),
        ("float32", [1], [1e39], "contains numbers that are too large for FP32"),
        ("float16", [1], [70000], "contains numbers that are too large for FP16"),
        ("int8", [1], [128], "contains a value that is not a valid INT8"),
        ("uint8", [1], [-1], "contains a value that is not a valid UINT8"),
        ("int64", [1], [2**63], "contains a value that is not a valid INT64"),
        ("int64", [1], [2**70], "contains a value that is not a valid INT64"),
        ("int64", [1], [1.0], "contains fractions, but INT64 are integers"),
        ("int64", [1], [None], "contains a value that is not a valid INT64"),
        ("bool", [1], [2], "contains a value that is neither true nor false"),
        ("bool", [1], ["true"], "contains a value that is neither true nor false"),
        ("O", [1], [1], "contains int, but BYTES must be strings"),
        ("float32", [0, 2**62], [], f"has shape [0, {2**62}], which is too large"),
        ("float32", [0, 10**30], [], f"has shape [0, {10**30}], which is too large"),
        ("O", [0, 2**62], [], f"has shape [0, {2**62}], which is too large"),
        ("float32", [1], nested(1005, 1), "lists have different lengths or are nested too deeply"),
        ("O", [1], nested(1005, 1), "contains int, but BYTES must be strings"),
        ("O", [1], ["a\0"], "has a string that contains a zero byte"),
    ],
)
def test_refused(dtype, shape, data, told):
    wide = tensor(dtype, *["n", "m"][: 2 if 0 in shape else 1])
    with pytest.raises(tensors.BadRequest, match=f"^input 'x'.*{re.escape(told)}"):
        tensors.array_of(wide, tensors.DATATYPES[wide.dtype.name], shape, data, None)


def test_wrong_type():
    with pytest.raises(tensors.BadRequest, match=r"^input 'x' is FP64, but the model expects FP32$"):
        tensors.array_of(tensor("float32", 1), "FP64", [1], [1], None)


def test_results():
    assert tensors.data_of(np.int8([[1, 2]])) == ([1, 2], None)
    assert tensors.data_of(np.array(["a", "ü"], object)) == ([b"a", "ü".encode()], None)
    assert tensors.data_of(np.array(["a", "\udcff"], object)) == ([b"YQ==", b"/w=="], "base64")


def test_names():
    tensors.expect_names(["b", "a"], ["a", "b"])
    for given, told in [
        (["a", "a"], "'a' is given twice"),
        (["a", "c"], "unknown input 'c'"),
        (["a"], "input 'b' is missing"),
    ]:
        with pytest.raises(tensors.BadRequest, match=told):
            tensors.expect_names(given, ["a", "b"])
    assert tensors.chosen(None, ["a", "b"]) == ["a", "b"] and tensors.chosen(["b", "b"], ["a", "b"]) == ["b"]
    with pytest.raises(tensors.BadRequest, match="unknown output 'c', the model has a, b"):
        tensors.chosen(["c"], ["a", "b"])

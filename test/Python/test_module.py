# SPDX-License-Identifier: Apache-2.0
"""Tests hewn.Module as a Python object: call, close, repr, pickle and await. Also tests the
selection of outputs, and output arrays that the caller provides."""

import asyncio
import pickle
import re
import subprocess
import sys

import hewn
import models
import numpy as np
import pytest
from onnx import TensorProto, helper

A, B = np.int64([3, 4, 9]), np.int64([1, 5, 9])
X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def pair():
    return hewn.compile(models.two_inputs())


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    return hewn.compile(models.scaled(), output=tmp_path_factory.mktemp("kept") / "libscaled.so", threads=2)


def test_a_call_takes_arrays_in_order_or_by_name(pair, scaled):
    total, more = pair(A, b=B)
    np.testing.assert_array_equal(total, A + B)
    np.testing.assert_array_equal(more, A > B)
    np.testing.assert_allclose(scaled(X), 3 * X + 1)


def test_a_call_that_does_not_fit(pair):
    with pytest.raises(hewn.RunError, match=r"^got 3 arrays, but the model has 2 inputs$"):
        pair(A, B, A)
    with pytest.raises(hewn.RunError, match=r"^inputs given by position and by name: a$"):
        pair(A, B, a=A)
    with pytest.raises(hewn.RunError, match=r"^missing inputs: b$"):
        pair(A)


def test_chosen_outputs(pair):
    feeds = {"a": A, "b": B}
    assert list(pair.run(feeds, outputs=["more", "total"])) == ["more", "total"]
    assert list(pair.run(feeds, outputs="more")) == ["more"]
    assert pair.run(feeds, outputs=[]) == {}
    with pytest.raises(hewn.RunError, match=r"^no such outputs: less; the model's outputs are: "):
        pair.run(feeds, outputs=["less", "more"])


def test_a_run_writes_where_it_is_told(pair):
    total = np.empty(3, np.int64)
    results = pair.run({"a": A, "b": B}, out={"total": total})
    assert results["total"] is total
    np.testing.assert_array_equal(total, A + B)
    np.testing.assert_array_equal(results["more"], A > B)


def test_a_run_writes_types_that_numpy_lacks():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = models.model(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)],
        [("x", TensorProto.FLOAT, [4])],
        [("y", TensorProto.BFLOAT16, [4])],
    )
    y = np.zeros(4, ml_dtypes.bfloat16)
    assert hewn.compile(half).run({"x": X[1]}, out={"y": y})["y"] is y
    np.testing.assert_array_equal(y.astype(np.float32), X[1])


@pytest.mark.parametrize(
    ["array", "why"],
    [
        (np.empty(3, np.int32), "out 'total' is int32, but the model returns int64"),
        (np.empty(6, np.int64)[::2], "out 'total' must be dense, row-major and writable"),
        (np.frombuffer(bytes(24), np.int64), "out 'total' must be dense, row-major and writable"),
        ([0, 0, 0], "out 'total' is list, not a NumPy array or a tensor with DLPack"),
        (A, "out 'total' shares memory with an input"),
    ],
)
def test_an_array_that_can_not_be_written(pair, array, why):
    with pytest.raises(hewn.RunError, match=f"^{re.escape(why)}$"):
        pair.run({"a": A, "b": B}, out={"total": array})


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), ()])
def test_an_array_of_another_shape(pair, shape):
    array = np.full(shape, 77, np.int64)
    with pytest.raises(hewn.RunError, match="'total'"):
        pair.run({"a": A, "b": B}, out={"total": array})
    assert (array == 77).all()


def test_strings_are_not_written_in_place():
    text = models.model(
        [helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.STRING, [1])], [("y", TensorProto.STRING, [1])]
    )
    with pytest.raises(hewn.RunError, match=r"^out 'y': only numeric tensors can be written in place$"):
        hewn.compile(text).run({"x": ["a"]}, out={"y": np.empty(1, object)})
    with pytest.raises(hewn.RunError, match=r"^no such outputs: z; the model's outputs are: y$"):
        hewn.compile(text).run({"x": ["a"]}, out={"z": np.empty(1, object)})


def test_a_module_shows_what_it_is(scaled):
    shown = f"<hewn.Module {scaled.name}(x: float32(batch, 4)) -> (y: float32(batch, 4)), {scaled.variant}, 2 threads>"
    assert repr(scaled) == shown


def test_closed_is_closed():
    with hewn.compile(models.scaled()) as module:
        kept = module.run({"x": X})["y"]
    np.testing.assert_allclose(kept, 3 * X + 1)  # results remain valid after the module is closed
    module.close()
    assert repr(module) == "<hewn.Module, closed>"
    for use in (lambda: module.run({"x": X}), lambda: module.variant):
        with pytest.raises(hewn.RunError, match=r"^this module is closed$"):
            use()


def test_a_module_is_pickled_by_its_path(scaled):
    again = pickle.loads(pickle.dumps(scaled))
    assert repr(again) == repr(scaled)
    np.testing.assert_allclose(again(X), 3 * X + 1)


def test_a_module_without_a_path_is_not_pickled(pair):
    with pytest.raises(TypeError, match=r"compile it with output=PATH to pickle it$"):
        pickle.dumps(pair)


def test_runs_are_awaited(scaled):
    async def both():
        return await asyncio.gather(scaled.run_async({"x": X}), scaled.run_async({"x": 2 * X}, outputs=["y"]))

    one, two = asyncio.run(both())
    np.testing.assert_allclose(one["y"], 3 * X + 1)
    np.testing.assert_allclose(two["y"], 6 * X + 1)


def test_an_import_loads_what_a_library_needs():
    """Loading and running a library needs neither a converter nor the modules that only compiles,
    calibration and awaited runs use."""
    script = """
import sys, numpy
before = set(sys.modules)
import hewn
print(*sorted(set(sys.modules) - before))
"""
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "hewn" in loaded
    costly = """asyncio bz2 concurrent email http importlib.util logging lzma ml_dtypes multiprocessing onnx
    onnxruntime random shutil socket ssl subprocess tempfile torch typing_extensions urllib.request zipfile"""
    assert not set(costly.split()) & set(loaded)
    assert len(loaded) < 60, loaded

# SPDX-License-Identifier: Apache-2.0
"""ONNX's own cases of one node each: compiled, run, and compared with what ONNX says.

A model that is known to be refused is skipped, with the compiler's reason; all others must compile, and be right. One that is listed
without need fails. HEWN_SUITE_TARGET names a GPU: the cases then run by test/Emulator, or, where it is `device`, on the one that is here;
where it is `oracle`, at -O0, which all other tests trust and which has the bodies of ops in common with what they judge.
"""

import contextlib
import functools
import os
import pathlib
import re
import sys
import warnings

import hewn
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

TARGET = os.environ.get("HEWN_SUITE_TARGET")
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Emulator"))
if TARGET == "device":
    import device

    if device.TARGET is None:
        pytest.skip(f"no GPU: {device.WHY}", allow_module_level=True)
elif TARGET and TARGET != "oracle":
    import emulated

# Not right yet. Who mends one takes its line out.
WRONG = {}
# Refused, and why. Who adds what is missing takes its line out.
REFUSED = {}
RANDOM = ("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes some of its cases with overflows
        return {case.name: case for case in load_model_tests(kind="node")}


@contextlib.contextmanager
def compiled(model):
    if TARGET == "oracle":
        yield hewn.compile(model, optimize=False)
        return
    if not TARGET or TARGET == "device":
        yield hewn.compile(model, target=device.TARGET if TARGET else "host")
        return
    with emulated.compiled(model, TARGET) as module:
        yield module
        del module


def plain(value):
    """Types that numpy lacks come as messages."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def accuracy(dtype):
    """Two steps of the type, and at least what ONNX's runner allows."""
    if dtype.kind == "f" or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return max(1e-3, 2 * float(ml_dtypes.finfo(dtype).eps))
    return 1e-3


def check(got, want, case, values):
    if want is None or isinstance(want, list):
        assert type(got) is type(want) and (want is None or len(got) == len(want)), f"{got}, not {want}"
        for a, b in zip(got or [], want or []):
            check(a, b, case, values)
        return
    want = np.asarray(want)
    if want.dtype.kind in "OU":
        assert got.dtype == object and got.shape == want.shape, f"{got.dtype}{got.shape}, not strings of {want.shape}"
        assert got.tolist() == want.tolist()
        return
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if not values:
        return
    rtol = max(case.rtol, accuracy(want.dtype))
    if want.dtype.kind not in "biufc":
        got, want = got.astype(np.float32), want.astype(np.float32)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind in "fc" else want
    largest = float(finite.max()) if finite.size and want.dtype.kind in "fc" else 0
    # Of a sum that cancels, what is left is as exact as its terms were.
    np.testing.assert_allclose(got, want, rtol=rtol, atol=max(case.atol, rtol / 100, 1e-6 * largest))


def run(name):
    case = cases()[name]
    graph = case.model.graph
    values = not any(node.op_type in RANDOM for node in graph.node)
    with compiled(case.model) as module:
        for inputs, outputs in case.data_sets:
            got = module.run({info.name: plain(value) for info, value in zip(graph.input, inputs)})
            for info, want in zip(graph.output, outputs):
                check(got[info.name], plain(want), case, values)
        del module


def reason(listed, name):
    return next((why for pattern, why in listed.items() if re.search(pattern, name)), None)


@pytest.mark.parametrize("name", sorted(cases()))
def test_node(name):
    refused, wrong = reason(REFUSED, name), reason(WRONG, name)
    try:
        device.WORKER.call(run, name) if TARGET == "device" else run(name)
    except hewn.CompileError as problem:
        if not refused:
            raise
        pytest.skip(f"{refused}: {str(problem).splitlines()[0]}")
    except (AssertionError, hewn.RunError):
        if not wrong:
            raise
        pytest.xfail(wrong)
    assert not refused, f"compiles and is right, though it is listed as refused: {refused}"
    assert not wrong, f"is right, though it is listed as wrong: {wrong}"


def test_lists_name_cases():
    stale = [pattern for pattern in (*REFUSED, *WRONG) if not any(re.search(pattern, name) for name in cases())]
    assert stale == []

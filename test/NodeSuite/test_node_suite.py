# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs ONNX's node tests and compares the results with ONNX's.

A model in REFUSED is skipped with the compiler's error; every other model must compile and be
correct. A listed model that compiles and is correct fails the test. HEWN_SUITE_TARGET selects what
runs the tests: the name of a GPU uses test/Emulator, `device` uses the GPU of this host, and
`oracle` uses -O0. The other tests trust -O0, although it shares the bodies of ops with the code
that they test.
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

# Models with wrong results, with the reason. A fix removes the line of its model.
WRONG = {}
# Models that the compiler rejects, with the reason. Implementing a missing feature removes its
# lines.
REFUSED = {}
# Half-precision attention whose expected results NumPy rounds after each step. hewn rounds once, so
# results differ by up to two units in the last place, and are on average closer to attention in
# float64 (docs/decisions/numbers/half-precision.md). The suite lists these cases at its end.
ROUNDED = (
    r"test_attention_(4d_causal|4d_padded_kv|4d_causal_padded_kv|4d_attn_mask_causal|3d_causal)_bf16(_expanded)?$",
    r"test_attention_4d_causal_fp16_expanded$",
)
# -O0, GPUs and other processors round other steps.
ROUNDS_ELSEWHERE = bool(TARGET or os.environ.get("HEWN_PROCESSOR"))
RANDOM = ("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes some of its expected values with overflows
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
    """Converts TensorProto values, which the suite uses for types that numpy lacks, to arrays."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def accuracy(dtype, exact=False):
    """Returns the relative tolerance: twice the type's epsilon, at least 1e-3 as in ONNX's test
    runner. If `exact` is set, returns 1e-3."""
    if exact:
        return 1e-3
    if dtype.kind == "f" or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return max(1e-3, 2 * float(ml_dtypes.finfo(dtype).eps))
    return 1e-3


def check(got, want, case, values, exact=False):
    if want is None or isinstance(want, list):
        assert type(got) is type(want) and (want is None or len(got) == len(want)), f"{got}, not {want}"
        for a, b in zip(got or [], want or []):
            check(a, b, case, values, exact)
        return
    want = np.asarray(want)
    if want.dtype.kind in "OU":
        assert got.dtype == object and got.shape == want.shape, f"{got.dtype}{got.shape}, not strings of {want.shape}"
        assert got.tolist() == want.tolist()
        return
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if not values:
        return
    rtol = max(case.rtol, accuracy(want.dtype, exact))
    if want.dtype.kind not in "biufc":
        got, want = got.astype(np.float32), want.astype(np.float32)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind in "fc" else want
    largest = float(finite.max()) if finite.size and want.dtype.kind in "fc" else 0
    # The error of a sum with cancellation is relative to its largest summands, not to the result.
    np.testing.assert_allclose(got, want, rtol=rtol, atol=max(case.atol, rtol / 100, 1e-6 * largest))


def run(name, exact=False):
    case = cases()[name]
    graph = case.model.graph
    values = not any(node.op_type in RANDOM for node in graph.node)
    with compiled(case.model) as module:
        for inputs, outputs in case.data_sets:
            got = module.run({info.name: plain(value) for info, value in zip(graph.input, inputs)})
            for info, want in zip(graph.output, outputs):
                check(got[info.name], plain(want), case, values, exact)
        del module


def reason(listed, name):
    return next((why for pattern, why in listed.items() if re.search(pattern, name)), None)


def is_rounded(name):
    return any(re.match(pattern, name) for pattern in ROUNDED)


@pytest.mark.parametrize("name", sorted(cases()))
def test_node(name, record_property):
    refused, wrong = reason(REFUSED, name), reason(WRONG, name)
    if rounded := is_rounded(name):
        record_property("rounded", name)
    exact = not ROUNDS_ELSEWHERE and not rounded
    try:
        device.WORKER.call(run, name) if TARGET == "device" else run(name, exact)
    except hewn.CompileError as problem:
        if not refused:
            raise
        pytest.skip(f"{refused}: {str(problem).splitlines()[0]}")
    except (AssertionError, hewn.RunError):
        if not wrong:
            raise
        pytest.xfail(wrong)
    assert not refused, f"compiles and is correct, but REFUSED lists it: {refused}"
    assert not wrong, f"is correct, but WRONG lists it: {wrong}"


def test_lists_name_cases():
    stale = [
        pattern for pattern in (*REFUSED, *WRONG, *ROUNDED) if not any(re.search(pattern, name) for name in cases())
    ]
    assert stale == []


@pytest.mark.skipif(ROUNDS_ELSEWHERE, reason="other targets round other steps")
@pytest.mark.parametrize("name", [name for name in sorted(cases()) if is_rounded(name)])
def test_rounded_cases_need_the_tolerance(name):
    with pytest.raises(AssertionError):
        run(name, exact=True)

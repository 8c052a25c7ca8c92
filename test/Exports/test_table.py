# SPDX-License-Identifier: Apache-2.0
"""Tests the verdicts on results, and the page that table.py writes from records."""

import math

import architectures
import judging
import numpy as np
import table

SAID = {"command": "c", "machine": "m", "versions": "v", "bound": 1e-4, "others": 4, "spreads": 16}


def never():
    raise AssertionError("asked, though nothing is off")


def floats(*values):
    return np.array(values, np.float32)


def test_error():
    want = [floats(1, -4), np.array([1, 2, 3, 4])]
    assert judging.error([floats(1, -4), np.array([1, 2, 3, 4])], want) == 0
    assert judging.error([floats(1, -3), np.array([1, 2, 3, 4])], want) == 0.25
    assert judging.error([floats(1, -4), np.array([1, 2, 3, 5])], want) == 0.25
    assert judging.error([floats(1, -4), np.array([1, 2, 3])], want) == math.inf
    assert judging.error([floats(1, math.nan), np.array([1, 2, 3, 4])], want) == math.inf
    assert judging.error(want[:1], want) == math.inf
    assert judging.error([want[0].astype(np.float64), want[1]], want) == math.inf
    assert judging.error([floats(math.nan, math.inf)], [floats(math.nan, math.inf)]) == 0
    assert judging.error([floats(1, 2)], [floats(1, math.inf)]) == math.inf


def test_verdict():
    assert judging.verdict(1e-5, None, never, never) == "right"
    assert judging.verdict(1e-2, 1e-2, lambda: 1e-6, never) == "export differs"
    assert judging.verdict(math.inf, math.inf, lambda: 0, never) == "export differs"
    assert judging.verdict(1e-2, 3e-3, lambda: 1e-2, never) == "rounding decides"
    assert judging.verdict(1e-2, 1e-6, never, lambda: 1e-3) == "rounding decides"
    assert judging.verdict(1e-2, None, never, lambda: 1e-3) == "rounding decides"
    assert judging.verdict(math.inf, math.inf, lambda: math.inf, lambda: math.inf) == "rounding decides"
    assert judging.verdict(math.inf, math.inf, lambda: math.inf, lambda: 1e-5) == "wrong"
    assert judging.verdict(1e-2, 1e-6, never, lambda: 1e-5) == "wrong"
    assert judging.verdict(math.inf, 1e-6, never, lambda: 1e-5) == "wrong"


def record(name, **facts):
    return {"library": "timm", "order": 0, "name": name, "exporter": "dynamo", "step": "", **facts}


WHOLE = {
    "nodes": 9,
    "compile_s": 1.2,
    "compile_mb": 90,
    "hewn_error": 1e-6,
    "onnxruntime_error": 2e-6,
    "verdict": "right",
}


def test_page():
    records = [
        record("fast", **WHOLE, hewn_ms=2.0, onnxruntime_ms=5.0),
        record("slow", **WHOLE, hewn_ms=4.0, onnxruntime_ms=2.0),
        record("refused", nodes=9, compile_s=0.1, compile_mb=50, hewn="error: node 'n': no"),
        record("crashed", nodes=9, compile_s=0.1, compile_mb=50, step="hewn run", ended="SIGSEGV"),
        record("wrong", **{**WHOLE, "verdict": "wrong", "hewn_error": 0.5}, hewn_ms=1.0, onnxruntime_ms=1.0),
        record("unknown", **{**WHOLE, "onnxruntime": "no kernel"}, hewn_ms=1.0),
        record("invalid", nodes=9, compile_s=0.1, compile_mb=50, hewn="error: perm", onnxruntime="perm"),
        record("none", step="export", ended="Unsupported: op"),
    ]
    text = table.page(records, [*(r["name"] for r in records), "later"], **SAID)
    assert "| all | 8 | 7 | 4 | 3 | 0 | 0 | 1 | 4 | 2 of 3 | 1.00 | 1.2 |" in text.splitlines()
    assert "Not run: later." in text.splitlines()
    assert "Slower than onnxruntime: slow (dynamo) 0.50." in text
    failed = table.details(records).split("## Exports that failed")[1]
    assert failed.index("neither hewn nor onnxruntime") < failed.index("- invalid") < failed.index("### hewn\n")
    assert failed.count("- invalid") == 1
    for line in (
        "- none (dynamo): `export: Unsupported: op`",
        "- refused (dynamo): `error: node 'n': no`",
        "- crashed (dynamo): `hewn run: SIGSEGV`",
        "- wrong (dynamo): `error 5.0e-01`",
        "- unknown (dynamo): `no kernel`",
    ):
        assert line in failed.splitlines()


def test_rows():
    """Each architecture has sizes for all its dynamic dims, and each size changes the shapes of the
    inputs."""
    found = architectures.architectures()
    assert len(found) >= 100
    for one in found:
        assert set(one.exporters) <= set(architectures.EXPORTERS)
        names = {dim for spec in one.inputs.values() for dim in spec.open_dims().values()}
        assert all(set(sizes) == names for sizes in one.sizes), one.name
        shapes = [tuple(spec.shape(sizes) for spec in one.inputs.values()) for sizes in one.sizes]
        assert len(set(shapes)) == len(shapes), one.name


def test_inputs_are_the_same_each_time():
    one = next(a for a in architectures.architectures() if a.name == "llama")
    feeds = [one.feeds(one.sizes[-1]) for _ in range(2)]
    assert all(np.array_equal(feeds[0][name], feeds[1][name]) for name in one.inputs)
    assert feeds[0]["input_ids"].dtype == np.int64 and feeds[0]["past_key_0"].shape == (1, 3, 127, 64)
    assert feeds[0]["attention_mask"].tolist() == [[1] * 128]

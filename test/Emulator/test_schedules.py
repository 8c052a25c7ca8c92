# SPDX-License-Identifier: Apache-2.0
"""Kernels with schedules that a test sets: it edits the schedule in a model's kernel IR. The edited
kernels compute the same results."""

import os
import pathlib
import re
import subprocess
import tempfile

import emulated
import hewn
import numpy as np
import pytest
from comparison import compare
from mutation import SCHEDULES, on_host
from onnx import helper
from test_ptx import FLOAT, HALF, model


def product(rows, depth, columns, kind=FLOAT):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return model(nodes, [("x", kind, [rows, depth]), ("w", kind, [depth, columns])], [("y", kind)])


def attention(rows, columns, kind=FLOAT):
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    inputs = [("q", kind, [2, rows, 16]), ("k", kind, [2, 16, columns]), ("v", kind, [2, columns, 24])]
    return model(nodes, inputs, [("y", kind)])


SOFTMAX = model([helper.make_node("Softmax", ["x"], ["y"])], [("x", FLOAT, [20, 1024])], [("y", FLOAT)])
EXP = model([helper.make_node("Exp", ["x"], ["y"])], [("x", FLOAT, [64, 96])], [("y", FLOAT)])
TURNED = model(
    [helper.make_node("Transpose", ["x"], ["t"]), helper.make_node("Exp", ["t"], ["y"])],
    [("x", FLOAT, [50, 70])],
    [("y", FLOAT)],
)
SUMS = model(
    [helper.make_node("CumSum", ["x", "axis"], ["y"])], [("x", FLOAT, [3, 700])], [("y", FLOAT)], axis=np.array(1)
)

SLICED = model(
    [helper.make_node("Slice", ["x", "from", "to", "axis"], ["y"])],
    [("x", HALF, [6, 7, 32])],
    [("y", HALF)],
    **{"from": np.array([2]), "to": np.array([5]), "axis": np.array([1])},
)
PADDED = model(
    [helper.make_node("Pad", ["x", "pads"], ["y"])],
    [("x", FLOAT, [6, 7, 32])],
    [("y", FLOAT)],
    pads=np.array([1, 2, 0, 0, 3, 0]),
)
JOINED = model(
    [helper.make_node("Concat", ["x", "z"], ["y"], axis=1)],
    [("x", FLOAT, [6, 7, 32]), ("z", FLOAT, [6, 2, 32])],
    [("y", FLOAT)],
)
SUMMED = model(
    [helper.make_node("ReduceSum", ["x", "axis"], ["y"], keepdims=0)],
    [("x", FLOAT, [5, 7, 32])],
    [("y", FLOAT)],
    axis=np.array([0]),
)

CASES = {
    "map-slice": (SLICED, "map<threads = 64, widths = [8]>"),
    "map-pad": (PADDED, "map<threads = 32, widths = [4]>"),
    "map-joined": (JOINED, "map<threads = 96, widths = [4]>"),
    "map-sum": (SUMMED, "map<threads = 64, widths = [2]>"),
    "map": (EXP, "map<threads = 64, widths = [2]>"),
    "map-one": (EXP, "map<threads = 1024, widths = [1]>"),
    "rows-thread": (SOFTMAX, "rows<rowThreads = 1, threads = 32>"),
    "rows-lanes": (SOFTMAX, "rows<rowThreads = 8, threads = 64>"),
    "rows-lanes-wide": (SOFTMAX, "rows<rowThreads = 16, threads = 96, width = 2>"),
    "rows-block": (SOFTMAX, "rows<rowThreads = 96, threads = 96, width = 4>"),
    "transpose": (TURNED, "transpose<tile = 16, threads = 64>"),
    "transpose-lines": (TURNED, "transpose<tile = 64, threads = 512>"),
    "line-thread": (SUMS, "cumulate<lineThreads = 1, threads = 32>"),
    "line-block": (SUMS, "cumulate<lineThreads = 96, threads = 96, elements = 3>"),
    "matrix": (product(70, 48, 70), "contract<form = matrix, m = 64, n = 32, buffers = 3, warpsM = 2, warpsN = 1>"),
    "matrix-wide": (
        product(70, 48, 70),
        "contract<form = matrix, m = 32, n = 128, buffers = 2, warpsM = 1, warpsN = 8>",
    ),
    "matrix-halves": (
        product(70, 48, 70, HALF),
        "contract<form = matrix, m = 96, n = 96, buffers = 5, warpsM = 3, warpsN = 2>",
    ),
    "tiles": (product(70, 48, 70), "contract<form = tiles, m = 16, n = 128>"),
    "few-rows": (product(3, 100, 70), "contract<form = few_rows, m = 3, n = 2>"),
    "few-columns": (product(70, 100, 5), "contract<form = few_columns, m = 8, n = 5>"),
    "chain": (attention(40, 200), "attention<warpsM = 2, warpsN = 2, columns = 8, factors = f32, online = true>"),
    "chain-warps": (
        attention(40, 200),
        "attention<warpsM = 1, warpsN = 5, columns = 24, factors = f32, online = true>",
    ),
    "chain-passes": (attention(40, 200), "attention<warpsM = 3, warpsN = 1, columns = 16, factors = f32>"),
    "chain-split": (
        attention(40, 200),
        "attention<warpsM = 2, warpsN = 1, columns = 16, factors = f32, online = true, splitTiles = 3, blocks = 20>",
    ),
    "chain-halves": (
        attention(9, 130, HALF),
        "attention<warpsM = 1, warpsN = 2, columns = 32, factors = f16, online = true>",
    ),
    # With this schedule, each warp has two tiles of sixteen rows, of which the second one is
    # partial.
    "chain-tall": (
        attention(75, 200, HALF),
        "attention<warpsM = 2, warpsN = 1, columns = 32, factors = f16, online = true, rowTiles = 2>",
    ),
    "chain-tall-split": (
        attention(20, 300, HALF),
        "attention<warpsM = 1, warpsN = 1, columns = 16, factors = f16, online = true, splitTiles = 4, blocks = 20, rowTiles = 2>",
    ),
    "chain-as-words": (
        attention(9, 130, HALF),
        "attention<warpsM = 1, warpsN = 3, columns = 8, factors = f32, online = true>",
    ),
    "chain-passes-halves": (attention(9, 130, HALF), "attention<warpsM = 1, warpsN = 1, columns = 48, factors = f16>"),
}


# Tests schedules of kernels with warpgroup MMAs.
GROUPS = {
    "groups": (
        product(130, 64, 72, HALF),
        "contract<form = matrix, m = 64, n = 96, buffers = 2, warpsM = 4, warpsN = 1, groups = true>",
    ),
    "groups-fetch": (
        product(130, 128, 72, HALF),
        "contract<form = matrix, m = 128, n = 32, buffers = 3, warpsM = 8, warpsN = 1, groups = true, fetches = true, blocks = 2>",
    ),
}


@pytest.mark.parametrize("name", [*CASES, *GROUPS])
def test_as_on_the_host(name):
    onnx_model, schedule = (CASES | GROUPS)[name]
    target = "sm_90a" if name in GROUPS else "sm_80"
    feeds, want = on_host(onnx_model)
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "kernels.mlir"
        hewn._compile(onnx_model, text, emit="kernels", target=target)
        edited, count = re.subn(r"schedule = #plan\.gpu_[^>]*>", f"schedule = #plan.gpu_{schedule}", text.read_text())
        assert count == 1
        text.write_text(edited)
        # Inserts the scratch memory that the edited schedule needs.
        passes = ["--hewn-assign-schedules", "--hewn-insert-scratch"]
        command = [os.environ["HEWN_TOOLS"] + "/hewn-opt", *passes, str(text), "-o", str(text)]
        subprocess.run(command, check=True)
        with emulated.compiled(text, target=target) as module:
            for order in SCHEDULES:
                with emulated.setting("SCHEDULE", order):
                    compare(module.run(feeds), want)
            del module

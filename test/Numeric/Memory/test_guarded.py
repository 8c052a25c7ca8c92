# SPDX-License-Identifier: Apache-2.0
"""Runs a sample of `variations.py`: a model of each op with symbolic dims, between guard pages,
with invalid sizes and values.

Each finding fails the test, unless judged.py accepts it. Each row of judged.py must still apply.
"""

import re
import time

import judged
import pytest
import variations

SECONDS = 40
EACH = 12  # runs per model


def an_op_each():
    """Returns the first case of each op. Ops whose addresses depend on data come first."""
    first = {}
    for case in sorted(variations.cases(), key=lambda case: case.name):
        first.setdefault(case.model.graph.node[0].op_type, case)
    risky = (
        "Gather",
        "Scatter",
        "Slice",
        "Pad",
        "Resize",
        "Roi",
        "Grid",
        "Reverse",
        "OneHot",
        "Attention",
        "Loss",
        "Einsum",
        "Tile",
        "Concat",
    )
    return sorted(first.items(), key=lambda entry: not any(word in entry[0] for word in risky))


def test_an_op_each():
    start, runs, may, found, left = time.monotonic(), 0, 0, [], []
    for op, case in an_op_each():
        if time.monotonic() - start > SECONDS:
            left.append(op)
            continue
        count, wrong = variations.in_child(case, EACH)
        runs += count
        may += sum(why is not None for *_, why in wrong)
        found += [(case.name, *w) for *w, why in wrong if why is None]
    print(f"{runs} runs; {may} that judged.py excuses; no time for {', '.join(left) or 'none'}")
    assert not found, "\n".join(map(str, found))
    assert runs > 100


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in variations.cases()}


@pytest.mark.parametrize("row", judged.ROWS, ids=lambda row: f"{row.ops}-{row.kind}-{row.shows}")
def test_excuses(cases, row, monkeypatch):
    """Without a row of judged.py, the case that the row names is a finding, so that the row is
    still needed."""
    if row.kind == "hangs":
        monkeypatch.setattr(variations, "SECONDS", 3)
    case = cases[row.case]
    assert re.fullmatch(row.ops, case.model.graph.node[0].op_type)
    _, wrong = variations.in_child(case, 0, f"^{row.shows}")
    assert row.why in [why for *_, why in wrong], wrong or "onnxruntime and hewn agree"


@pytest.mark.parametrize("beyond", [False, True])
def test_guards(tmp_path, beyond):
    """The guard pages detect a read beyond an input. The library that reads there has no shape
    checks."""
    assert variations.reads_beyond(tmp_path, beyond) == beyond

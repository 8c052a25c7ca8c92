# SPDX-License-Identifier: Apache-2.0
"""Some of `variations.py`: a model of each op, its dims symbols, run with sizes and values that do not fit, between guard pages.

Crashes, runs that do not end and memory that is read before it is written fail. Where hewn answers and onnxruntime does not, or otherwise,
is counted here, and listed by the command: who is right is another question for each op.
"""

import time

import pytest
import variations

SECONDS = 40
EACH = 12  # runs of a model


def an_op_each():
    """The first case of each op, those first that find their elements by what data tell."""
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
    start, runs, judged, found, left = time.monotonic(), 0, [], [], []
    for op, case in an_op_each():
        if time.monotonic() - start > SECONDS:
            left.append(op)
            continue
        count, wrong = variations.in_child(case, EACH)
        runs += count
        judged += [w[0] for w in wrong if w[0] in variations.JUDGED]
        found += [(case.name, *w) for w in wrong if w[0] not in variations.JUDGED]
    said = ", ".join(f"{judged.count(kind)} {kind}" for kind in variations.JUDGED)
    print(f"{runs} runs; beside onnxruntime {said}; no time for {', '.join(left) or 'none'}")
    assert not found, "\n".join(map(str, found))
    assert runs > 100


@pytest.mark.parametrize("beyond", [False, True])
def test_guards(tmp_path, beyond):
    """That a read beyond an input is seen: of a library that has lost its requirements."""
    assert variations.reads_beyond(tmp_path, beyond) == beyond

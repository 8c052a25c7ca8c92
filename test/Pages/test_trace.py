# SPDX-License-Identifier: Apache-2.0
"""Checks the trace of `hewn profile --trace` against the Trace Event Format.

Perfetto's package on PyPI (perfetto 0.59.1, a pure Python wheel) has no trace processor: it
downloads one on first use. So these tests check the rules of the format that Perfetto's JSON
importer relies on
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): complete events
have a name, pid, tid, ts >= 0 and dur >= 0; events of one lane are nested or disjoint; metadata
events name processes and lanes."""

import json

import pytest


@pytest.fixture(scope="session", params=["hostile", "many"])
def trace(pages, request):
    return json.loads((pages.folder / f"{request.param}.json").read_text(encoding="utf-8"))


def complete(trace, *categories):
    return [
        event for event in trace["traceEvents"] if event["ph"] == "X" and (not categories or event["cat"] in categories)
    ]


def test_events_are_those_of_the_format(trace):
    assert set(trace) == {"traceEvents", "displayTimeUnit"} and trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "M") and isinstance(event["name"], str) and event["name"]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert set(event) == {"name", "ph", "pid", "tid", "args"}
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
        else:
            assert set(event) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
            assert event["ts"] >= 0 and event["dur"] >= 0


def test_events_of_a_lane_lie_inside_of_each_other_or_apart(trace):
    rounding = 1e-3  # in microseconds; Perfetto's clock has whole nanoseconds
    for lane in {event["tid"] for event in complete(trace)}:
        open_until = []
        for event in sorted((e for e in complete(trace) if e["tid"] == lane), key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= event["ts"] + rounding:
                open_until.pop()
            end = event["ts"] + event["dur"]
            assert not open_until or end <= open_until[-1] + rounding, event
            open_until.append(end)


def test_each_thread_has_a_lane_with_a_name(trace):
    named = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert named == {1: "thread 1 (runs the model)", 2: "thread 2"}
    assert {event["tid"] for event in complete(trace)} == {1, 2}
    assert {event["tid"] for event in complete(trace, "kernel")} == {1}


def test_kernels_have_their_nodes_and_their_work(trace):
    kernels = complete(trace, "kernel")
    products = [event for event in kernels if any(" product " in node for node in event["args"]["nodes"])]
    assert products
    for event in kernels:
        assert event["args"]["nodes"] and event["args"]["bytes"] > 0 and event["args"]["flop"] >= 0
    for event in products:
        assert event["args"]["flop"] > 0 and event["args"]["multiplies"] == "f32"
    # The trace has each ONNX node in one launch, in the order of the model.
    nodes = [node for event in kernels for node in event["args"]["nodes"] if " product " in node]
    assert len(nodes) == len(set(nodes)) and [int(node.split()[-1]) for node in nodes] == list(range(len(nodes)))


def test_gaps_fill_the_lanes(trace):
    """The trace records idle time as slices, so that the slices of a lane cover the full run."""
    end = max(event["ts"] + event["dur"] for event in complete(trace))
    for lane, of in ((1, ("kernel", "idle")), (2, ("task", "idle"))):
        events = [event for event in complete(trace, *of) if event["tid"] == lane]
        assert sum(event["dur"] for event in events) == pytest.approx(end, rel=1e-3, abs=1)

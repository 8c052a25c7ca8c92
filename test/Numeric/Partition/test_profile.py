# SPDX-License-Identifier: Apache-2.0
"""`hewn profile` of a partitioned model reports the communication and the kernels of each rank."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest
from split import MODELS, hewn_command, launchers, split

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")
SPLITS = [
    ("mlp", "tensor=2"),
    ("attention", "tensor=2,pipeline=2"),
    ("rows", "tensor=2"),
    ("rows", "pipeline=2"),
    ("mlp", "pipeline=2,microbatches=2"),
    ("convolutions", "tensor=4"),
]


def ranks_of(partition):
    return int(np.prod([int(part.split("=")[1]) for part in partition.split(",") if "micro" not in part]))


def prepared(name, partition, folder):
    """Compiles the model for the ranks. Returns the library and the command-line options for its
    inputs."""
    model, feeds = MODELS[name]()
    library = split(model, partition, folder)
    np.savez(folder / "given.npz", **feeds)
    return library, ["--input", folder / "given.npz"]


def said(*arguments, launcher=(), environment=None, code=0):
    done = subprocess.run(
        [*launcher, *hewn_command(*arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def check(record, ranks, waits_are_known, on_device=False):
    """Checks invariants of a profile of `ranks` ranks. For devices, the profile has no waiting
    times."""
    run = record["fastest_run"]
    assert [rank["rank"] for rank in record["ranks"]] == list(range(ranks))
    own = record["ranks"][run["rank"]]
    assert [kernel["kernel"] for kernel in own["kernels"]] == [kernel["kernel"] for kernel in run["kernels"]]
    for key in ("milliseconds", "transfer_milliseconds", "waited_milliseconds", "moved_bytes", "transfers"):
        assert own[key] == run[key]
    handed = {}
    for rank in record["ranks"]:
        parts = (rank["kernel_milliseconds"], rank["transfer_milliseconds"], rank["between_kernels_milliseconds"])
        assert sum(parts) == pytest.approx(rank["milliseconds"]) and min(parts) >= 0
        rows = rank["transfers"]
        assert rank["transfer_milliseconds"] == pytest.approx(sum(row["milliseconds"] for row in rows))
        assert rank["moved_bytes"] == sum(row["moved_bytes"] for row in rows)
        kinds = [(row["transfer"], row["first_rank"], row["ranks"], row["bytes"]) for row in rows]
        assert len(kinds) == len(set(kinds))
        for row in rows:
            what, waited = row["transfer"], row["waited_milliseconds"]
            assert row["milliseconds"] > 0 and row["share"] == pytest.approx(row["milliseconds"] / rank["milliseconds"])
            if waits_are_known or (what != "receive" and not on_device):
                assert 0 <= waited <= row["milliseconds"] * (1 + 1e-9)
                assert row["bytes_per_second"] is None or row["bytes_per_second"] > 0
            else:
                assert waited is None
            if what in ("send", "receive"):
                assert row["ranks"] == 1 and row["first_rank"] != rank["rank"]
                assert row["moved_bytes"] == (row["bytes"] * row["times"] if what == "receive" else 0)
                ends = (rank["rank"], row["first_rank"])
                between = (*(ends if what == "send" else ends[::-1]), row["bytes"])
                handed.setdefault(between, {})[what] = row["times"]
            else:
                assert row["first_rank"] <= rank["rank"] < row["first_rank"] + row["ranks"]
                for other in record["ranks"][row["first_rank"] : row["first_rank"] + row["ranks"]]:
                    (same,) = [
                        theirs
                        for theirs in other["transfers"]
                        if theirs["bytes"] == row["bytes"] and theirs["transfer"] == what
                    ]
                    assert same["times"] == row["times"]
        if all(row["waited_milliseconds"] is not None for row in rows):
            assert rank["waited_milliseconds"] == pytest.approx(sum(row["waited_milliseconds"] for row in rows))
        else:
            assert rank["waited_milliseconds"] is None
    for both in handed.values():  # each message is sent once and received once
        assert both["send"] == both["receive"]


@pytest.mark.parametrize("name, partition", SPLITS)
def test_rows_of_ranks_that_hewn_makes(name, partition, tmp_path):
    library, inputs = prepared(name, partition, tmp_path)
    record = json.loads(said("profile", library, *inputs, "--seconds=0.1", "--json"))
    check(record, ranks_of(partition), waits_are_known=True)
    # The profile has as many collectives and bytes as the compiler and a run report.
    explained = said("explain", tmp_path / "model.onnx", "--partition", partition, "--json")
    first = json.loads(explained)["variants"][0]
    assert first["meetings"] == sum(row["times"] for row in record["ranks"][0]["transfers"])
    ran = said("run", library, *inputs, "--output-dir", tmp_path / "out", "--json")
    assert json.loads(ran)["moved_bytes"] == record["ranks"][0]["moved_bytes"]
    if first["moved_bytes"] is not None:
        assert first["moved_bytes"] == record["ranks"][0]["moved_bytes"]


@pytest.mark.parametrize("launcher", list(launchers()))
@pytest.mark.parametrize("two_sided", ["0", "1"])
@pytest.mark.parametrize("name, partition", [("rows", "tensor=2"), ("attention", "tensor=2,pipeline=2")])
def test_rows_by_mpi(launcher, two_sided, name, partition, tmp_path):
    library, inputs = prepared(name, partition, tmp_path)
    told = said(
        "profile",
        library,
        *inputs,
        "--seconds=0.1",
        "--json",
        launcher=[*launcher, "-n", str(ranks_of(partition))],
        environment={"HEWN_MPI_TWO_SIDED": two_sided},
    )
    check(json.loads(told), ranks_of(partition), waits_are_known=False)


def test_the_table_the_trace_and_the_page(tmp_path):
    library, inputs = prepared("attention", "tensor=2,pipeline=2", tmp_path)
    trace, page = tmp_path / "trace.json", tmp_path / "page.html"
    text = said("profile", library, *inputs, "--seconds=0", "--rank=3", "--trace", trace, "--html", page)
    assert "the fastest run, on rank 3" in text and "waited ms" in text
    for rank in range(4):
        assert any(line.split()[6:7] == [str(rank)] for line in text.splitlines()), text
    for row in ("all-reduce of ", "all-gather of ", "ranks 2 to 3", " to rank 2", " from rank 1"):
        assert row in text
    assert "receive of" in page.read_text() and 'id="ranks"' in page.read_text()
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert len(names) == 4 and sum(f", rank {rank}" in name for name in names.values() for rank in range(3)) == 3
    slices = [event for event in events if event.get("cat") == "transfer"]
    assert {event["pid"] for event in slices} == set(names)
    assert all(event["args"]["waited_microseconds"] <= event["dur"] + 1e-3 for event in slices)
    # In the trace that the profile writes, events of one lane (one rank) do not overlap.
    for pid in names:
        lane = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["pid"] == pid)
        assert all(end <= begin + 1e-3 for (_, end), (begin, _) in itertools.pairwise(lane))


@pytest.mark.parametrize("rank", [0, 1])
def test_what_the_compiler_says_of_a_ranks_kernels(rank, tmp_path):
    """Profiles one rank's program of a model file, which the command compiles first. Also covers
    programs for specific sizes."""
    model, feeds = MODELS["mlp"]()
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    for dim in ("n=1..9", "n=1,5,1..9"):
        options = ["--partition", "pipeline=2", "--dim", dim, "--seconds=0", f"--rank={rank}", "--json"]
        np.savez(tmp_path / "given.npz", **feeds)
        record = json.loads(said("profile", tmp_path / "m.onnx", "--input", tmp_path / "given.npz", *options))
        kernels = record["fastest_run"]["kernels"]
        assert record["fastest_run"]["rank"] == rank and kernels
        products = sum(kernel["flop"] for kernel in kernels)
        assert all(kernel["nodes"] is not None for kernel in kernels) and products > 0
        # Each rank computes only its shard of the matmuls.
        assert products < sum(2 * 5 * rows * columns for rows, columns in ((64, 96), (96, 64), (64, 10)))


def test_ranks_that_there_are_not(tmp_path):
    library, inputs = prepared("mlp", "tensor=2", tmp_path)
    for rank in ("2", "-1"):
        text = said("profile", library, *inputs, f"--rank={rank}", code=1)
        assert f"split over 2 ranks, counted from 0: invalid --rank={rank}" in text
    text = said("profile", tmp_path / "model.onnx", *inputs, "--rank=1", code=1)
    assert "--rank requires a model that is split over ranks" in text


def children(process):
    return [int(pid) for pid in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_is_gone_ends_the_profile(sign, tmp_path):
    """If a rank is killed, the other ranks report that. If it is stopped and continued, the profile
    completes."""
    library, inputs = prepared("mlp", "tensor=2", tmp_path)
    command = hewn_command("profile", library, *inputs, "--seconds=3", "--json")
    profile = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 20
        while not (ranks := children(profile.pid)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.5)
        (rank,) = ranks
        os.kill(rank, sign)
        if sign == signal.SIGSTOP:
            time.sleep(0.5)
            os.kill(rank, signal.SIGCONT)
        out, complaint = profile.communicate(timeout=30)
    finally:
        profile.kill()
    if sign == signal.SIGKILL:
        assert profile.returncode == 1 and "rank 1 has exited" in complaint and not out
    else:
        assert profile.returncode == 0, complaint
        check(json.loads(out), 2, waits_are_known=True)

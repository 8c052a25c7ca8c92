# SPDX-License-Identifier: Apache-2.0
"""Spatial sharding. The ranks' result equals that of one rank, and the ranks exchange as many bytes
as the compiler reports."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import time

import hewn
import numpy as np
import pytest
from pictures import Net, network
from split import Build, draw, group_name, hewn_command, launchers, run_by_mpi4py, run_split, split, whole
from test_partition import check, graph_of
from test_plan import run_rank

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")


@pytest.mark.parametrize("seed", range(15))
def test_ranks_give_what_one_gives(seed, tmp_path):
    model, feeds = network(seed)
    partition = f"tensor={2 + seed % 3},lines=100"
    want = whole(model, feeds)
    assert all(np.isfinite(value).all() for value in want.values())
    check(run_split(split(model, partition, tmp_path), feeds, tmp_path), want)


@pytest.mark.parametrize("seed", range(36, 39))
def test_shared_by_lines_and_by_channels(seed, tmp_path):
    """The compiler replicates the constants of some layers on all ranks, and shards other layers by
    channels."""
    model, feeds = network(seed)
    partition = ["tensor=2,lines=30", "tensor=2,pipeline=2,lines=100", "tensor=4,lines=30,sums=ordered"][seed % 3]
    check(run_split(split(model, partition, tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize("items", [4, 5])
def test_a_batch_is_shared_by_its_pictures(items, tmp_path):
    model, feeds = network(1, items)
    check(run_split(split(model, "tensor=4,lines=100", tmp_path), feeds, tmp_path), whole(model, feeds))


def layers(lines=64, many=4, channels=8):
    """Builds convolutions of small integers, whose sums do not depend on the order of addition."""
    b = Net()
    x, inside = b.input("x", [1, 3, lines, 32], b.random.integers(-2, 3, (1, 3, lines, 32)).astype(np.float32)), 3
    for _ in range(many):
        weight = b.constant(b.random.integers(-1, 2, (channels, inside, 3, 3)).astype(np.float32))
        x = b("Relu", b("Conv", x, weight, pads=[2] * 4, dilations=[2, 2]))
        inside = channels
    return b.model(x)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_bits_are_those_of_one_rank(ranks, tmp_path):
    model, feeds = layers()
    got, want = run_split(split(model, f"tensor={ranks},lines=100", tmp_path), feeds, tmp_path), whole(model, feeds)
    for name, value in want.items():
        assert 0 < np.abs(value).max() < 2**24
        np.testing.assert_array_equal(got[name], value)


def planned(folder, partition):
    command = hewn_command("explain", folder / "model.onnx", "--partition", partition, "--json")
    said = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout
    return [one["moved_bytes"] for one in json.loads(said)["variants"]]


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 5, 8])
def test_bytes_moved_are_those_of_the_plan(seed, tmp_path):
    model, feeds = layers() if seed is None else network(seed)
    ranks = 3 if seed is None else 2 + seed % 3
    library = split(model, f"tensor={ranks},lines=100", tmp_path)
    said = planned(tmp_path, f"tensor={ranks},lines=100")
    # three layers exchange halos of two rows above and below each shard; the result is gathered
    if seed is None:
        line, gathered = 4 * 8 * 32, 2 * 22
        assert said == [line * (2 * 3 * neighbours + gathered) for neighbours in (1, 2, 1)]
    spawn = multiprocessing.get_context("spawn")
    answers, group = spawn.Queue(), group_name()
    started = [spawn.Process(target=run_rank, args=(library, group, r, ranks, feeds, answers)) for r in range(ranks)]
    for process in started:
        process.start()
    moved = dict(answers.get(timeout=120) for _ in started)
    for process in started:
        process.join()
    assert [moved[r] for r in range(ranks)] == [[0, bytes, 2 * bytes] for bytes in said]


@pytest.mark.parametrize("launcher", list(launchers()))
@pytest.mark.parametrize("two_sided", ["0", "1"])
@pytest.mark.parametrize("seed, ranks", [(0, 2), (1, 3)])
def test_by_mpi(launcher, two_sided, seed, ranks, tmp_path):
    model, feeds = network(seed)
    library = split(model, f"tensor={ranks},lines=100", tmp_path)
    got = run_split(library, feeds, tmp_path, [*launcher, "-n", str(ranks)], {"HEWN_MPI_TWO_SIDED": two_sided})
    check(got, whole(model, feeds))


@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="there is no mpirun.openmpi")
def test_by_mpi4py(tmp_path):
    pytest.importorskip("mpi4py")
    model, feeds = network(2)
    library = split(model, "tensor=4,lines=100", tmp_path)
    for got in run_by_mpi4py(library, feeds, tmp_path):
        check(got, whole(model, feeds))


def detector(small=16, large=256):
    """Builds layers with small constants over a large image, followed by layers that have nearly
    all of the model's constants."""
    b = Build()
    x, inside = b.input("x", [1, 3, 96, 96], draw(b, 1, 3, 96, 96)), 3
    for outside, stride in ((small, 1), (small, 1), (small, 2), (large, 4), (large, 1), (large, 1)):
        weight = b.weight(outside, inside, 3, 3)
        x = b("Relu", b("Conv", x, weight, b.weight(outside), strides=[stride] * 2, pads=[1] * 4))
        inside = outside
    return b.model(x)


def test_small_constants_stay_whole_where_that_moves_less(tmp_path):
    """By default, the compiler shards large feature maps spatially, and the constants of later
    layers by channels. A rank's weights are at most 2% larger than with channel sharding alone."""
    model, feeds = detector()
    moved, weights = {}, {}
    for partition in ("tensor=2", "tensor=2,lines=0"):
        library = split(model, partition, tmp_path)
        check(run_split(library, feeds, tmp_path), whole(model, feeds))
        moved[partition] = sum(planned(tmp_path, partition))
        told = subprocess.run(
            hewn_command("info", library, "--json"), check=True, capture_output=True, text=True
        ).stdout
        weights[partition] = max(json.loads(told)["models"][0]["weights"]["bytes_by_rank"])
    assert moved["tensor=2"] < moved["tensor=2,lines=0"]
    assert weights["tensor=2"] <= 1.02 * weights["tensor=2,lines=0"]
    assert "graph.send" in graph_of(model, "tensor=2", tmp_path)
    assert "graph.send" not in graph_of(model, "tensor=2,lines=0", tmp_path)


def test_the_cluster_plan_moves_what_programs_do(tmp_path):
    model, _ = layers()
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    machines = (
        "{nodes: 1, devices_per_node: 4, within: {latency: 1.0e-6, bandwidth: 1.0e+11}, "
        "device: {rates: {f32: 1.0e+12}, bandwidth: 1.0e+11}}"
    )
    for ranks in (2, 4):
        partition = f"tensor={ranks},lines=100"
        command = hewn_command(
            "explain", tmp_path / "model.onnx", "--partition", partition, "--cluster", machines, "--json"
        )
        said = subprocess.run(command, capture_output=True, check=True, timeout=300, text=True).stdout
        (way,) = json.loads(said)["partition"]["ways"]
        assert way["moved_bytes"] == pytest.approx(sum(planned(tmp_path, partition)), rel=0.02)


def waiting_rank(library, name, rank, feeds, wait, timeout, says):
    """Runs the model as one rank, after a wait, and reports the outcome."""
    try:
        module = hewn.load(library, communicator=hewn.LocalRanks(name, rank, 3, timeout=timeout))
        says.send("loaded")
        time.sleep(wait)
        module.run(feeds)
        says.send("done")
    except (hewn.RunError, RuntimeError) as error:
        says.send(str(error))


@pytest.mark.parametrize("killed, timeout", [(True, 60), (False, 1.5)])
def test_neighbours_of_a_rank_that_does_not_come_end(killed, timeout, tmp_path):
    """The middle one of three ranks does not run. Both neighbors wait for its halo and end with an
    error."""
    model, feeds = layers()
    library, name = split(model, "tensor=3,lines=100", tmp_path), group_name()
    spawn = multiprocessing.get_context("spawn")
    pipes = [spawn.Pipe(duplex=False) for _ in range(3)]
    waits = [0, 60 if killed else 8, 0]
    ranks = [
        spawn.Process(target=waiting_rank, args=(library, name, r, feeds, waits[r], timeout, pipes[r][1]))
        for r in range(3)
    ]
    for process in ranks:
        process.start()
    for hears, _ in pipes:
        assert hears.poll(60) and hears.recv() == "loaded"
    if killed:
        os.kill(ranks[1].pid, signal.SIGKILL)
    for rank in (0, 2):
        assert pipes[rank][0].poll(20)
        said = pipes[rank][0].recv()
        # A neighbor of the stopped rank may receive the other neighbor's failure before its own
        # timeout.
        assert "rank 1 has exited" in said or "rank 1 did not respond within 1500 ms" in said or "has failed" in said
    for process in ranks:
        process.join(20)
        assert process.exitcode is not None

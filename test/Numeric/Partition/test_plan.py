# SPDX-License-Identifier: Apache-2.0
"""Compares what `hewn explain --cluster` predicts for partitionings with the memory and traffic of
compiled libraries."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import hewn
import numpy as np
import pytest
from split import MODELS, Build, group_name, hewn_command, launchers, split

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "measure"))
from decoder_shapes import decoder
from spent import spent

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")

LINKS = "within: {latency: 1.0e-6, bandwidth: 1.0e+11}, between: {latency: 1.0e-5, bandwidth: 1.0e+10}"
DEVICE = "device: {rates: {f32: 1.0e+12}, bandwidth: 1.0e+11, efficiency: 1%s}"


def cluster(nodes, devices, memory=None, goal="latency"):
    device = DEVICE % (f", memory: {memory}" if memory else "")
    return f"{{nodes: {nodes}, devices_per_node: {devices}, {LINKS}, {device}, goal: {goal}}}"


def explain(model, machines, *flags, partition="auto"):
    command = hewn_command("explain", model, "--partition", partition, "--cluster", machines, "--json", *flags)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["partition"]


def saved(model, folder):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def way(plan, partition):
    (found,) = [one for one in plan["ways"] if one["partition"] == partition]
    return found


def ranks_of(library):
    said = subprocess.run(hewn_command("info", library, "--json"), capture_output=True, text=True, check=True).stdout
    return json.loads(said)["models"][0]


BOTH = "tensor=2,pipeline=2"


# With pipeline stages and tensor parallelism, explain predicts the program after sharding. The
# compiler may assign one of three layers to the other stage.
@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("mlp-fixed", "tensor=2,pipeline=1"),
        ("mlp-fixed", "tensor=1,pipeline=2"),
        ("attention-words", "tensor=2,pipeline=1"),
        *[
            (name, how)
            for name in ("attention", "convolutions")
            for how in ("tensor=2,pipeline=1", "tensor=4,pipeline=1", BOTH)
        ],
    ],
)
def test_weights_are_those_of_the_library(name, partition, tmp_path):
    model, _ = MODELS[name]()
    plan = explain(saved(model, tmp_path), cluster(1, 4))
    expected = ranks_of(split(model, partition, tmp_path))["weights"]["bytes_by_rank"]
    said = [stage["weights_bytes"] for stage in way(plan, partition)["stages"] for _ in range(stage["ranks"])]
    assert said == pytest.approx(expected, rel=0.05, abs=512)


@pytest.mark.parametrize(("latency", "by_rows"), [("1.0e-9", True), ("1.0e-3", False)])
def test_sums_are_by_rows_where_a_message_more_costs_less(latency, by_rows, tmp_path):
    model, _ = MODELS["rows"]()
    source, text = saved(model, tmp_path), tmp_path / "rank.mlir"
    within = f"within: {{latency: {latency}, bandwidth: 1.0e+9}}"
    machines = f"{{devices_per_node: 2, {within}, device: {{rates: {{f32: 1.0e+9}}, bandwidth: 1.0e+9}}}}"
    plan = explain(source, machines)
    assert plan["best"] == "tensor=2,pipeline=1"
    assert (plan["ways"][0]["sums_by"] == "halving") == by_rows
    flags = ("--partition", "auto", "--cluster", machines, "--emit=graph", "-o", text, "--quiet")
    subprocess.run(hewn_command("compile", source, *flags), check=True, timeout=300)
    # The compiled program has the collectives that explain predicts.
    assert ("graph.reduce_scatter" in text.read_text()) == by_rows
    assert ("graph.all_reduce" in text.read_text()) != by_rows


def test_a_matrix_of_one_panel_is_there_once(tmp_path):
    """A matmul and a lookup use a table of 64 columns, which are one panel. The packed weights and
    the table then have the same bytes, and count once."""
    b = Build()
    table = b.weight(4096, 64)
    found = b("Gather", table, b.input("ids", ["n"], np.array([1, 2])))
    y = b("MatMul", b("MatMul", found, b.weight(64, 4096)), table)
    model, _ = b.model(b("Relu", y))
    (stage,) = way(explain(saved(model, tmp_path), cluster(1, 1)), "tensor=1,pipeline=1")["stages"]
    subprocess.run(hewn_command("compile", tmp_path / "model.onnx", "-o", tmp_path / "lib.so"), check=True, timeout=300)
    assert stage["weights_bytes"] == pytest.approx(ranks_of(tmp_path / "lib.so")["weights"]["bytes"], rel=0.01)


def test_sums_take_what_the_formulas_say(tmp_path):
    """The first two matmuls need one all-reduce of 5 x 64 floats. The third matmul is not sharded,
    because its constants are small."""
    plan = explain(saved(MODELS["mlp-fixed"]()[0], tmp_path), cluster(2, 2))
    bytes = 5 * 64 * 4
    pieces = 1e-6 + bytes / 2 / 1e11  # time of the reduce-scatter and the all-gather within a node
    expected = {2: ("recursive doubling", 1e-6 + bytes / 1e11), 4: ("two levels", 2 * pieces + 1e-5 + bytes / 2 / 1e10)}
    for ranks, (name, seconds) in expected.items():
        one = way(plan, f"tensor={ranks},pipeline=1")
        assert one["sums_by"] == name
        assert one["stages"][0]["meeting_milliseconds"] == pytest.approx(1e3 * seconds)
        assert one["moved_bytes"] == pytest.approx(2 * (ranks - 1) * bytes, rel=0.3)


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        *[("mlp-fixed", f"tensor={t},pipeline={p}") for t, p in ((2, 1), (4, 1), (1, 2))],
        *[("convolutions", f"tensor={t},pipeline={p}") for t, p in ((2, 1), (4, 1), (1, 2), (1, 4))],
        *[("codes", f"tensor={t},pipeline={p}") for t, p in ((2, 1), (1, 2))],
    ],
)
def test_moved_is_what_the_programs_say(name, partition, tmp_path):
    """The predicted bytes are those of the values that the compiled programs send between ranks.
    Constants are not included."""
    model, _ = MODELS[name]()
    path = saved(model, tmp_path)
    dims = {dim.dim_param for info in model.graph.input for dim in info.type.tensor_type.shape.dim if dim.dim_param}
    sizes = [word for dim in sorted(dims) for word in ("--dim", f"{dim}=24")]
    one = explain(path, cluster(1, 4), *sizes, partition=partition)["ways"][0]
    command = hewn_command("explain", path, "--partition", partition, "--json", *sizes)
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    moved = sum(variant["moved_bytes"] for variant in json.loads(said)["variants"])
    assert one["moved_bytes"] == pytest.approx(moved, rel=0.02)


def test_stages_that_are_more_than_ops(tmp_path):
    path = saved(MODELS["mlp-fixed"]()[0], tmp_path)
    command = hewn_command("explain", path, "--partition", "pipeline=64", "--cluster", cluster(8, 8))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1 and "has too few ops for 64 stages" in done.stderr


def test_what_fits_is_chosen(tmp_path):
    path = saved(MODELS["attention"](words=1000)[0], tmp_path)
    free = explain(path, cluster(1, 4))
    whole = way(free, "tensor=1,pipeline=1")
    bounded = explain(path, cluster(1, 4, memory=int(0.8 * whole["memory_bytes"])))
    assert way(bounded, "tensor=1,pipeline=1")["problem"]
    best = way(bounded, bounded["best"])
    assert not best["problem"] and best["memory_bytes"] <= 0.8 * whole["memory_bytes"]
    assert bounded["ways"][0] == best
    assert all(one["milliseconds"] >= best["milliseconds"] / 1.03 for one in bounded["ways"] if not one["problem"])


def test_throughput_is_another_goal(tmp_path):
    """With the goal of throughput, explain suggests replicas, which here give more runs per second
    than tensor parallelism."""
    plan = explain(saved(MODELS["mlp-fixed"]()[0], tmp_path), cluster(1, 4, goal="throughput"))
    assert plan["best"] == "tensor=1,pipeline=1" and plan["ways"][0]["replicas"] == 4


def test_compile_takes_what_explain_says(tmp_path):
    path = saved(MODELS["attention"](words=1000)[0], tmp_path)
    machines = tmp_path / "cluster.yaml"
    machines.write_text(cluster(1, 4, memory=400_000))
    plan = explain(path, machines)
    library = tmp_path / "libauto.so"
    command = hewn_command("compile", path, "--partition", "auto", "--cluster", machines, "-o", library)
    subprocess.run(command, check=True, timeout=300)
    made = ranks_of(library)
    best = way(plan, plan["best"])
    assert made["partition"] == plan["best"] != "tensor=1,pipeline=1"
    assert made["ranks"] == best["tensor"] * best["pipeline"]


@pytest.mark.parametrize(("size", "words", "past"), [("7b", 512, 0), ("70b", 1, 2048)])
def test_decoders_without_weights(size, words, past, tmp_path):
    """Planning for thousands of devices takes limited memory. The target of this test stores
    float32 weights."""
    path = saved(decoder(size, words=words, past=past), tmp_path)
    assert path.stat().st_size < 1_000_000
    machines = cluster(512, 8, memory=80_000_000_000)
    command = hewn_command(
        "explain",
        path,
        "--partition",
        "auto",
        "--cluster",
        machines,
        "--json",
        "--dim",
        "batch=1",
        "--target",
        "znver4",
    )
    with (tmp_path / "said.json").open("w") as said:
        used = spent(command, stdout=said)
    assert used.returncode == 0
    plan = json.loads((tmp_path / "said.json").read_text())["partition"]
    assert used.kilobytes < 500_000  # about three times what planning needs
    parameters = {"7b": 6.7e9, "70b": 69e9}[size]
    whole = way(plan, "tensor=1,pipeline=1")
    assert whole["stages"][0]["weights_bytes"] == pytest.approx(4 * parameters, rel=0.02)
    assert bool(whole["problem"]) == (size == "70b")
    assert not plan["ways"][0]["problem"]


def run_rank(library, name, rank, ranks, feeds, answers):
    module = hewn.load(library, communicator=hewn.LocalRanks(name, rank, ranks))
    moved = [module.moved_bytes]
    for _ in range(2):
        module.run(feeds)
        moved.append(module.moved_bytes)
    answers.put((rank, moved))


@pytest.mark.parametrize("launcher", [pytest.param((), id="shared"), *launchers()])
def test_the_command_line_says_what_was_moved(launcher, tmp_path):
    model, feeds = MODELS["mlp-fixed"]()
    library = split(model, "tensor=2", tmp_path)
    given = tmp_path / "given.npz"
    np.savez(given, **feeds)
    explained = hewn_command("explain", tmp_path / "model.onnx", "--partition", "tensor=2", "--json")
    planned = json.loads(subprocess.run(explained, capture_output=True, check=True, timeout=300).stdout)
    command = [*launcher, *(("-n", "2") if launcher else ()), *hewn_command("run", library, "--input", given, "--json")]
    said = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)
    assert said["moved_bytes"] == planned["variants"][0]["moved_bytes"] > 0


@pytest.mark.parametrize("partition", ["tensor=2", "tensor=4", "pipeline=2", "pipeline=4", "tensor=2,pipeline=2"])
@pytest.mark.parametrize("name", ["mlp-fixed", "codes-fixed", "attention", "attention-fused", "convolutions"])
def test_bytes_moved_are_those_of_the_plan(name, partition, tmp_path):
    model, feeds = MODELS[name]()
    library = split(model, partition, tmp_path)
    sizes = {}
    for info in model.graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, feeds[info.name].shape):
            if dim.dim_param:
                sizes[dim.dim_param] = size
    flags = [word for dim, size in sizes.items() for word in ("--dim", f"{dim}={size}")]
    said = subprocess.run(
        hewn_command("explain", tmp_path / "model.onnx", "--partition", partition, "--json", *flags),
        capture_output=True,
        check=True,
        timeout=300,
    ).stdout
    planned = [one["moved_bytes"] for one in json.loads(said)["variants"]]
    spawn = multiprocessing.get_context("spawn")
    answers, group = spawn.Queue(), group_name()
    ranks = [
        spawn.Process(target=run_rank, args=(library, group, r, len(planned), feeds, answers))
        for r in range(len(planned))
    ]
    for process in ranks:
        process.start()
    moved = dict(answers.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join()
    assert sum(planned) > 0
    assert [moved[r] for r in range(len(planned))] == [[0, bytes, 2 * bytes] for bytes in planned]

# SPDX-License-Identifier: Apache-2.0
"""A model that is partitioned over several ranks gives the same result as on one rank."""

import json
import multiprocessing
import os
import shutil
import subprocess

import hewn
import numpy as np
import onnx
import pytest
from split import MODELS, Build, group_name, hewn_command, launchers, run_by_mpi4py, run_split, split, whole

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")


def check(got, want):
    assert set(got) == set(want)
    for name, value in want.items():
        assert got[name].dtype == value.dtype and got[name].shape == value.shape
        np.testing.assert_allclose(got[name], value, rtol=2e-5, atol=2e-5 * np.abs(value).max(initial=0))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("partition", ["tensor=2", "pipeline=2"])
def test_ranks_give_what_one_gives(name, partition, tmp_path):
    model, feeds = MODELS[name]()
    check(run_split(split(model, partition, tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize(
    "name, partition",
    [
        ("attention", "tensor=4"),
        ("attention-words", "tensor=4"),
        ("attention-6", "tensor=3"),
        ("attention", "pipeline=3"),
        ("attention-fused", "tensor=2,pipeline=2"),
        ("convolutions", "tensor=4"),
        ("mlp", "tensor=3,pipeline=2"),
        ("mlp", "pipeline=4"),
        ("rows", "tensor=4"),
        # with this model, the number of ranks does not divide the first dim
        ("rows-of-two", "tensor=4"),
        ("rows-and-wholes", "tensor=2,pipeline=2"),
    ],
)
def test_more_ranks(name, partition, tmp_path):
    model, feeds = MODELS[name]()
    check(run_split(split(model, partition, tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize("partition", ["tensor=2", "pipeline=2", "tensor=2,pipeline=2"])
@pytest.mark.parametrize("rows", [0, 1])
def test_none_and_one(partition, rows, tmp_path):
    """Runs with no rows or one row, where some messages are empty. No rank waits for an empty
    message."""
    model, _ = MODELS["mlp"]()
    feeds = {"x": np.ones((rows, 64), np.float32)}
    check(run_split(split(model, partition, tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize("partition", ["tensor=2", "tensor=3"])
def test_zeros_below_zero_are_looked_up_as_they_are(partition, tmp_path):
    """In a sharded embedding lookup, one rank has the row, and the other ranks add zeros to it. A
    negative zero in the row must stay negative."""
    table = np.random.default_rng(1).standard_normal((4101, 64)).astype(np.float32)
    table[5] = -0.0
    nodes = [
        onnx.helper.make_node("Gather", ["t", "i"], ["found"]),
        onnx.helper.make_node("Transpose", ["t"], ["turned"], perm=[1, 0]),
        onnx.helper.make_node("MatMul", ["x", "turned"], ["y"]),
    ]
    of = onnx.helper.make_tensor_value_info
    inputs = [of("i", onnx.TensorProto.INT64, ["n"]), of("x", onnx.TensorProto.FLOAT, [2, 64])]
    outputs = [of(name, onnx.TensorProto.FLOAT, None) for name in ("found", "y")]
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, [onnx.numpy_helper.from_array(table, "t")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"i": np.array([5, 4100, -1, 0, 5 - 4101]), "x": np.ones((2, 64), np.float32)}
    got, want = run_split(split(model, partition, tmp_path), feeds, tmp_path), whole(model, feeds)
    check(got, want)
    np.testing.assert_array_equal(np.signbit(got["found"]), np.signbit(want["found"]))


@pytest.mark.parametrize("ranks", [2, 4])
def test_rows_of_sums_move_what_wholes_do(ranks, tmp_path):
    """With many rows, a reduce-scatter and an all-gather replace an all-reduce. They transfer as
    many bytes in twice as many collectives. With a small number of rows, the compiler uses an
    all-reduce."""
    met = {}
    for name in ("rows", "rows-too-few"):
        model, feeds = MODELS[name]()
        library = split(model, f"tensor={ranks}", tmp_path)
        command = hewn_command("explain", tmp_path / "model.onnx", "--partition", f"tensor={ranks}", "--json")
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
        (variant,) = json.loads(said)["variants"][:1]
        met[name] = variant["meetings"]
        ran = hewn_command(
            "run", library, "--input", tmp_path / "given.npz", "--output-dir", tmp_path / "out", "--json"
        )
        np.savez(tmp_path / "given.npz", **feeds)
        done = subprocess.run(ran, check=True, capture_output=True, text=True, timeout=120).stdout
        assert json.loads(done)["moved_bytes"] == variant["moved_bytes"]
    assert met["rows"] == 2 * met["rows-too-few"]


@pytest.mark.parametrize("name", ["mlp", "attention", "attention-words", "rows", "convolutions"])
def test_sums_in_an_order(name, tmp_path):
    """With sums=ordered, kernels add the gathered partials in the order of the ranks. The
    shared-memory all-reduce uses the same order, so that the results are bitwise equal."""
    model, feeds = MODELS[name]()
    got = []
    for partition in ("tensor=4", "tensor=4,sums=ordered"):
        got.append(run_split(split(model, partition, tmp_path), feeds, tmp_path))
    check(got[1], whole(model, feeds))
    assert all(np.array_equal(got[0][name], got[1][name]) for name in got[0])


@pytest.mark.parametrize("launcher", list(launchers()))
@pytest.mark.parametrize("two_sided", ["0", "1"])
@pytest.mark.parametrize("partition, ranks", [("tensor=2", 2), ("tensor=2,pipeline=2", 4)])
@pytest.mark.parametrize("name", ["attention", "rows"])
def test_by_mpi(launcher, two_sided, partition, ranks, name, tmp_path):
    model, feeds = MODELS[name]()
    library = split(model, partition, tmp_path)
    got = run_split(library, feeds, tmp_path, [*launcher, "-n", str(ranks)], {"HEWN_MPI_TWO_SIDED": two_sided})
    check(got, whole(model, feeds))


def graph_of(model, partition, folder):
    source = folder / "model.onnx"
    source.write_bytes(model.SerializeToString())
    return subprocess.run(
        hewn_command("compile", source, "--partition", partition, "--emit=graph"),
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout


def test_a_layer_of_a_transformer_takes_two_sums(tmp_path):
    model, _ = MODELS["attention"]()
    text = graph_of(model, "tensor=2", tmp_path)
    # The model's two layers have two all-reduces each, and the embedding has one. The number of
    # collectives is for two ranks.
    assert text.count("graph.all_reduce") == (2 * 2 + 1) * 2
    assert text.count("graph.all_gather") == 2  # the model ends with the logits, which are gathered


@pytest.mark.parametrize(
    "name, ranks, most",
    [
        ("attention", 2, 1.05),
        ("attention-words", 2, 1.05),
        ("attention-words", 4, 1.05),
    ],
)
def test_a_rank_has_its_part_of_the_weights(name, ranks, most, tmp_path):
    """Each rank's weights file contains the rank's shard. The tied embedding table, which a lookup
    and a matmul use, is stored once."""
    model, _ = MODELS[name]()
    library = split(model, f"tensor={ranks}", tmp_path)
    told = json.loads(
        subprocess.run(hewn_command("info", library, "--json"), check=True, capture_output=True, text=True).stdout
    )
    told = told["models"][0]
    assert told["ranks"] == ranks
    alone = sum(np.prod(t.dims) * 4 for t in model.graph.initializer if t.data_type == 1)
    for own in told["weights"]["bytes_by_rank"]:
        assert own <= alone / ranks * most


@pytest.mark.parametrize("reader, most", [("rows", 0.54), ("columns", 0.54), ("scaled", 1.08), ("elements", 1.04)])
def test_no_table_is_there_twice(reader, most, tmp_path):
    """A matmul and another op use a table whose number of rows the ranks do not divide. If the
    other op is not a row lookup, the library stores the table a second time next to the packed one,
    as without ranks. If that op can't be sharded, each rank stores all rows."""
    b = Build()
    table = b.weight(4101, 65)
    x = b.input("x", ["n", 65], b.random.standard_normal((3, 65)).astype(np.float32))
    y = b("MatMul", x, b("Transpose", table, perm=[1, 0]))
    if reader == "scaled":
        z = b("Mul", table, b("ReduceMax", x, keepdims=0))
    elif reader == "elements":
        z = b("GatherElements", table, b.input("ids", ["m", 65], b.random.integers(-4101, 4101, (2, 65))))
    else:
        z = b("Gather", table, b.input("ids", ["m"], np.array([3, 0, -1])), axis=int(reader == "columns"))
    model, feeds = b.model(y, z)
    library = split(model, "tensor=2", tmp_path)
    check(run_split(library, feeds, tmp_path), whole(model, feeds))
    said = subprocess.run(hewn_command("info", library, "--json"), check=True, capture_output=True, text=True).stdout
    assert max(json.loads(said)["models"][0]["weights"]["bytes_by_rank"]) <= 4 * 4101 * 65 * most


def one_rank(library, name, rank, feeds, runs, answers):
    module = hewn.load(library, communicator=hewn.LocalRanks(name, rank, 2, timeout=60))
    for scale in range(1, runs + 1):
        answers.put((rank, scale, module.run({key: value * scale for key, value in feeds.items()})))


def test_from_python(tmp_path):
    model, feeds = MODELS["mlp"]()
    library, name = split(model, "tensor=2", tmp_path), group_name()
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    ranks = [spawn.Process(target=one_rank, args=(library, name, r, feeds, 3, answers)) for r in range(2)]
    for process in ranks:
        process.start()
    got = [answers.get(timeout=60) for _ in range(6)]
    for process in ranks:
        process.join(60)
        assert process.exitcode == 0
    for _, scale, outputs in got:
        check(outputs, whole(model, {key: value * scale for key, value in feeds.items()}))


@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="there is no mpirun.openmpi")
@pytest.mark.parametrize("name", ["attention", "rows"])
def test_by_mpi4py(name, tmp_path):
    pytest.importorskip("mpi4py")
    model, feeds = MODELS[name]()
    library = split(model, "tensor=2,pipeline=2", tmp_path)
    for got in run_by_mpi4py(library, feeds, tmp_path):
        check(got, whole(model, feeds))


class Queues:
    """A user-defined communicator, whose ranks are processes that exchange bytes through queues."""

    def __init__(self, rank, num_ranks, lines):
        self.rank, self.num_ranks, self._lines = rank, num_ranks, lines

    def send(self, to, data):
        self._lines[self.rank, to].put(bytes(data))

    def receive(self, source, data):
        data[:] = self._lines[source, self.rank].get(timeout=60)

    def all_gather(self, first, ranks, mine, all):
        size = len(mine)
        for r in range(first, first + ranks):
            if r != self.rank:
                self.send(r, mine)
        for r in range(first, first + ranks):
            place = all[(r - first) * size : (r - first + 1) * size]
            if r == self.rank:
                place[:] = mine
            else:
                self.receive(r, place)


def queued_rank(library, rank, ranks, lines, feeds, answers):
    module = hewn.load(library, communicator=Queues(rank, ranks, lines))
    answers.put(module.run(feeds))


@pytest.mark.parametrize("partition, ranks", [("tensor=2", 2), ("tensor=2,pipeline=2", 4)])
@pytest.mark.parametrize("name", ["mlp", "rows"])
def test_a_communicator_of_ones_own(name, partition, ranks, tmp_path):
    model, feeds = MODELS[name]()
    library = split(model, partition, tmp_path)
    spawn = multiprocessing.get_context("spawn")
    lines = {(a, b): spawn.Queue() for a in range(ranks) for b in range(ranks) if a != b}
    answers = spawn.Queue()
    started = [spawn.Process(target=queued_rank, args=(library, r, ranks, lines, feeds, answers)) for r in range(ranks)]
    for process in started:
        process.start()
    for _ in started:
        check(answers.get(timeout=60), whole(model, feeds))
    for process in started:
        process.join(60)
        assert process.exitcode == 0

# SPDX-License-Identifier: Apache-2.0
"""If one rank fails, the other ranks end with an error within the timeout."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import shutil
import signal
import subprocess
import time

import hewn
import numpy as np
import pytest
from split import MODELS, group_name, hewn_command, split

pytestmark = pytest.mark.skipif("HEWN_PROCESSOR" in os.environ, reason="ranks are processes of their own, not emulated")
SECONDS = 20


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return split(MODELS["mlp"]()[0], "tensor=2", tmp_path_factory.mktemp("split"))


def rank_main(library, name, rank, rows, runs, timeout, wait, answers):
    """Runs the model as one rank and reports the outcome. Rank 1 waits before its last run, by
    which a test can let rank 0 reach its timeout."""
    try:
        module = hewn.load(library, communicator=hewn.LocalRanks(name, rank, 2, timeout=timeout))
        answers.send((rank, "loaded"))
        for turn in range(runs):
            if rank == 1 and turn == runs - 1:
                time.sleep(wait)
            module.run({"x": np.ones((rows, 64), np.float32)})
        answers.send((rank, "done"))
    except (hewn.RunError, RuntimeError) as error:
        answers.send((rank, str(error)))


class Pair:
    """Starts two ranks, each with its own library and number of rows."""

    def __init__(self, libraries, rows=(3, 3), timeout=10.0, wait=0.0, runs=1):
        spawn = multiprocessing.get_context("spawn")
        name = group_name()
        # Each rank has its own pipe: a process that is killed while it writes to a shared queue
        # would keep the queue's lock.
        pipes = [spawn.Pipe(duplex=False) for _ in range(2)]
        self.answers = [pipe[0] for pipe in pipes]
        self.ranks = [
            spawn.Process(
                target=rank_main,
                args=(libraries[r], name, r, rows[r], runs, timeout, wait, pipes[r][1]),
            )
            for r in range(2)
        ]
        for process, (_, says) in zip(self.ranks, pipes):
            process.start()
            says.close()

    def hear(self):
        """Returns the next message of any rank that is still alive."""
        until = time.monotonic() + 60
        while ready := multiprocessing.connection.wait(self.answers, max(until - time.monotonic(), 0)):
            try:
                return ready[0].recv()
            except EOFError:
                self.answers.remove(ready[0])
        raise TimeoutError("no message from any rank")

    def hear_loaded(self):
        assert sorted((self.hear(), self.hear())) == [(0, "loaded"), (1, "loaded")]

    def end(self):
        for process in self.ranks:
            process.join(SECONDS)
            assert process.exitcode is not None


def test_a_rank_is_killed(library):
    pair = Pair([library, library], wait=60, timeout=60)
    pair.hear_loaded()
    begin = time.monotonic()
    os.kill(pair.ranks[1].pid, signal.SIGKILL)
    rank, said = pair.hear()
    assert rank == 0 and "rank 1 has exited" in said
    assert time.monotonic() - begin < SECONDS
    pair.end()


def test_a_rank_is_slow(library):
    pair = Pair([library, library], wait=8, timeout=1.5)
    pair.hear_loaded()
    said = dict([pair.hear(), pair.hear()])
    assert "rank 1 did not respond within 1500 ms" in said[0]
    assert "rank 1" in said[1]
    pair.end()


def test_a_rank_runs_another_artifact(library, tmp_path):
    other = split(MODELS["mlp-fixed"]()[0], "tensor=2", tmp_path)
    pair = Pair([library, other])
    said = dict([pair.hear(), pair.hear()])
    assert "rank 1 runs another artifact" in said[0] and "rank 0 runs another artifact" in said[1]
    pair.end()


def test_ranks_have_inputs_of_other_shapes(library):
    pair = Pair([library, library], rows=(3, 4))
    # Each rank sends one message to the test after loading the library and one after the failure.
    said = [pair.hear() for _ in range(4)]
    told = [text for _, text in said if text != "loaded"]
    # A rank may receive the other rank's failure before it detects the mismatch itself.
    assert len(told) == 2 and all("shapes?" in text or "has failed" in text for text in told)
    assert any("do their inputs have different shapes" in text for text in told)
    pair.end()


def test_a_split_model_alone(library):
    with pytest.raises(hewn.RunError, match="partitioned over 2 ranks"):
        hewn.load(library)
    with pytest.raises(hewn.RunError, match="partitioned over 2 ranks, but the communicator has 1"):
        hewn.load(library, communicator=hewn.LocalRanks(group_name(), 0, 1))
    with pytest.raises(TypeError, match=r"communicator must be hewn\.LocalRanks.* got int"):
        hewn.load(library, communicator=3)
    with pytest.raises(RuntimeError, match="letters, digits"):
        hewn.LocalRanks("a/b", 0, 1)
    with pytest.raises(RuntimeError, match="not all ranks joined the group"):
        hewn.LocalRanks(group_name(), 0, 2, timeout=0.1)


def on_both(target, library):
    """Starts the two ranks, and returns their four messages."""
    spawn = multiprocessing.get_context("spawn")
    answers, name = spawn.Queue(), group_name()
    ranks = [spawn.Process(target=target, args=(library, name, r, answers)) for r in range(2)]
    for process in ranks:
        process.start()
    said = [answers.get(timeout=60) for _ in range(4)]
    for process in ranks:
        process.join(SECONDS)
        assert process.exitcode == 0
    return said


def two_modules(library, name, rank, answers):
    group = hewn.LocalRanks(name, rank, 2)
    first = hewn.load(library, communicator=group)
    try:
        hewn.load(library, communicator=group)
    except hewn.RunError as error:
        answers.put(str(error))
    first.run({"x": np.ones((3, 64), np.float32)})
    first.close()
    hewn.load(library, communicator=group).run({"x": np.ones((3, 64), np.float32)})
    answers.put("both ran")


def test_a_group_has_one_module_at_a_time(library):
    said = sorted(on_both(two_modules, library))
    assert said[:2] == ["both ran"] * 2 and all("in use by another context" in text for text in said[2:])


def refused_rank(library, name, rank, answers):
    module = hewn.load(library, communicator=hewn.LocalRanks(name, rank, 2, timeout=20))
    for width in (63 if rank else 64, 64):
        try:
            module.run({"x": np.ones((3, width), np.float32)})
            answers.put((rank, "ran"))
        except hewn.RunError as error:
            answers.put((rank, str(error)))


def test_no_run_meets_another_one(library):
    """One rank rejects its input. The other rank must not combine its failed run with the first
    rank's next run."""
    said = on_both(refused_rank, library)
    assert not [text for _, text in said if text == "ran"]
    assert [text for rank, text in said if rank == 1 and "expected" in text]
    assert [text for rank, text in said if rank == 0 and "a run of rank 1 has failed" in text]


def abandoned(name):
    with contextlib.suppress(RuntimeError):
        hewn.LocalRanks(name, 0, 2, timeout=60)


def test_a_name_is_free_again():
    """Rank 0 is killed before the other ranks have joined. Its group name can then be used
    again."""
    spawn = multiprocessing.get_context("spawn")
    name = group_name()
    first = spawn.Process(target=abandoned, args=(name,))
    first.start()
    place = f"/dev/shm/hewn-{name}"
    deadline = time.monotonic() + SECONDS
    while not pathlib.Path(place).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    first.kill()
    first.join()
    with pytest.raises(RuntimeError, match="rank 0 did not join the group in time"):
        hewn.LocalRanks(name, 1, 2, timeout=0.3)
    with pytest.raises(RuntimeError, match="not all ranks joined the group in time"):
        hewn.LocalRanks(name, 0, 2, timeout=0.3)
    assert not pathlib.Path(place).exists()


def test_a_communicator_for_a_model_that_is_not_split(tmp_path):
    hewn.compile(MODELS["mlp"]()[0], output=tmp_path / "one.so").close()
    with pytest.raises(hewn.RunError, match="the model is not partitioned"):
        hewn.load(tmp_path / "one.so", communicator=hewn.LocalRanks(group_name(), 0, 1))


def compile_says(tmp_path, partition, *flags, model="mlp"):
    source = tmp_path / "model.onnx"
    source.write_bytes(MODELS[model]()[0].SerializeToString())
    done = subprocess.run(
        hewn_command("compile", source, "--partition", partition, "-o", tmp_path / "m.so", *flags),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    "partition, why",
    [
        ("tensor", "not a number of ranks"),
        ("tensor=0", "not a number of ranks"),
        ("tensor=x", "not a number of ranks"),
        ("data=2", "expected auto, or a comma-separated list of tensor=N, pipeline=N"),
        ("tensor=2,tensor=2", "'tensor' is given twice"),
        ("tensor=65", "from 1 to 64"),
        ("tensor=16,pipeline=16", "has 256 ranks"),
        ("pipeline=64", "too few ops for 64 stages"),
    ],
)
def test_partitions_that_are_none(partition, why, tmp_path):
    assert why in compile_says(tmp_path, partition)


@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="there is no mpirun.openmpi")
def test_another_number_of_processes(library, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.ones((3, 64), np.float32))
    launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    done = subprocess.run(
        [*launcher, *hewn_command("run", library, "--input", tmp_path / "x.npz")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "MPI started 3 processes: use mpirun -n 2" in done.stderr


@pytest.mark.skipif(not shutil.which("mpirun.openmpi"), reason="there is no mpirun.openmpi")
def test_a_rank_of_mpi_is_killed(library, tmp_path):
    """If a rank is killed, MPI ends the other ranks, and no process keeps waiting."""
    np.savez(tmp_path / "x.npz", x=np.ones((3, 64), np.float32))
    launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    with subprocess.Popen(
        [*launcher, *hewn_command("bench", library, "--input", tmp_path / "x.npz", "--seconds", "60")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        children, deadline = [], time.monotonic() + 30
        while len(children) < 2 and time.monotonic() < deadline:
            time.sleep(0.3)
            told = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(running.pid)], capture_output=True, text=True, check=False
            )
            children = told.stdout.split()
        time.sleep(1.5)
        begin = time.monotonic()
        os.kill(int(children[1]), signal.SIGKILL)
        assert running.wait(SECONDS) != 0
        assert time.monotonic() - begin < SECONDS

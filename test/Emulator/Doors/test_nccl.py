# SPDX-License-Identifier: Apache-2.0
"""Ranks whose devices exchange data by NCCL. The tests use an emulated NCCL between processes
(../Nccl). They check results, captured graphs, and failures of a rank."""

import contextlib
import ctypes
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

import emulated
import hewn
import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Numeric" / "Partition"))
from split import MODELS, group_name, hewn_command, launchers, run_split, whole
from test_partition import check
from test_profile import check as check_profile

FOLDER = pathlib.Path(emulated.DRIVER._name).parent
# makes later loads of the library by its name find this file
NCCL = ctypes.CDLL(str(FOLDER / "libnccl.so.2"), mode=ctypes.RTLD_GLOBAL)
SECONDS = 30


def compiled(name, partition, folder, target="sm_80"):
    """Writes the library and its LLVM IR for the emulator to `folder`. Returns the model and its
    inputs."""
    model, feeds = MODELS[name]()
    source = folder / "model.onnx"
    source.write_bytes(model.SerializeToString())
    for options in (["-o", folder / "model.so"], ["-o", folder / "model.ll", "--emit=llvm"]):
        made = hewn_command("compile", source, "--partition", partition, f"--target={target}", "--quiet", *options)
        subprocess.run(made, check=True, timeout=300)
    return model, feeds


def environment(folder, **more):
    there = {"LD_LIBRARY_PATH": str(FOLDER), "HEWN_EMULATOR_CODE": str(folder / "model.ll")}
    return {**there, "HEWN_EMULATOR_DEVICES": "4", **more}


@pytest.mark.parametrize(
    "name, partition, target",
    [
        ("mlp", "tensor=2", "sm_80"),
        ("mlp", "tensor=4", "sm_80"),
        ("mlp", "pipeline=2", "sm_80"),
        ("mlp", "tensor=2,pipeline=2", "sm_80"),
        ("mlp", "pipeline=2,microbatches=2", "sm_80"),
        ("attention", "tensor=4", "sm_80"),
        ("attention-fused", "tensor=2", "sm_80"),
        ("attention-words", "tensor=2", "sm_90a"),
        ("convolutions", "tensor=2", "sm_80"),
        ("pictures", "tensor=4,lines=100", "sm_80"),
        ("rows", "tensor=2", "sm_80"),
        ("control", "tensor=2", "sm_80"),
        ("recurrent", "pipeline=2", "sm_80"),
    ],
)
def test_ranks_give_what_one_gives(name, partition, target, tmp_path):
    model, feeds = compiled(name, partition, tmp_path, target)
    there, want = environment(tmp_path), whole(model, feeds)
    for transport in ("nccl", "host"):
        got = run_split(tmp_path / "model.so", feeds, tmp_path, environment=there, options=[f"--transport={transport}"])
        check(got, want)


@pytest.mark.parametrize("launcher", list(launchers()))
@pytest.mark.parametrize(
    "name, partition, ranks", [("attention-fused", "tensor=2", 2), ("mlp", "tensor=2,pipeline=2", 4)]
)
def test_ranks_by_mpi(launcher, name, partition, ranks, tmp_path):
    model, feeds = compiled(name, partition, tmp_path)
    launcher = [*launcher, "-n", str(ranks)]
    got = run_split(tmp_path / "model.so", feeds, tmp_path, launcher, environment(tmp_path), ["--transport=nccl"])
    check(got, whole(model, feeds))


@pytest.mark.parametrize("name, partition", [("attention-fused", "tensor=2"), ("mlp", "tensor=2,pipeline=2")])
def test_bytes_and_profiles(name, partition, tmp_path):
    """NCCL transfers as many bytes as the host transport. A profile runs kernels and transfers one
    at a time. With the host transport, the host's clock times a transfer, including the wait for
    other ranks. With NCCL, the device's clock times it, without that wait."""
    compiled(name, partition, tmp_path)
    there = {**os.environ, **environment(tmp_path)}
    np.savez(tmp_path / "given.npz", **MODELS[name]()[1])
    moved, rows = [], []
    for transport in ("host", "nccl"):
        run = hewn_command(
            "run", tmp_path / "model.so", "--input", tmp_path / "given.npz", "--json", f"--transport={transport}"
        )
        run += ["--output-dir", str(tmp_path / "out")]
        done = subprocess.run(run, check=True, timeout=4 * SECONDS, env=there, capture_output=True, text=True)
        moved.append(json.loads(done.stdout)["moved_bytes"])
        profile = [*run[:1], "profile", *run[2:5], "--json", "--seconds=0.1", f"--transport={transport}"]
        done = subprocess.run(profile, check=True, timeout=4 * SECONDS, env=there, capture_output=True, text=True)
        record = json.loads(done.stdout)
        assert record["fastest_run"]["on_device"]
        check_profile(
            record, 4 if "," in partition else 2, waits_are_known=transport == "host", on_device=transport == "nccl"
        )
        assert record["ranks"][0]["moved_bytes"] == moved[-1]
        rows.append(
            [
                sorted(
                    (row["transfer"], row["first_rank"], row["ranks"], row["bytes"], row["times"], row["moved_bytes"])
                    for row in rank["transfers"]
                )
                for rank in record["ranks"]
            ]
        )
    assert moved[0] == moved[1] > 0
    assert rows[0] == rows[1]


# Functions that run ranks in other processes.


def answer(pipe, rank, device, folder, name, action, ranks, wait, loads, more):
    """Runs one rank. Sends the result of `action` on the module, or the error text, to `pipe`. The
    module is loaded `loads` times, and `action` gets the last one."""
    os.environ.update(environment(folder, **more))
    try:
        group = hewn.NcclRanks(hewn.LocalRanks(name, rank, ranks, timeout=wait), timeout=wait)
        for _ in range(loads):
            with hewn.load(folder / "model.so", device=device, communicator=group) as module:
                said = action(module, rank)
            # The module's context, which ends with the `with` block, has released its NCCL
            # communicators.
            assert NCCL.emulator_nccl_comms() == 0
    except (hewn.RunError, RuntimeError) as problem:
        said = str(problem)
    assert NCCL.emulator_nccl_stuck() == 0
    pipe.send(said)
    pipe.close()


def on_ranks(folder, action, ranks=2, wait=20.0, loads=1, devices=(0, 1, 2, 3), **more):
    """Runs `action` on each rank. Returns the results by rank, with None for a rank that died. The
    ranks are forked processes, which inherit the loaded emulator and NCCL. `more` is added to their
    environment."""
    fork, name = multiprocessing.get_context("fork"), group_name()
    processes, pipes = [], []
    for rank in range(ranks):
        ours, theirs = fork.Pipe(duplex=False)
        given = (theirs, rank, devices[rank], folder, name, action, ranks, wait, loads, more)
        process = fork.Process(target=answer, args=given)
        process.start()
        theirs.close()
        processes.append(process)
        pipes.append(ours)
    said = []
    for process, pipe in zip(processes, pipes):
        assert pipe.poll(SECONDS), "a rank hangs"
        try:
            said.append(pipe.recv())
        except EOFError:
            said.append(None)
        process.join(SECONDS)
    for process in processes:
        assert not list(pathlib.Path("/dev/shm").glob(f"hewn-nccl-{process.pid}-*"))
    return said


@pytest.fixture(scope="module")
def mlp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlp")
    compiled("mlp", "tensor=2", folder)
    return folder


def feed(rows=5):
    return {"x": np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float32)}


def run_often(module, rank):
    """Returns the results of runs with new and repeated dims, and the number of driver calls of
    each run."""
    driver, results, counts = emulated.DRIVER, [], []
    for rows in (5, 5, 5, 3, 3):
        before = [getattr(driver, f"emulator_{name}")() for name in ("launches", "graphs", "host_copies")]
        results.append(module.run(feed(rows))["v8_0"])
        after = [getattr(driver, f"emulator_{name}")() for name in ("launches", "graphs", "host_copies")]
        counts.append(tuple(b - a for a, b in zip(before, after)))
    return results, counts, module.moved_bytes


def test_a_run_is_one_recording(mlp):
    """One graph contains the collectives and the kernels around them. Only inputs and outputs are
    copied between host and device."""
    one = hewn.compile(MODELS["mlp"]()[0])
    said = on_ranks(mlp, run_often)
    for results, counts, _ in said:
        for rows, got in zip((5, 5, 5, 3, 3), results):
            np.testing.assert_allclose(got, one.run(feed(rows))["v8_0"], rtol=2e-5, atol=2e-5)
        launches = counts[0][0]
        assert launches > 0
        assert [count[0] for count in counts] == [launches, 0, 0, launches, 0]
        assert [count[1:] for count in counts] == [(1, 2)] * 5
    # The ranks have bitwise equal results, and each replay transfers as many bytes as the captured
    # run.
    assert all(np.array_equal(a, b) for a, b in zip(said[0][0], said[1][0]))
    # The expected number of bytes is that of an all-reduce of n rows of 64 floats, of which each
    # rank sends and receives its share.
    assert sum(moved for _, _, moved in said) == 2 * 64 * 4 * (3 * 5 + 2 * 3)


def test_sums_of_four_have_the_same_bits_on_all(tmp_path):
    compiled("mlp", "tensor=4", tmp_path)
    said = on_ranks(tmp_path, run_often, ranks=4)
    assert all(np.array_equal(a, b) for other in said[1:] for a, b in zip(said[0][0], other[0]))


def test_sums_in_an_order_have_the_same_bits_by_all_transports(tmp_path):
    feeds = compiled("mlp", "tensor=4,sums=ordered", tmp_path)[1]
    got = []
    for transport in ("host", "nccl"):
        options = [f"--transport={transport}"]
        got.append(
            run_split(tmp_path / "model.so", feeds, tmp_path, environment=environment(tmp_path), options=options)
        )
    assert np.array_equal(got[0]["v8_0"], got[1]["v8_0"])


def run_twice(module, rank):
    for _ in range(2):
        module.run(feed())
    return "done"


@pytest.mark.parametrize(
    "how, failing, told",
    [
        ("id", 0, ["NCCL: unhandled system error"] * 2),
        ("init", 1, ["a run of rank 1 has failed", "NCCL: unhandled system error"]),
        ("late-init", 1, ["a run of rank 1 has failed", "NCCL: remote process exited"]),
        ("call", 1, ["a run of rank 1 has failed", "NCCL: internal error"]),
        ("async", 1, ["a run of rank 1 has failed", "NCCL: remote process exited"]),
        ("die", 1, ["rank 1 has exited", None]),
        ("die", 0, [None, "rank 0 has exited"]),
        ("stop", 1, ["within 1500 ms|a run of rank 1 has failed", "within 1500 ms|a run of rank 0 has failed"]),
    ],
)
@pytest.mark.parametrize("name", ["mlp", "control"])
def test_all_ranks_are_told(name, how, failing, told, tmp_path, mlp):
    """One rank fails with an NCCL error, dies, or never makes its call. The other ranks end soon
    after."""
    folder, action = mlp, run_twice
    if name == "control":  # runs of this model are not captured as graphs
        folder = tmp_path
        feeds = compiled("control", "tensor=2", tmp_path)[1]

        def action(module, rank):
            for _ in range(2):
                module.run(feeds)
            return "done"

    begin = time.monotonic()
    wait = 1.5 if how == "stop" else 20.0
    more = {"HEWN_EMULATOR_NCCL": how, "HEWN_EMULATOR_NCCL_RANK": str(failing)}
    said = on_ranks(folder, action, wait=wait, **more)
    for text, expected in zip(said, told):
        assert text is expected if expected is None else any(one in text for one in expected.split("|")), said
    assert time.monotonic() - begin < 15


def test_inputs_of_other_shapes(mlp):
    said = on_ranks(mlp, lambda module, rank: module.run(feed(5 if rank else 3)))
    assert any("ranks 0 and 1 make different calls" in text for text in said)
    assert all("different calls" in text or "has failed" in text for text in said)


def test_each_rank_has_a_device(mlp):
    said = on_ranks(mlp, run_twice, devices=(1, 1))
    assert all("NCCL: invalid usage" in text or "has failed" in text for text in said), said
    assert any("NCCL: invalid usage" in text for text in said)


@pytest.mark.parametrize("recorded, most", [(False, 30), (True, 12)])
def test_calls_of_the_driver_fail(mlp, recorded, most):
    """Each driver call of one rank fails once, in the captured run or in a replay. That rank's run
    returns an error. The other rank's run fails too, unless it already has all the data that it
    needs."""

    def failing(number):
        def run(module, rank):
            if recorded:
                module.run(feed())
            if rank == 1:
                emulated.DRIVER.emulator_fail_at(ctypes.c_uint64(number), 1)
            module.run(feed())
            return "done"

        return run

    failed = 0
    for call in range(1, most):
        first, second = on_ranks(mlp, failing(call))
        # The failure of this allocation causes no error: the runtime does not need the buffer,
        # because without it the driver copies.
        assert second == "done" or "GPU failed" in second, (call, second)
        assert first == "done" or (second != "done" and "rank 1" in first), (call, first)
        failed += second != "done"
    assert failed > most // 2


def test_modules_after_each_other(mlp):
    """Tests that several modules can be loaded one after another with one communicator, even if
    some of them are never run."""
    assert np.array_equal(*on_ranks(mlp, lambda module, rank: module.run(feed())["v8_0"], loads=3))
    assert on_ranks(mlp, lambda module, rank: "done", loads=2) == ["done", "done"]


@contextlib.contextmanager
def setting(**values):
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]


def test_what_can_not_be_made(mlp, tmp_path):
    group = hewn.LocalRanks(group_name(), 0, 1)
    with setting(HEWN_EMULATOR_NCCL="old"), pytest.raises(RuntimeError, match=r"must be NCCL 2\.14 or newer"):
        hewn.NcclRanks(group)
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        hewn.NcclRanks(group, timeout=0)
    with pytest.raises(TypeError, match=r"communicator must be hewn\.LocalRanks"):
        hewn.NcclRanks(3)
    made = hewn.NcclRanks(group)
    assert (made.rank, made.num_ranks) == (0, 1)
    with pytest.raises(RuntimeError, match="the communicator is in use already"):
        hewn.NcclRanks(group)
    del made
    hewn.NcclRanks(group)


def run_by_nccl(library, **there):
    run = hewn_command("run", library, "--transport=nccl", "--output-dir", library.parent / "out")
    return subprocess.run(
        run, env={**os.environ, **there}, timeout=4 * SECONDS, capture_output=True, text=True, check=False
    )


def test_hewn_run_says_what_is_not_there(mlp, tmp_path):
    # This test uses only the driver of the emulator, without the emulated NCCL. The invalid
    # libnccl.so.2 hides an NCCL that is installed on this machine.
    (tmp_path / "libcuda.so.1").symlink_to(FOLDER / "libcuda.so.1")
    (tmp_path / "libnccl.so.2").write_text("no library")
    done = run_by_nccl(mlp / "model.so", LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 1 and "NCCL is not available: cannot load libnccl.so.2" in done.stderr
    for_host = tmp_path / "host.so"
    made = hewn_command("compile", mlp / "model.onnx", "--partition", "tensor=2", "--quiet", "-o", for_host)
    subprocess.run(made, check=True, timeout=300)
    done = run_by_nccl(for_host)
    assert done.returncode == 1 and "--transport=nccl requires a model that is compiled for a GPU" in done.stderr

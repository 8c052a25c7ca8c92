# SPDX-License-Identifier: Apache-2.0
"""The models of test_emulated.py on a real GPU. Skipped if there is none. Run it in a process
without the emulator:

  PYTHONPATH=build/dev/python HEWN_TOOLS=build/dev/bin .venv/bin/python -m pytest test/Emulator/test_device.py

As a script, it runs the models that its arguments name, under NVIDIA's compute-sanitizer."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import hewn
import numpy as np
import pytest
from comparison import compare, feeds_for
from device import TARGET, WHY, WORKER, Worker

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Target"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
from test_chains import attention
from test_ptx import MODELS

ATTENTION = {
    "attention": (2, 3, 70, 70, 64, "add", False),
    "attention-one-row": (1, 2, 1, 300, 64, "row", False),
    "attention-long-lines": (1, 1, 50, 90, 128, "none", False),
    "attention-dynamic": (1, 2, 45, 133, 32, "where", False, True, True),
}
needs_device = pytest.mark.skipif(TARGET is None, reason=f"no GPU: {WHY}")
SANITIZER = shutil.which("compute-sanitizer")
PARTS, BEGINS = 6, "model:"


def given(name):
    """Returns a model by name, and its inputs."""
    if name in ATTENTION:
        return attention(*ATTENTION[name])
    return MODELS[name], feeds_for(hewn.compile(MODELS[name]).inputs)


def check(name):
    """Checks that results agree with the host in the first run, in the run that captures a graph,
    and in a replay of the graph."""
    model, feeds = given(name)
    module, want = hewn.compile(model, target=TARGET), hewn.compile(model).run(feeds)
    for _ in range(3):
        compare(module.run(feeds), want)


@needs_device
@pytest.mark.parametrize("name", [*MODELS, *ATTENTION])
def test_as_on_the_host(name):
    WORKER.call(check, name)


@needs_device
def test_kept_code(tmp_path):
    """The second load gets the driver's translation of the PTX from the cache, and gives equal
    results."""
    model, feeds = given("softmax")
    hewn.compile(model, target=TARGET, output=tmp_path / "model.so")
    first = hewn.load(tmp_path / "model.so", cache_dir=tmp_path / "kept").run(feeds)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".cubin"]
    second = hewn.load(tmp_path / "model.so", cache_dir=tmp_path / "kept").run(feeds)
    for key, value in first.items():
        np.testing.assert_array_equal(second[key], value)


def finish(command, seconds):
    """Runs the command and returns its exit code and output. Kills it with its child processes
    after `seconds`."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    return process.returncode, said


@needs_device
@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed: a CUDA toolkit has it")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck"])
def test_sanitized(tool, part):
    """Runs a part of the models in one process under a compute-sanitizer tool. After a failure,
    another process continues with the next model."""
    left, failed = [*MODELS, *ATTENTION][part::PARTS], []
    while left:
        command = [SANITIZER, "--tool", tool, "--error-exitcode", "9", sys.executable, __file__, *left]
        code, said = finish(command, seconds=600)
        begun = said.count(BEGINS)
        if code == 0 and begun == len(left):
            break
        failed.append(f"{left[max(begun - 1, 0)]}, or one before: exit code {code}\n{said[-4000:]}")
        left = left[max(begun, 1) :]
    assert not failed, "\n".join(failed)


def test_what_fails_takes_nothing_with_it():
    """A worker process that hangs, dies or fails is replaced."""
    worker = Worker()
    for function, arguments, problem in (
        (time.sleep, (60,), TimeoutError),
        (os._exit, (3,), ChildProcessError),
        (int, ("x",), ValueError),
    ):
        with pytest.raises(problem):
            worker.call(function, *arguments, seconds=3)
        assert worker.call(len, "four") == 4
    worker.end()


def test_benchmark_says_why_not():
    """Without a GPU, the benchmark prints the reason and exits with 0."""
    script = pathlib.Path(__file__).parents[2] / "tools" / "benchmark_gpu.py"
    if TARGET is not None:
        pytest.skip("there is a GPU: run tools/benchmark_gpu.py for figures")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0 and "no GPU" in done.stdout, done.stdout + done.stderr


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(BEGINS, name, flush=True)
        model, feeds = given(name)
        hewn.compile(model, target=TARGET).run(feeds)

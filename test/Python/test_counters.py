# SPDX-License-Identifier: Apache-2.0
"""Tests `hewn profile` with and without hardware counters. A preloaded library replaces
perf_event_open."""

import errno
import json
import os
import pathlib
import re
import subprocess

import models
import onnx
import pytest

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counters")
    source = pathlib.Path(__file__).with_name("counters.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "counters.so", source, "-ldl"], check=True)
    onnx.save(models.deep(4), folder / "deep.onnx")
    subprocess.run([TOOL, "compile", "--quiet", folder / "deep.onnx", "-o", folder / "libdeep.so"], check=True)

    def made(how, *flags):
        command = [TOOL, "profile", folder / "libdeep.so", "--seconds", "0.01", *flags]
        there = os.environ | {"LD_PRELOAD": str(folder / "counters.so"), "COUNTERS": str(how)}
        return subprocess.run(command, env=there, capture_output=True, text=True, check=True).stdout

    return made


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.ENOENT, "the processor provides none to this system, as in most virtual machines"),
        (errno.EOPNOTSUPP, "the processor provides none to this system, as in most virtual machines"),
        (errno.ENOSYS, "this system has no perf_event_open, as in some containers"),
        (errno.EMFILE, "perf_event_open failed: Too many open files"),
    ],
)
def test_a_refusal_is_a_line(profile, error, why):
    (line,) = [line for line in profile(error).splitlines() if "counters" in line]
    assert line == f"no hardware counters: {why}"
    told = json.loads(profile(error, "--json"))
    assert told["counters_unavailable"] == why and told["counted_runs"] == 0
    assert all(kernel["counters"] is None for kernel in told["fastest_run"]["kernels"])


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM])
def test_what_is_not_allowed_says_what_would_do(profile, error):
    """The message about missing counters names kernel.perf_event_paranoid if that setting is the
    cause."""
    level = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    setting = f"this system does not allow them: kernel.perf_event_paranoid is {level}, the maximum is 2"
    why = setting if level > 2 else "perf_event_open is not allowed, as in most containers"
    assert f"no hardware counters: {why}\n" in profile(error)


def test_counters_that_take_turns_are_scaled(profile):
    """The count of a multiplexed counter that ran half of the time is doubled. Counters are read
    before and after each launch."""
    told = json.loads(profile("shared", "--json"))
    assert told["counters_unavailable"] is None and told["counted_runs"] >= 3
    for kernel in told["fastest_run"]["kernels"]:
        launches = kernel["launches"]
        assert kernel["counters"] == {
            "cycles": 2000 * launches,
            "instructions": 6000 * launches,
            "cache_misses": 14 * launches,
        }
    text = profile("shared")
    assert "no hardware counters" not in text
    assert re.search(r"^ +\d+\.\d{4} +\d+\.\d% +\d+ +3\.00 +\d+ +\S+$", text, re.MULTILINE), text


@pytest.mark.parametrize("threads", [1, 2])
def test_the_kernel_counts(profile, threads):
    """Reads real counters of events that every Linux system has: CPU time in nanoseconds (twice)
    and page faults."""
    text = profile("software")
    if "no hardware counters" in text:
        pytest.skip(text[text.index("no hardware counters") :].splitlines()[0])
    told = json.loads(profile("software", "--json", f"--threads={threads}"))
    counters = [kernel["counters"] for kernel in told["fastest_run"]["kernels"]]
    cycles, instructions = (sum(counter[key] for counter in counters) for key in ("cycles", "instructions"))
    assert 0 < cycles < 1e9 and 0 < instructions < 1e9
    assert all(counter["cache_misses"] >= 0 for counter in counters)

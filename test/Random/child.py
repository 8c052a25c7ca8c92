# SPDX-License-Identifier: Apache-2.0
"""Runs functions in a child process with limits, so that the caller gets a crash or a hang as a
result."""

import dataclasses
import faulthandler
import os
import pathlib
import pickle
import resource
import select
import signal
import tempfile
import time


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of the address space and processor time of a child process. Its limit of wall-clock
    time is larger than that of processor time, because other processes may share the processor."""

    gigabytes: int = 8
    seconds: int = 60
    wall_seconds: int = 300


def limited(limits):
    faulthandler.disable()  # the parent reports crashes
    # The memory limit of the child process is added to the memory that it inherits from the parent,
    # most of which the child does not use.
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    memory = (limits.gigabytes << 30) + pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))


def answer(work, pipe, errors, limits):
    limited(limits)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    try:
        result = ("ok", work())
    except MemoryError:
        result = ("crash", "MemoryError")
    except Exception as problem:
        result = ("raised", (type(problem).__name__, str(problem)))
    with os.fdopen(pipe, "wb") as file:
        pickle.dump(result, file)


def forked(work, limits=Limits()):
    """Returns ('ok', result), ('raised', (class, text)), ('crash', last line of output) or ('hang',
    '')."""
    read, write = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                answer(work, write, errors.fileno(), limits)
            finally:
                os._exit(0)
        os.close(write)
        data, end = received(read, child, limits.wall_seconds)
        status = os.waitpid(child, 0)[1]
        if end == "hang" or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
            return "hang", ""
        try:
            return pickle.loads(data)
        except Exception:  # the child ended before it had written all data
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            name = (
                signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            )
            telling = [line for line in said if "ERROR" in line or "Assert" in line or "terminate" in line]
            return "crash", f"{name} {(telling or said or [''])[0][:300]}"


def received(read, child, wall_seconds):
    # The received data is a bytearray, because appending to a bytes object would copy all of it.
    data, last = bytearray(), time.monotonic() + wall_seconds
    while True:
        if not select.select([read], [], [], max(0, last - time.monotonic()))[0]:
            os.kill(child, signal.SIGKILL)
            os.close(read)
            return data, "hang"
        chunk = os.read(read, 1 << 20)
        if not chunk:
            os.close(read)
            return data, ""
        data += chunk

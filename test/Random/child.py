# SPDX-License-Identifier: Apache-2.0
"""Work in a process of its own, with limits: a crash or a hang is an answer like another."""

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
    """Of address space and processor time; the wall clock has room for machines that are shared."""

    gigabytes: int = 8
    seconds: int = 60
    wall_seconds: int = 300


def limited(limits):
    faulthandler.disable()  # a crash is told by the parent
    # Beside what it has from its parent, of which it uses little.
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
    """('ok', what work gave), ('raised', (class, text)), ('crash', what it said last) or ('hang', '')."""
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
        except Exception:  # it ended in the midst of it, or before
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines()
            name = (
                signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            )
            telling = [line for line in said if "ERROR" in line or "Assert" in line or "terminate" in line]
            return "crash", f"{name} {(telling or said or [''])[0][:300]}"


def received(read, child, wall_seconds):
    data, last = bytearray(), time.monotonic() + wall_seconds  # appending to bytes copies all of them
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

# SPDX-License-Identifier: Apache-2.0
"""What a command of its own took: processor time and the most memory that it had at once.

The kernel counts a process's most memory from its start, and a started command is a copy of who starts it until it becomes itself
(execve(2); getrusage(2), ru_maxrss): beside a large parent the figure is the parent's. So a small interpreter stands between.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple


class Spent(NamedTuple):
    returncode: int  # as subprocess has it: negative where a signal ended the command
    seconds: float  # of processors, in the program and in the kernel for it
    kilobytes: int  # of memory in use, at most (some 10,000 are counted for the smallest program: the interpreter's)


def spent(command, timeout=None, **how) -> Spent:
    """Runs the command to its end; `how` goes to subprocess.Popen. Raises RuntimeError where it could not be started, and
    subprocess.TimeoutExpired after `timeout` seconds: neither the command nor what it has started goes on then."""
    with tempfile.NamedTemporaryFile() as said:
        between = [sys.executable, "-I", "-S", __file__, said.name]
        # A group of processes of its own, since a signal to the interpreter between would not reach the command.
        with subprocess.Popen([*between, *map(str, command)], process_group=0, **how) as process:
            try:
                process.wait(timeout)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        text = said.read()
    if not text:
        raise RuntimeError(f"{command[0]} did not run to its end")
    return Spent(*json.loads(text))


def main(said, *command):
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    with open(said, "w") as file:
        json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss], file)


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Measures the processor time and the peak memory of a command.

The kernel counts the peak memory of a process from its creation, and before execve a new process is
a copy of its parent (execve(2); getrusage(2), ru_maxrss). If the parent is large, the peak of a
command would be that of the parent. Therefore, this module starts a small Python interpreter, which
then starts the command.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """Resources that a command used."""

    returncode: int  # as in subprocess: negative if a signal ended the command
    seconds: float  # user and system processor time
    kilobytes: int  # peak memory; at least about 10,000, the peak of the interpreter


def spent(command: Sequence[str | os.PathLike[str]], timeout: float | None = None, **how: Any) -> Spent:
    """Runs a command to its end.

    `how` are arguments of subprocess.Popen. Raises RuntimeError if the command could not be
    started. After `timeout` seconds, kills the command and its children and raises
    subprocess.TimeoutExpired.
    """
    with tempfile.NamedTemporaryFile() as said:
        between = [sys.executable, "-I", "-S", __file__, said.name]
        # A separate process group, because a signal to the interpreter alone would not reach the
        # command.
        with subprocess.Popen([*between, *map(str, command)], process_group=0, **how) as process:
            try:
                process.wait(timeout)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        text = said.read()
    if not text:
        raise RuntimeError(f"{command[0]} did not complete")
    return Spent(*json.loads(text))


def main(said: str, *command: str) -> None:
    """Runs a command and writes its resources to the file `said`."""
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    with pathlib.Path(said).open("w") as file:
        json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss], file)


if __name__ == "__main__":
    main(*sys.argv[1:])

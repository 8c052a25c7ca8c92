# SPDX-License-Identifier: Apache-2.0
"""The `hewn` program that belongs to this package: where it is, and running it for a result."""

from __future__ import annotations

import json
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

FOLDER = pathlib.Path(__file__).parents[1]  # the package

#: Exit statuses of the program (docs/reference/json.md).
_USAGE, _DIFFERS, _INTERRUPTED = 2, 3, 130
#: Time in seconds in which an interrupted program writes its result and ends.
_GRACE = 60


def prefix() -> pathlib.Path:
    """Returns the folder with bin/hewn.

    Its position relative to this package depends on the layout:
    a wheel, a build folder, or an install prefix (with the package in
    lib/pythonX.Y/"site-packages"/hewn). Raises FileNotFoundError if no layout has the program.
    """
    for folder in (FOLDER, FOLDER.parents[1], FOLDER.parents[3]):
        if (folder / "bin" / "hewn").exists():
            return folder
    raise FileNotFoundError(f"hewn: program not found for the package in {FOLDER}")


class ToolError(Exception):
    """`tune`, `check`, `reduce` or `profile` failed.

    The model cannot be compiled or run, or a file cannot be read or written. `messages` lists the
    errors.
    """

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = list(messages)
        super().__init__("\n".join(self.messages))

    def __reduce__(self) -> tuple[type[ToolError], tuple[list[str]]]:
        """Returns what pickle restores the error from."""
        return ToolError, (self.messages,)


def run(
    command: str, arguments: Sequence[str], translate: Callable[[str], str], progress: Callable[[str], object] | None
) -> dict[str, Any]:
    """Runs `hewn COMMAND ARGUMENTS... --json` and returns its JSON object.

    The program is a separate process, since the commands fork: a fork of a process with threads,
    such as Python's, may deadlock. `translate` replaces flags in messages by the names of Python
    arguments. `progress` is called with each line of the standard error that is neither an error nor
    a warning. Warnings are issued as Python warnings.

    Raises ValueError if the command line is wrong, and ToolError if the command fails. Ctrl-C, or
    an exception of `progress`, interrupts the program once, waits for it, and is raised again.
    """
    import signal  # imported here because loading a library needs none of them
    import subprocess
    import tempfile

    line: list[str | pathlib.Path] = [prefix() / "bin" / "hewn", command, *arguments, "--json"]
    told: list[str] = []
    with tempfile.TemporaryFile() as output:
        # A process group of its own: the terminal's Ctrl-C reaches only Python, which forwards it.
        with subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
            process_group=0,
        ) as process:
            try:
                assert process.stderr is not None
                for text in process.stderr:
                    _hear(translate(text.rstrip("\n")), told, progress)
                process.wait()
            except BaseException:
                process.send_signal(signal.SIGINT)
                try:
                    process.communicate(timeout=_GRACE)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise
        output.seek(0)
        record = output.read()
    return _result(command, process.returncode, record, told)


def _hear(text: str, told: list[str], progress: Callable[[str], object] | None) -> None:
    """Handles a line of the standard error.

    Collects errors, issues warnings, and passes other lines to `progress`. A line after an error
    belongs to the error.
    """
    if text.startswith("warning: "):
        warnings.warn(text.removeprefix("warning: "), stacklevel=5)
    elif text.startswith("error: "):
        told.append(text.removeprefix("error: "))
    elif text and told:
        told[-1] += "\n" + text
    elif text and progress:
        progress(text)


def _result(command: str, status: int, record: bytes, told: list[str]) -> dict[str, Any]:
    """Returns the JSON object of a program that ended with `status`, or raises its error."""
    if status == _USAGE:
        raise ValueError("\n".join(told) or f"hewn {command}: the arguments are wrong")
    if status == _INTERRUPTED:
        raise KeyboardInterrupt
    result: dict[str, Any] | None = json.loads(record) if record else None
    # A check that its time limit ended has status 1, and a result.
    if result is not None and (status in (0, _DIFFERS) or result.get("ended") == "time limit"):
        return result
    if status < 0:
        told.append(f"hewn {command} was ended by signal {-status}")
    raise ToolError(told or [f"hewn {command} ended with status {status} and no message"])

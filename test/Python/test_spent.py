# SPDX-License-Identifier: Apache-2.0
"""Tests that spent() returns the processor time and memory of a command, and that it ends a command
that exceeds its time limit."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "measure"))
from spent import spent


def test_a_command_that_ends():
    assert spent(["sh", "-c", "exit 3"]).returncode == 3
    assert spent(["sh", "-c", "kill -9 $$"]).returncode == -9
    used = spent([sys.executable, "-c", "x = b'x' * 200_000_000"])
    assert used.returncode == 0 and used.seconds > 0 and used.kilobytes > 150_000


def test_a_command_that_is_not_there():
    with pytest.raises(RuntimeError, match="no-such-command did not complete"):
        spent(["no-such-command"], stderr=subprocess.DEVNULL)


def test_nothing_goes_on_after_the_timeout():
    """No process of the command survives the timeout. One that did would keep the write end of the
    pipe open."""
    said = b""
    for timeout in (1, 10, 60):  # a process starts slowly on a busy computer
        read, write = os.pipe()
        with pytest.raises(subprocess.TimeoutExpired):
            spent(["sh", "-c", "sleep 600 & echo begun; wait"], timeout=timeout, stdout=write)
        os.close(write)
        if said := os.read(read, 100):
            break
        os.close(read)
    assert said == b"begun\n"
    assert select.select([read], [], [], 60)[0], "something still holds it"
    assert os.read(read, 100) == b""
    os.close(read)

# SPDX-License-Identifier: Apache-2.0
"""The commands of an installed package: the programs that lie in it. Not in `hewn`, so that a command imports no NumPy."""

import importlib.util
import os
import pathlib
import sys


def _start(tool: str) -> None:
    spec = importlib.util.find_spec("hewn")
    program = pathlib.Path(spec.origin).parent / "bin" / tool if spec and spec.origin else None
    if not program or not program.exists():
        sys.exit(f"{tool}: this Python's package hewn has no program of that name: it was not installed from a wheel")
    os.execv(program, [tool, *sys.argv[1:]])


def hewn() -> None:
    """`hewn ...`."""
    _start("hewn")


def hewn_opt() -> None:
    """`hewn-opt ...`."""
    _start("hewn-opt")

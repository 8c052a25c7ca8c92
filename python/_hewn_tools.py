# SPDX-License-Identifier: Apache-2.0
"""Entry points of an installed package, which start its programs.

Not in `hewn`, so that a command does not import NumPy.
"""

import importlib.util
import os
import pathlib
import sys


def _start(tool: str) -> None:
    spec = importlib.util.find_spec("hewn")
    program = pathlib.Path(spec.origin).parent / "bin" / tool if spec and spec.origin else None
    if not program or not program.exists():
        sys.exit(f"{tool}: program not found in the package hewn: it was not installed from a wheel")
    os.execv(program, [tool, *sys.argv[1:]])


def hewn() -> None:
    """Runs `hewn`, or the demonstration, which is a part of the Python package."""
    if sys.argv[1:2] == ["demo"]:
        from hewn import demo

        sys.exit(demo.main(sys.argv[2:]))
    _start("hewn")


def hewn_opt() -> None:
    """Runs `hewn-opt`."""
    _start("hewn-opt")

# SPDX-License-Identifier: Apache-2.0
"""Runs the command `hewn` as `python -m hewn ...`.

`python -m hewn demo` runs a demonstration; `python -m hewn --cmake-dir` prints the folder of the
CMake package (`--cmake`: its older name).
"""

import os
import sys

from hewn.commands.program import prefix


def main() -> None:
    """Runs the command."""
    if sys.argv[1:2] == ["demo"]:
        from hewn import demo

        sys.exit(demo.main(sys.argv[2:]))
    try:
        folder = prefix()
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    if sys.argv[1:] in (["--cmake-dir"], ["--cmake"]):
        print(folder / "lib" / "cmake" / "hewn")
        return
    os.execv(folder / "bin" / "hewn", ["hewn", *sys.argv[1:]])


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Runs the command `hewn` as `python -m hewn ...`.

`python -m hewn demo` runs a demonstration; `python -m hewn --cmake-dir` prints the folder of the
CMake package (`--cmake`: its older name).
"""

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent


def prefix() -> pathlib.Path:
    """Returns the folder with bin/hewn.

    Its position relative to this package depends on the layout: a wheel, a build folder, or an
    install prefix (with the package in lib/pythonX.Y/"site-packages"/hewn).
    """
    for folder in (FOLDER, FOLDER.parents[1], FOLDER.parents[3]):
        if (folder / "bin" / "hewn").exists():
            return folder
    sys.exit(f"hewn: program not found for the package in {FOLDER}")


def main() -> None:
    """Runs the command."""
    if sys.argv[1:] in (["--cmake-dir"], ["--cmake"]):
        print(prefix() / "lib" / "cmake" / "hewn")
        return
    if sys.argv[1:2] == ["demo"]:
        from hewn import demo

        sys.exit(demo.main(sys.argv[2:]))
    os.execv(prefix() / "bin" / "hewn", ["hewn", *sys.argv[1:]])


if __name__ == "__main__":
    main()

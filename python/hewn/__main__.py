# SPDX-License-Identifier: Apache-2.0
"""`python -m hewn ...` runs the command `hewn`; `python -m hewn demo` runs a demonstration;
`python -m hewn --cmake` prints the folder of the CMake package."""

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent


def main() -> None:
    if sys.argv[1:] == ["--cmake"]:
        print(FOLDER / "lib" / "cmake" / "hewn")
        return
    if sys.argv[1:2] == ["demo"]:
        from hewn import demo

        sys.exit(demo.main(sys.argv[2:]))
    # The program is in a folder relative to this package that depends on the layout: a wheel, a
    # build folder, or an install prefix (with the package in lib/pythonX.Y/"site-packages"/hewn).
    for prefix in (FOLDER, FOLDER.parents[1], FOLDER.parents[3]):
        if (program := prefix / "bin" / "hewn").exists():
            os.execv(program, ["hewn", *sys.argv[1:]])
    sys.exit(f"hewn: program not found for the package in {FOLDER}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""`python -m hewn ...` is the command `hewn`; `python -m hewn --cmake` tells the folder that CMake's find_package(hewn) looks for."""

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent


def main() -> None:
    if sys.argv[1:] == ["--cmake"]:
        print(FOLDER / "lib" / "cmake" / "hewn")
        return
    # In a wheel, in a build folder, below a prefix (lib/pythonX.Y/site-packages/hewn).
    for prefix in (FOLDER, FOLDER.parents[1], FOLDER.parents[3]):
        if (program := prefix / "bin" / "hewn").exists():
            os.execv(program, ["hewn", *sys.argv[1:]])
    sys.exit(f"hewn: there is no program of that name beside the package in {FOLDER}")


if __name__ == "__main__":
    main()

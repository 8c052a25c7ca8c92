# SPDX-License-Identifier: Apache-2.0
"""`python -m hewn ...` is the command `hewn`; `python -m hewn --cmake` tells the folder that CMake's find_package(hewn) looks for."""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent

if __name__ == "__main__":
    if sys.argv[1:] == ["--cmake"]:
        print(FOLDER / "lib" / "cmake" / "hewn")
    else:
        from _hewn_tools import hewn

        hewn()

# SPDX-License-Identifier: Apache-2.0
"""Runs a program with hewn as `onnxruntime`.

python -m hewn.compat.onnxruntime PROGRAM.py ...
python -m hewn.compat.onnxruntime -m MODULE ...
"""

import pathlib
import runpy
import sys

from . import install


def main() -> None:
    """Runs the program or module that the command line names."""
    if sys.argv[1:] in ([], ["-h"], ["--help"], ["-m"]):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] and sys.argv[1] != "-m" else 2)
    install()
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        del sys.argv[0]
        if not sys.flags.safe_path:  # the program's folder, like Python sets it
            sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

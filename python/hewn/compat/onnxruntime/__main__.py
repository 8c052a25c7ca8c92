# SPDX-License-Identifier: Apache-2.0
"""python -m hewn.compat.onnxruntime PROGRAM.py ... (or -m MODULE ...): runs a program with hewn as
`onnxruntime`."""

import os
import runpy
import sys

from . import install


def main() -> None:
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
            sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

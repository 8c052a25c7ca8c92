# SPDX-License-Identifier: Apache-2.0
"""Imports the extension, and says for which Python it was built if it is for another one."""

import pathlib
import platform
import re
import sys

try:
    from . import _hewn
except ImportError as problem:
    found = sorted(path.name for path in pathlib.Path(__file__).parent.glob("_hewn.*.so"))
    if not found:
        raise ImportError("the package hewn has no extension (_hewn.*.so): install it again") from problem
    here = sys.version_info[:2]
    built_for = [(int(m[1]), int(m[2])) for name in found if (m := re.match(r"_hewn\.cpython-(\d)(\d+)-", name))]
    fits = here in built_for or ("_hewn.abi3.so" in found and here >= (3, 12))
    if platform.python_implementation() == "CPython" and fits:
        raise  # the extension is for this Python, and something else is missing
    versions = [f"{major}.{minor}" for major, minor in built_for] + ["3.12 and newer"] * ("_hewn.abi3.so" in found)
    raise ImportError(
        f"this hewn was built for CPython {', '.join(versions)}, and this is {platform.python_implementation()} "
        f"{here[0]}.{here[1]}: install hewn with the pip of this Python"
    ) from problem

version = _hewn.version()

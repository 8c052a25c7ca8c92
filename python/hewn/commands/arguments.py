# SPDX-License-Identifier: Apache-2.0
"""Arguments of `hewn.compile` as the extension expects them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any


def temporary_folder() -> str:
    """Creates a temporary folder and returns its path."""
    import tempfile  # imported here because loading a library does not need it

    return tempfile.mkdtemp(prefix="hewn-")


def paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> list[str]:
    """Returns one or several paths, or None, as a list of text."""
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return [os.fsdecode(path) for path in given or []]


def bindings(dims: Mapping[str, int | tuple[int, int] | str] | None) -> list[str]:
    """Returns the argument `dims` as the compiler's options, such as "batch=1" and "seq=1..512"."""
    if dims is not None and not isinstance(dims, Mapping):
        raise TypeError(f"dims must be given by name, as in dims={{'batch': 1}}, got {type(dims).__name__}")
    return [
        f"{name}={value[0]}..{value[1]}" if isinstance(value, tuple) else f"{name}={value}"
        for name, value in (dims or {}).items()
    ]


def bound(name: str, value: float | None, most: float) -> float:
    """Returns an optional bound, or 0 if it is None; raises ValueError unless it is in (0, `most`]."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value <= most):
        raise ValueError(f"{name} must be a number above 0 and up to {most:g}")
    return float(value or 0.0)


def quantization(quantize: str | os.PathLike[str] | Mapping[str, Any] | None) -> str:
    """Returns the argument `quantize` as text for the compiler.

    The argument is the name of a scheme, the path of a file, or a dict, which becomes JSON.
    """
    if quantize is None:
        return ""
    if isinstance(quantize, Mapping):
        try:
            return json.dumps(dict(quantize), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"quantize cannot be represented in JSON: {error}") from error
    if not isinstance(quantize, (str, bytes, os.PathLike)):
        raise TypeError(f"quantize must be a scheme such as 'int8', a file or a dict, got {type(quantize).__name__}")
    if not os.fsdecode(quantize):
        raise ValueError("quantize must be a scheme such as 'int8', a file or a dict, got an empty string")
    return os.fsdecode(quantize)


# Flags of `hewn compile` in messages of the compiler, and the arguments in Python.
_IN_PYTHON = (
    (
        r"'(.*)=(.*?)' is not a valid --dim: .*",
        r"dims={'\1': '\2'} is not valid: expected a size, a pair (low, high), or text such as '1..512' or "
        r"'1,128,1..512', whose sizes before the range get specialized code",
    ),
    (r"--dim-names=strict", "dim_names='strict'"),
    (r"--dim\b", "dims"),
    (r"--limit (\w+)=NUMBER", r"limits={'\1': NUMBER}"),
    (r"--limit\b", "limits"),
)


def in_python(message: str) -> str:
    """Returns a message of the compiler that names arguments of `compile` instead of flags."""
    for flag, argument in _IN_PYTHON:
        message = re.sub(flag, argument, message)
    return message

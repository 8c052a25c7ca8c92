# SPDX-License-Identifier: Apache-2.0
"""Finds the library of a served model.

ONNX models are compiled once into a cache that workers and later starts share; libraries are used
directly.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

import hewn
from hewn.libraries import own_folder

LIBRARY, MODEL = "model.so", "model.onnx"
# Options of hewn.compile that `compile` in model-settings.json accepts.
COMPILE_OPTIONS = ("target", "precision", "dims", "quantize", "limits", "optimize")


def default_cache() -> pathlib.Path:
    """Returns the folder for compiled models.

    It is in the user's cache: the libraries are executed, so other users must not be able to write
    there.
    """
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hewn" / "serving"


def compile_options(given: Mapping[str, object]) -> dict[str, Any]:
    """Converts options from JSON to arguments of hewn.compile.

    Raises ValueError for unknown options.
    """
    if unknown := sorted(given.keys() - set(COMPILE_OPTIONS)):
        raise ValueError(f"unknown compile options: {', '.join(unknown)}; expected {', '.join(COMPILE_OPTIONS)}")
    options = dict(given)
    dims = options.get("dims")
    # A (low, high) range of a dim is a list in JSON and a tuple for hewn.compile.
    if isinstance(dims, Mapping):
        options["dims"] = {name: tuple(value) if isinstance(value, list) else value for name, value in dims.items()}
    return options


def compiled(model: str | os.PathLike[str], cache: pathlib.Path, options: Mapping[str, object]) -> pathlib.Path:
    """Compiles an ONNX model and returns the path of the library.

    The library is stored in `cache` under its digest, so that all processes that serve it map the
    same file. With hewn's own cache in `cache/compiler`, compiling the same model again with the
    same options only copies the result.

    Raises hewn.CompileError, and PermissionError if other users can write to `cache`.
    """
    own_folder(cache)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=cache))
    try:
        library = fresh / LIBRARY
        hewn.compile(os.fspath(model), output=library, cache_dir=cache / "compiler", **compile_options(options)).close()
        # The library contains the digest of its weights, so its digest identifies both.
        kept = cache / hashlib.sha256(library.read_bytes()).hexdigest()
        try:
            fresh.rename(kept)
        except OSError:  # another process has stored the library first
            if not (kept / LIBRARY).is_file():
                raise
        return kept / LIBRARY
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def library_of(path: str | os.PathLike[str], cache: pathlib.Path | None, options: Mapping[str, object]) -> pathlib.Path:
    """Returns the library at `path`, or compiles the model at `path`.

    In a folder, uses model.so, otherwise model.onnx. Raises FileNotFoundError if neither exists.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        found = [path / name for name in (LIBRARY, MODEL) if (path / name).is_file()]
        if not found:
            raise FileNotFoundError(f"'{path}' has neither {LIBRARY} nor {MODEL}")
        path = found[0]
    if not path.is_file():
        raise FileNotFoundError(f"there is no '{path}'")
    if path.suffix not in (".onnx", ".onnxtxt"):
        if options:
            raise ValueError(f"'{path}' is already compiled: 'compile' requires a model")
        return path
    return compiled(path, cache or default_cache(), options)

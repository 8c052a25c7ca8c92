# SPDX-License-Identifier: Apache-2.0
"""From what a repository holds to a library on disk: a model is compiled once for all workers and starts, a library is taken as it is."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping

import hewn
from hewn.libraries import own_folder

LIBRARY, MODEL = "model.so", "model.onnx"
# What `compile` of model-settings.json may say: hewn.compile's own.
COMPILE_OPTIONS = ("target", "precision", "dims", "quantize", "limits", "optimize")


def default_cache() -> pathlib.Path:
    """Where compiled models are kept: the user's cache, since libraries are code that is run, and a folder of everybody's is no place for it."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hewn" / "serving"


def compile_options(given: Mapping[str, object]) -> dict[str, object]:
    """What JSON says of options, as hewn.compile takes them. ValueError names what is not known."""
    if unknown := sorted(given.keys() - set(COMPILE_OPTIONS)):
        raise ValueError(
            f"no such option to compile with: {', '.join(unknown)}; there are {', '.join(COMPILE_OPTIONS)}"
        )
    options = dict(given)
    dims = options.get("dims")
    if isinstance(dims, Mapping):  # JSON has no tuples
        options["dims"] = {name: tuple(value) if isinstance(value, list) else value for name, value in dims.items()}
    return options


def compiled(model: str | os.PathLike[str], cache: pathlib.Path, options: Mapping[str, object]) -> pathlib.Path:
    """The library of an ONNX model. It stands in `cache` under its own digest, so that all processes that serve it map the same file;
    hewn's cache beside it makes a second compile, of the same content with the same options, a copy. hewn.CompileError as `compile` raises it,
    PermissionError where others can write to `cache`."""
    own_folder(cache)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=cache))
    try:
        library = fresh / LIBRARY
        hewn.compile(os.fspath(model), output=library, cache_dir=cache / "compiler", **compile_options(options)).close()
        # The library holds its weights' digest: what it is called by names both.
        kept = cache / hashlib.sha256(library.read_bytes()).hexdigest()
        try:
            fresh.rename(kept)
        except OSError:  # another process was first
            if not (kept / LIBRARY).is_file():
                raise
        return kept / LIBRARY
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def library_of(path: str | os.PathLike[str], cache: pathlib.Path | None, options: Mapping[str, object]) -> pathlib.Path:
    """The library that stands at `path`, or what the model there is compiled to; a folder holds model.so or model.onnx, the first before the
    second. FileNotFoundError where there is neither."""
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
            raise ValueError(f"'{path}' is compiled already: 'compile' is for a model")
        return path
    return compiled(path, cache or default_cache(), options)

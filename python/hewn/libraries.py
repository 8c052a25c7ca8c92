# SPDX-License-Identifier: Apache-2.0
"""Compiled libraries as files: folders for them, and the files that belong together."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

#: Extension of libraries for this machine, and of WebAssembly modules.
EXTENSION, WASM = ".so", ".wasm"


def extension_of(target: str | Sequence[str]) -> str:
    """Returns the extension of a library for the target, or for several targets."""
    return WASM if (target if isinstance(target, str) else ",".join(target)).startswith("wasm32") else EXTENSION


def is_module(path: str | os.PathLike[str]) -> bool:
    """Returns True if the path has the extension of a WebAssembly module."""
    return pathlib.Path(os.fsdecode(path)).suffix == WASM


def own_folder(folder: str | os.PathLike[str]) -> None:
    """Creates a folder for libraries, or checks that no other user can write to an existing one.

    The check is needed because libraries in the folder are executed. Raises PermissionError if
    another user can write to it.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(f"'{folder}' belongs to another user, whose libraries would be executed")
    if found.st_mode & 0o022:
        raise PermissionError(f"'{folder}' is writable by others, whose libraries would be executed: use chmod go-w")


def weights_of(library: str | os.PathLike[str]) -> pathlib.Path | None:
    """Returns the weights file of a library (.so) that has its original name.

    The file is model.weights for libmodel.so, and model.so.weights for model.so (older versions of
    hewn: model.weights). Returns None if the weights are embedded or the model has none.
    """
    library = pathlib.Path(library)
    for name in (f"{library.name}.weights", f"{library.stem.removeprefix('lib')}.weights"):
        if (file := library.with_name(name)).is_file():
            return file
    return None

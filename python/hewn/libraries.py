# SPDX-License-Identifier: Apache-2.0
"""Compiled libraries as files: the folders that programs keep them in, and what is moved together."""

from __future__ import annotations

import os
import pathlib


def own_folder(folder: str | os.PathLike[str]) -> None:
    """Makes a folder, or takes one that nobody else can put libraries into, since what lies there is run. PermissionError where others can."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(f"'{folder}' belongs to another user, whose libraries would be run")
    if found.st_mode & 0o022:
        raise PermissionError(f"'{folder}' can be written by others, whose libraries would be run: chmod go-w")


def weights_of(library: str | os.PathLike[str]) -> pathlib.Path | None:
    """The weights file beside a library (.so) that has the name it was compiled to: model.weights of libmodel.so, model.so.weights of model.so
    (an older hewn's: model.weights). None where there is none: they are inside, or it has no weights."""
    library = pathlib.Path(library)
    for name in (f"{library.name}.weights", f"{library.stem.removeprefix('lib')}.weights"):
        if (file := library.with_name(name)).is_file():
            return file
    return None

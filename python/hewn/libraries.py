# SPDX-License-Identifier: Apache-2.0
"""Compiled libraries as files: folders for them, and the files that belong together."""

from __future__ import annotations

import os
import pathlib

#: Extension of libraries for this machine.
EXTENSION = ".so"


def own_folder(folder: str | os.PathLike[str]) -> None:
    """Creates a folder for libraries, or checks that no other user can write to an existing one,
    because its libraries are executed. Raises PermissionError otherwise."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(f"'{folder}' belongs to another user, whose libraries would be executed")
    if found.st_mode & 0o022:
        raise PermissionError(f"'{folder}' is writable by others, whose libraries would be executed: use chmod go-w")


def weights_of(library: str | os.PathLike[str]) -> pathlib.Path | None:
    """Returns the weights file of a library (.so) that has its original name: model.weights for
    libmodel.so, model.so.weights for model.so (older versions of hewn: model.weights). Returns None
    if the weights are embedded or the model has none."""
    library = pathlib.Path(library)
    for name in (f"{library.name}.weights", f"{library.stem.removeprefix('lib')}.weights"):
        if (file := library.with_name(name)).is_file():
            return file
    return None

# SPDX-License-Identifier: Apache-2.0
"""Copies a library to the local disk, once for all workers of a node, and measures the memory that processes share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import tempfile

from hewn.libraries import own_folder, weights_of


def local_copy(library: str | os.PathLike[str], folder: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the path of a copy of a library and its weights in `folder` on the local disk.

    The first process makes the copy, and the others use it, so that all map the same file. The copy
    is identified by the digest of the library, which contains the digest of the weights.

    Raises PermissionError if `folder` belongs to another user or others can write to it.
    """
    library, folder = pathlib.Path(library), pathlib.Path(folder)
    kept = folder / hashlib.sha256(library.read_bytes()).hexdigest()
    own_folder(folder)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            fresh = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=folder))
            try:
                for file in filter(None, (library, weights_of(library))):
                    shutil.copy2(file, fresh / file.name)
                fresh.rename(kept)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
    return kept / library.name


def mapped_bytes(file: str | os.PathLike[str]) -> tuple[int, int]:
    """Returns the (resident, proportional) bytes of the mappings of a file in this process.

    A page that n processes share counts as 1/n in the proportional bytes. The values are Rss and
    Pss of /proc/self/smaps (see proc_pid_smaps(5)).
    """
    path, inside, resident, proportional = os.path.realpath(file), False, 0, 0
    for line in pathlib.Path("/proc/self/smaps").read_text(errors="replace").splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(f" {path}")
        elif inside and line.startswith("Rss:"):
            resident += int(line.split()[1]) * 1024
        elif inside and line.startswith("Pss:"):
            proportional += int(line.split()[1]) * 1024
    return resident, proportional

# SPDX-License-Identifier: Apache-2.0
"""The artifact on the machine that runs it: one copy for all workers of a node, and what their processes share of it."""

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
    """A copy of a library and the weights beside it in `folder` on this machine's disk, made by the first process that asks and taken by the
    others, so that all map one file. Its place is named by the library's content, which has its weights' digest. PermissionError where
    `folder` is another user's or can be written by others."""
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
    """(resident, proportional) bytes of a file's mappings in this process: a page that n processes share counts 1/n in the second.
    /proc/[pid]/smaps (proc_pid_smaps(5)): Rss and Pss."""
    path, inside, resident, proportional = os.path.realpath(file), False, 0, 0
    for line in pathlib.Path("/proc/self/smaps").read_text(errors="replace").splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(f" {path}")
        elif inside and line.startswith("Rss:"):
            resident += int(line.split()[1]) * 1024
        elif inside and line.startswith("Pss:"):
            proportional += int(line.split()[1]) * 1024
    return resident, proportional

# SPDX-License-Identifier: Apache-2.0
"""Collects the files that a hewn command needs on another machine.

These are the model, its external data, and the files that flags name.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import numpy as np

# Flags whose value is a file or a folder of files. The value of --quantize may also be the name of
# a scheme; that of --input may be NAME=FILE.
FILES = ("--tuning", "--custom-ops", "--cluster", "--quantize", "--calibrate", "--input")
# Large files are split into chunks in Ray's object store, so that a node doesn't need a whole file
# in memory.
CHUNK = 64 << 20


def _inside(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    """Returns the path of a file within a folder.

    Returns None if the file does not exist or `name` refers to a file outside of the folder.
    """
    path = pathlib.PurePath(name)
    found = folder / path
    return found if not path.is_absolute() and ".." not in path.parts and found.is_file() else None


class Shipped:
    """The files of a command, and its arguments with their paths on the other machine.

    `files` has the files by their relative path on the other machine, `arguments` the arguments
    with these paths.
    """

    def __init__(self, program: str, model: str, flags: list[tuple[str, str | None]]) -> None:
        """Collects the files of the model and of the flags of `hewn tune`, which are pairs of name and value.

        Raises ValueError if hewn can't read the model, and OSError if a file doesn't exist.
        """
        self.files: dict[str, pathlib.Path] = {}
        self.arguments = [self._model(program, pathlib.Path(model))]
        for number, (flag, value) in enumerate(flags):
            if value is None:
                self.arguments.append(flag)
            else:
                self.arguments.append(f"{flag}={self._value(flag, value, f'flags/{number}')}")

    def _add(self, name: str, path: pathlib.Path) -> str:
        with path.open("rb"):  # check that the file is readable before any node starts to search
            self.files[name] = path
        return name

    def _model(self, program: str, path: pathlib.Path) -> str:
        done = subprocess.run([program, "info", "--json", path], capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().removeprefix("error: "))
        record = json.loads(done.stdout)
        if record["kind"] != "model":
            raise ValueError(f"'{path}' is a compiled {record['kind']}, but tuning requires a model")
        for name in record["weights"]["files"]:
            # If the file does not exist, hewn reports the error on the node.
            if beside := _inside(path.parent, name):
                self._add(f"model/{name}", beside)
        return self._add(f"model/{path.name}", path)

    def _value(self, flag: str, value: str, folder: str) -> str:
        if flag not in FILES:
            return value
        name, equals, given = value.rpartition("=") if flag == "--input" else ("", "", value)
        path = pathlib.Path(given)
        if flag == "--quantize" and not path.exists():
            return value
        if flag == "--calibrate":
            if not path.is_dir():
                raise FileNotFoundError(f"--calibrate requires a folder, but '{value}' is not a folder")
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    self._add(f"{folder}/{file.relative_to(path)}", file)
            return folder
        if flag == "--custom-ops":
            self._linked(path, folder)
        return name + equals + self._add(f"{folder}/{path.name}", path)

    def _linked(self, path: pathlib.Path, folder: str) -> None:
        """Adds the object files and libraries that a custom-op file names relative to itself.

        Leaves other errors in the file to hewn.
        """
        try:
            linked = json.loads(path.read_text())["link"]
        except (ValueError, KeyError, TypeError):
            return
        for name in linked if isinstance(linked, list) else []:
            if not (file := _inside(path.parent, str(name))):
                raise ValueError(
                    f"'{path}' links '{name}', which is not a file in its folder, so nodes would not have it"
                )
            self._add(f"{folder}/{name}", file)

    def bytes(self) -> int:
        """Returns the total size of the files."""
        return sum(path.stat().st_size for path in self.files.values())

    def put(self, ray: Any) -> list[tuple[str, list[Any]]]:
        """Puts the files into Ray's object store, once for all nodes.

        Returns the path and the references to the chunks of each file.
        """
        put = []
        for name, path in self.files.items():
            size = path.stat().st_size
            data = np.memmap(path, np.uint8, "r").view(np.ndarray) if size else np.empty(0, np.uint8)
            put.append((name, [ray.put(data[at : at + CHUNK]) for at in range(0, size, CHUNK)]))
        return put

# SPDX-License-Identifier: Apache-2.0
"""The files of a command of hewn's that is to run on another machine: the model with its external data, and what flags name."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np

# Flags whose value is a file, or a folder of files. A value of --quantize may be a name; of --input it is behind the name.
FILES = ("--tuning", "--custom-ops", "--cluster", "--quantize", "--calibrate", "--input")
# Large files go through Ray's object store in parts, so that no node needs all of one in memory.
CHUNK = 64 << 20


def _inside(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    """A file in the folder by a name that leads nowhere else; None where there is none."""
    path = pathlib.PurePath(name)
    found = folder / path
    return found if not path.is_absolute() and ".." not in path.parts and found.is_file() else None


class Shipped:
    """Files by the path that they have in a folder of the machine that they go to, and the command's arguments, whose files are those."""

    def __init__(self, program: str, model: str, flags: list[tuple[str, str | None]]) -> None:
        """The model and flags of `hewn tune`: of each its name and value. ValueError where hewn can't read the model, OSError for a file
        that is not there."""
        self.files: dict[str, pathlib.Path] = {}
        self.arguments = [self._model(program, pathlib.Path(model))]
        for number, (flag, value) in enumerate(flags):
            if value is None:
                self.arguments.append(flag)
            else:
                self.arguments.append(f"{flag}={self._value(flag, value, f'flags/{number}')}")

    def _add(self, name: str, path: pathlib.Path) -> str:
        with path.open("rb"):  # before anything is started
            self.files[name] = path
        return name

    def _model(self, program: str, path: pathlib.Path) -> str:
        done = subprocess.run([program, "info", "--json", path], capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().removeprefix("error: "))
        record = json.loads(done.stdout)
        if record["kind"] != "model":
            raise ValueError(f"'{path}' is a compiled {record['kind']}, and a model is tuned before it is compiled")
        for name in record["weights"]["files"]:
            if beside := _inside(path.parent, name):  # else hewn says on the node what is wrong with it
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
                raise FileNotFoundError(f"--calibrate wants a folder, and '{value}' is none")
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    self._add(f"{folder}/{file.relative_to(path)}", file)
            return folder
        if flag == "--custom-ops":
            self._linked(path, folder)
        return name + equals + self._add(f"{folder}/{path.name}", path)

    def _linked(self, path: pathlib.Path, folder: str) -> None:
        """Objects and libraries that a file of ops names, relative to itself. What is wrong with such a file hewn says."""
        try:
            linked = json.loads(path.read_text())["link"]
        except (ValueError, KeyError, TypeError):
            return
        for name in linked if isinstance(linked, list) else []:
            if not (file := _inside(path.parent, str(name))):
                raise ValueError(f"'{path}' links '{name}', which is no file in its folder: nodes would not have it")
            self._add(f"{folder}/{name}", file)

    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files.values())

    def put(self, ray: Any) -> list[tuple[str, list]]:
        """Puts them into Ray's object store, once for all nodes: of each its name and references to its bytes."""
        put = []
        for name, path in self.files.items():
            size = os.path.getsize(path)
            data = np.memmap(path, np.uint8, "r").view(np.ndarray) if size else np.empty(0, np.uint8)
            put.append((name, [ray.put(data[at : at + CHUNK]) for at in range(0, size, CHUNK)]))
        return put

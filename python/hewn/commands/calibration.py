# SPDX-License-Identifier: Apache-2.0
"""Calibration samples, which the compiler requests one at a time to determine the ranges of activations."""

from __future__ import annotations

import os
import pathlib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

_Sample = list[tuple[str, np.ndarray, int, int]]
# DLPack's numbers of type categories (kDLInt, ...) by numpy kind.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def _tensor(name: str, value: Any) -> tuple[str, np.ndarray, int, int]:
    array = np.from_dlpack(value) if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray) else value
    array = np.ascontiguousarray(array).reshape(np.shape(array))  # ascontiguousarray makes scalars 1-D
    bits = 8 * array.dtype.itemsize
    if array.dtype.isbuiltin == 1 and array.dtype.kind in _CODES:
        raw = array.view(np.uint8) if array.dtype == bool else array
        return name, raw, _CODES[array.dtype.kind], bits
    if array.dtype.name == "bfloat16":
        return name, array.view(np.uint16), 4, 16
    what = f"'{name}'" if name else "a sample"
    raise TypeError(f"calibration data: {what} has unsupported type {array.dtype}")


def _sample(given: object) -> _Sample:
    if isinstance(given, Mapping):
        return [_tensor(str(name), value) for name, value in given.items()]
    return [_tensor("", given)]  # an empty name means the only input


def _load(path: pathlib.Path) -> object:
    """Reads a calibration sample from a .npy file, which has one array, or a .npz file, which has arrays by name."""
    try:
        read = np.load(path)
        if isinstance(read, np.ndarray):
            return read
        with read as arrays:
            return dict(arrays)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"calibration data: {path}: {error}") from error


def _from_folder(folder: pathlib.Path) -> Iterator[object]:
    """Reads the samples of a folder: .npz files, folders of NAME.npy, or .npy files (for the only input)."""
    found = sorted(p for p in folder.iterdir() if p.suffix in (".npy", ".npz") or p.is_dir())
    if not found:
        raise ValueError(f"'{folder}' has no calibration data: found no .npy, no .npz and no folder of .npy files")
    for path in found:
        if path.is_dir():
            inside = {p.stem: _load(p) for p in sorted(path.glob("*.npy"))}
            if not inside:
                raise ValueError(f"'{path}' has no calibration data: found no .npy")
            yield inside
        else:
            yield _load(path)


def samples(calibration: object) -> Callable[[], _Sample | None] | None:
    """Returns a function that returns the next sample, or None at the end.

    `calibration` is a folder, or an iterable of feeds (arrays by name, or an array for the only
    input), which is read once.
    """
    if calibration is None:
        return None
    if isinstance(calibration, (str, os.PathLike)):
        calibration = _from_folder(pathlib.Path(os.fsdecode(calibration)))
    if isinstance(calibration, Mapping) or not isinstance(calibration, Iterable):
        raise TypeError(f"calibration must be a folder or an iterable of feeds, got {type(calibration).__name__}")
    feeds = iter(calibration)

    def following() -> _Sample | None:
        for given in feeds:
            return _sample(given)
        return None

    return following

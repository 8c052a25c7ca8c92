# SPDX-License-Identifier: Apache-2.0
"""Maps: dicts that are inputs or outputs of a model.

The compiled model has two tensors for a map `x`: `x_keys`, directly followed by `x_values`.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._interface import KEYS, VALUES, Tensor


def folded(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the inputs or outputs as users see them, with one entry for the two tensors of a map."""
    shown, keys = [], None
    for tensor in tensors:
        if tensor.kind == KEYS:
            keys = tensor.dtype
        elif tensor.kind == VALUES:
            kind = "map" if tensor.shape is not None and len(tensor.shape) == 1 else "sequence of maps"
            name = tensor.name.removesuffix("_values")
            shown.append(dataclasses.replace(tensor, name=name, kind=kind, keys=keys))
        else:
            shown.append(tensor)
    return shown


def plain(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the inputs or outputs of the compiled model, where the two parts of a map are tensors like others."""
    return [dataclasses.replace(t, kind="tensor") if t.kind in (KEYS, VALUES) else t for t in tensors]


class MapError(TypeError):
    """A dict has a key or value of another type than the model's map."""


def keys_of(name: str, given: Mapping[str, Any], dtype: np.dtype) -> np.ndarray:
    """Returns the keys of a dict as an array. Raises MapError for a key of another type."""
    wanted, expected = (str, "str") if dtype.kind == "O" else (numbers.Integral, "int")
    for key in given:
        if not isinstance(key, wanted) or isinstance(key, bool):
            raise MapError(f"input '{name}' has the key {key!r}, but the model expects keys of type {expected}")
    return _array(name, list(given), dtype)


def values_of(name: str, given: Mapping[str, Any], dtype: np.dtype) -> np.ndarray:
    """Returns the values of a dict as an array. Raises MapError for a value of another type."""
    wanted = str if dtype.kind == "O" else numbers.Integral if dtype.kind in "iub" else numbers.Real
    for key, value in given.items():
        if not isinstance(value, wanted):
            expected = "str" if dtype.kind == "O" else dtype
            raise MapError(f"input '{name}' has the value {value!r} for {key!r}, but the model expects {expected}")
    return _array(name, list(given.values()), dtype)


def _array(name: str, items: list[Any], dtype: np.dtype) -> np.ndarray:
    try:
        return np.array(items, dtype)
    except OverflowError as problem:
        raise MapError(f"input '{name}': {problem}") from None


class Maps:
    """The maps among the inputs and outputs of a model. False if there are none."""

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self._inputs = [(tensor, tensor.keys) for tensor in inputs if tensor.keys is not None]
        self._outputs = {tensor.name: tensor.kind for tensor in outputs if tensor.keys is not None}
        # Names of the tensors of output maps, which a caller can request instead of dicts.
        self.parts = {name + suffix for name in self._outputs for suffix in ("_keys", "_values")}

    def __bool__(self) -> bool:
        """Returns true if the model has maps as inputs or outputs."""
        return bool(self._inputs or self._outputs)

    def fed(self, feeds: Mapping[str, object], out: Iterable[str]) -> dict[str, object]:
        """Returns the feeds with the two arrays of each map in place of its dict.

        Raises MapError if an input is not such a dict, or if `out` names a map.
        """
        for name in out:
            if name in self._outputs:
                raise MapError(f"out '{name}' is a map: pass arrays for '{name}_keys' and '{name}_values'")
        made = dict(feeds)
        for tensor, keys in self._inputs:
            name, given = tensor.name, made.pop(tensor.name)
            if not isinstance(given, Mapping):
                raise MapError(f"input '{name}' is {type(given).__name__}, but the model expects a dict")
            made[name + "_keys"] = keys_of(name, given, keys)
            made[name + "_values"] = values_of(name, given, tensor.dtype)
        return made

    def found(self, results: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
        """Returns the outputs `names` of a run, with a dict or a list of dicts for each map."""
        return {name: self._map(name, results) if name in self._outputs else results[name] for name in names}

    def _map(self, name: str, results: Mapping[str, Any]) -> dict[str, Any] | list[dict[str, Any]]:
        keys, values = results[name + "_keys"].tolist(), results[name + "_values"].tolist()
        # Entries are in the order of their keys, as in onnxruntime.
        order = sorted(range(len(keys)), key=keys.__getitem__)
        sorted_keys = [keys[i] for i in order]
        if self._outputs[name] == "map":
            return dict(zip(sorted_keys, [values[i] for i in order]))
        if sorted_keys == keys:
            return [dict(zip(keys, row)) for row in values]
        return [dict(zip(sorted_keys, [row[i] for i in order])) for row in values]

# SPDX-License-Identifier: Apache-2.0
"""Converts the inputs of a run to arrays and checks them, with the order and the messages of onnxruntime."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._maps import MapError, keys_of, values_of
from ._interface import Dim, Value
from ._types import code_of_tensor, dtype_of, tensor_word
from ._values import OrtValue
from .capi.onnxruntime_pybind11_state import Fail, InvalidArgument

_STRINGS = np.dtype(object)


@dataclasses.dataclass(frozen=True, slots=True)
class _Input:
    """The declaration of an input, for the checks in each run. `rank` is None for any rank."""

    type: str
    dtype: np.dtype | None
    rank: int | None
    sizes: tuple[tuple[int, int], ...]
    symbols: tuple[tuple[int, str], ...]


class Feeds:
    """Checks and converts the inputs of a model.

    `symbols` are the names of dims in the compiled model: dims of the same name must have equal
    sizes in a run.
    """

    def __init__(
        self, inputs: Sequence[Value], shapes: Sequence[list[Dim] | None], symbols: Sequence[tuple[Any, ...] | None]
    ) -> None:
        self._inputs: dict[str, _Input] = {}
        for value, shape, names in zip(inputs, shapes, symbols):
            code = code_of_tensor(value.type)
            self._inputs[value.name] = _Input(
                value.type,
                dtype_of(code) if code else None,
                None if shape is None else len(shape),
                tuple((i, d) for i, d in enumerate(shape or ()) if isinstance(d, int)),
                tuple((i, name) for i, name in enumerate(names or ()) if isinstance(name, str)),
            )
        self._required = [v.name for v in inputs if not v.type.startswith("optional")]
        self._optional = [v.name for v in inputs if v.type.startswith("optional")]

    def check_names(self, given: Mapping[str, object]) -> None:
        """Raises ValueError if a required input is missing."""
        names = given.keys()
        if missing := [name for name in self._required if name not in names]:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(names)}).")

    def arrays(self, feeds: Mapping[str, object]) -> dict[str, object]:
        """Returns the feeds for the compiled model. Raises the same exceptions as onnxruntime."""
        inputs = self._inputs
        made = {name: self._made(name, value) for name, value in feeds.items()}
        for name in made:
            if name not in inputs:
                raise InvalidArgument.told(f"Invalid input name: {name}")
        sizes: dict[str, tuple[int, str]] = {}
        for name, array in made.items():
            wanted = inputs[name]
            if wanted.dtype is None or not isinstance(array, np.ndarray):
                continue  # the compiled model checks inputs that are not numeric tensors
            if wanted.rank == 0 and array.size == 1:
                # onnxruntime accepts any shape for a scalar; programs pass [16000].
                made[name] = array = array.reshape(())
            self._check(name, wanted, array)
            for i, symbol in wanted.symbols:
                if (met := sizes.setdefault(symbol, (array.shape[i], name)))[0] != array.shape[i]:
                    told = f"'{symbol}' is {met[0]} in input {met[1]} and {array.shape[i]} in input {name}"
                    raise InvalidArgument.told(
                        f"Got different sizes for one dim: {told}. A compiled model requires equal sizes for dims of the same name."
                    )
        for name in self._optional:
            made.setdefault(name, None)
        return made

    def _made(self, name: str, value: object) -> object:
        if isinstance(value, OrtValue):
            value = value._value
        declared = self._inputs.get(name)
        if declared and declared.type.startswith("map") and value is not None:
            return _checked_map(name, declared.type, value)
        if isinstance(value, np.ndarray):
            return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
        if value is None:
            if declared is None or declared.type.startswith("optional"):
                return None
            raise Fail.told(f"Missing Input: {name}")
        if isinstance(value, str | bytes):
            raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{name}'.")
        if hasattr(value, "__dlpack__") and not np.isscalar(value):
            return OrtValue.from_dlpack(value)._value
        if declared and not declared.type.startswith("tensor"):
            return value  # a sequence: the compiled model checks its tensors
        if not isinstance(value, list):
            raise RuntimeError(f"Unable to handle object of type {type(value)}")
        return self._from_list(name, value)

    def _from_list(self, name: str, value: list[Any]) -> np.ndarray:
        dtype = self._inputs[name].dtype if name in self._inputs else None
        try:
            array = np.array(value, dtype)
        except (TypeError, ValueError):
            raise RuntimeError(f"Could not create tensor from given input list for input '{name}'") from None
        if dtype == _STRINGS and not all(isinstance(each, str) for each in array.ravel()):
            raise RuntimeError(f"Could not create tensor from given input list for input '{name}'")
        return array

    def _check(self, name: str, wanted: _Input, array: np.ndarray) -> None:
        if array.dtype != wanted.dtype and not (wanted.dtype == _STRINGS and array.dtype.kind in "OSU"):
            told = f"Actual: ({tensor_word(array.dtype)}) , expected: ({wanted.type})"
            raise InvalidArgument.told(f"Unexpected input data type. {told}")
        if wanted.rank is None:
            return
        please = "Please fix either the inputs/outputs or the model."
        if wanted.rank != array.ndim:
            told = f"Got: {array.ndim} Expected: {wanted.rank} {please}"
            raise InvalidArgument.told(f"Invalid rank for input: {name} {told}")
        shape = array.shape
        for i, size in wanted.sizes:
            if shape[i] != size:
                wrong = [(i, shape[i], size) for i, size in wanted.sizes if shape[i] != size]
                told = "".join(f"\n index: {i} Got: {n} Expected: {d}" for i, n, d in wrong)
                raise InvalidArgument.told(
                    f"Got invalid dimensions for input: {name} for the following indices{told}\n {please}"
                )


def _checked_map(name: str, wanted: str, value: object) -> Mapping[str, Any]:
    """Returns the dict for an input that is a map.

    Like onnxruntime, rejects an empty dict, and derives the type of the map from the first key.
    """
    if isinstance(value, np.ndarray):
        raise InvalidArgument.told(f"input with name: '{name}' expected to be of type: {wanted} but received a tensor")
    if not isinstance(value, Mapping):
        raise RuntimeError(f"Unable to handle object of type {type(value)}")
    if not value:
        raise RuntimeError("Size of dictionary is empty, unable to run the prediction.")
    first = next(iter(value))
    key = "string" if isinstance(first, str) else "int64"
    if isinstance(first, str | numbers.Integral) and not wanted.startswith(f"map({key},"):
        actual = f"map({key},{wanted.split(',', 1)[1]}"
        raise InvalidArgument.told(f"Unexpected input data type. Actual: (({actual})) , expected: (({wanted}))")
    dtype = dtype_of(code_of_tensor(wanted.split(",", 1)[1][:-1]))
    try:
        keys_of(name, value, dtype_of(8 if wanted.startswith("map(string,") else 7))
        values_of(name, value, dtype)
    except MapError as problem:
        raise RuntimeError(str(problem)) from None
    return value

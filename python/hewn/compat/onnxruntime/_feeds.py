# SPDX-License-Identifier: Apache-2.0
"""What a run is given: made to arrays, then looked at, in the order and with the words of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ._interface import Dim, Value
from ._types import code_of_tensor, dtype_of, tensor_word
from ._values import OrtValue
from .capi.onnxruntime_pybind11_state import Fail, InvalidArgument

_STRINGS = np.dtype(object)


class Feeds:
    """Of a model's inputs. `symbols` are the names of dims as the compiled model checks them: one name has one size in a run."""

    def __init__(
        self, inputs: Sequence[Value], shapes: Sequence[list[Dim] | None], symbols: Sequence[tuple | None]
    ) -> None:
        self._declared = {value.name: value for value in inputs}
        self._shapes = {value.name: shape for value, shape in zip(inputs, shapes)}
        self._symbols = {value.name: names for value, names in zip(inputs, symbols)}
        self._dtypes = {v.name: dtype_of(c) if (c := code_of_tensor(v.type)) else None for v in inputs}
        self._required = [v.name for v in inputs if not v.type.startswith("optional")]
        self._optional = [v.name for v in inputs if v.type.startswith("optional")]

    def check_names(self, names: list[str]) -> None:
        """ValueError where an input that must be there is not."""
        if missing := [name for name in self._required if name not in names]:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({names}).")

    def arrays(self, feeds: Mapping[str, object]) -> dict[str, object]:
        """The feeds as a compiled model takes them; else the exception that onnxruntime raises."""
        made = {name: self._made(name, value) for name, value in feeds.items()}
        sizes: dict[str, tuple[int, str]] = {}
        if unknown := [name for name in made if name not in self._declared]:
            raise InvalidArgument.told(f"Invalid input name: {unknown[0]}")
        for name, array in made.items():
            if self._shapes[name] == [] and isinstance(array, np.ndarray) and array.size == 1:
                # onnxruntime takes any shape for a scalar; programs give [16000].
                made[name] = array = array.reshape(())
            if isinstance(array, np.ndarray) and self._dtypes[name] is not None:
                self._check(name, array)
                self._check_symbols(name, array, sizes)
        for name in self._optional:
            made.setdefault(name, None)
        return made

    def _made(self, name: str, value: object) -> object:
        if isinstance(value, OrtValue):
            value = value._value
        if isinstance(value, np.ndarray):
            return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
        declared = self._declared.get(name)
        if value is None:
            if declared is None or declared.type.startswith("optional"):
                return None
            raise Fail.told(f"Missing Input: {name}")
        if isinstance(value, str | bytes):
            raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{name}'.")
        if hasattr(value, "__dlpack__") and not np.isscalar(value):
            return OrtValue.from_dlpack(value)._value
        if declared and not declared.type.startswith("tensor"):
            return value  # a list of tensors, which the compiled model looks at
        if not isinstance(value, list):
            raise RuntimeError(f"Unable to handle object of type {type(value)}")
        return self._from_list(name, value)

    def _from_list(self, name: str, value: list) -> np.ndarray:
        dtype = self._dtypes.get(name)
        try:
            array = np.array(value, dtype)
        except (TypeError, ValueError):
            raise RuntimeError(f"Could not create tensor from given input list for input '{name}'") from None
        if dtype == _STRINGS and not all(isinstance(each, str) for each in array.ravel()):
            raise RuntimeError(f"Could not create tensor from given input list for input '{name}'")
        return array

    def _check(self, name: str, array: np.ndarray) -> None:
        wanted = self._dtypes[name]
        if array.dtype != wanted and not (wanted == _STRINGS and array.dtype.kind in "OSU"):
            told = f"Actual: ({tensor_word(array.dtype)}) , expected: ({self._declared[name].type})"
            raise InvalidArgument.told(f"Unexpected input data type. {told}")
        shape = self._shapes[name]
        if shape is None:
            return
        please = "Please fix either the inputs/outputs or the model."
        if len(shape) != array.ndim:
            raise InvalidArgument.told(
                f"Invalid rank for input: {name} Got: {array.ndim} Expected: {len(shape)} {please}"
            )
        wrong = [(i, n, d) for i, (n, d) in enumerate(zip(array.shape, shape)) if isinstance(d, int) and n != d]
        if wrong:
            told = "".join(f"\n index: {i} Got: {n} Expected: {d}" for i, n, d in wrong)
            raise InvalidArgument.told(
                f"Got invalid dimensions for input: {name} for the following indices{told}\n {please}"
            )

    def _check_symbols(self, name: str, array: np.ndarray, sizes: dict[str, tuple[int, str]]) -> None:
        for size, symbol in zip(array.shape, self._symbols[name] or ()):
            if isinstance(symbol, str) and (met := sizes.setdefault(symbol, (size, name)))[0] != size:
                told = f"'{symbol}' is {met[0]} in input {met[1]} and {size} in input {name}"
                raise InvalidArgument.told(
                    f"Got different sizes for one dim: {told}. A compiled model takes dims of one name to be equal."
                )

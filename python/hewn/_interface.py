# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of a compiled model, and their description as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from . import _hewn
from ._dtypes import dtype_of


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output.

    A dim in `shape` is a size, the name of a symbol, a formula of symbols as text, or None if it
    depends on data.

    If the rank of an output depends on the values of symbols, `shape` is the one with the most
    dims, and `cases` has all shapes: {"n = 1": ("m",), "n != 1": ("n", "m")}.

    Strings have dtype object. `kind` is "tensor", "sequence" (a list of arrays), "optional" (an
    array or None), "optional sequence", "map" (a dict) or "sequence of maps" (a list of dicts).
    dtype and shape are those of the arrays, and shape is None if they can have any rank. For maps,
    they are those of the array of all values, and `keys` is the dtype of the keys.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int | str | None, ...] | None
    kind: str = "tensor"
    cases: Mapping[str, tuple[int | str | None, ...]] = dataclasses.field(default_factory=dict)
    keys: np.dtype | None = None


KEYS, VALUES = "map keys", "map values"
#: Kinds of the compiled model's tensors, by their number in `_hewn.Model.inputs` and `outputs`.
KINDS = ("tensor", "sequence", "optional", "optional sequence", KEYS, VALUES)


def tensors_of(model: _hewn.Model) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the inputs and outputs of a loaded model. A map is two tensors."""
    inputs = [Tensor(name, dtype_of(c, bits), shape, KINDS[k]) for name, c, bits, shape, k in model.inputs]
    outputs = []
    for number, (name, code, bits, shape, kind) in enumerate(model.outputs):
        found = {condition: outputs[number][3] for condition, _, outputs in model.cases if outputs}
        shapes = {condition: own for condition, own in found.items() if own is not None}
        unlike = shape is not None and any(len(own) != len(shape) for own in shapes.values())
        outputs.append(Tensor(name, dtype_of(code, bits), shape, KINDS[kind], shapes if unlike else {}))
    return inputs, outputs


def _shape_text(shape: tuple[int | str | None, ...] | None) -> str:
    return "(any rank)" if shape is None else f"({', '.join('?' if d is None else str(d) for d in shape)})"


def _kind_text(tensor: Tensor) -> str:
    if tensor.keys is not None:
        return f"{tensor.kind} of {'str' if tensor.keys.kind == 'O' else tensor.keys} to "
    return "" if tensor.kind == "tensor" else f"{tensor.kind} of "


def signature(tensors: Sequence[Tensor]) -> str:
    """Returns the names, types and shapes of tensors as text."""
    return ", ".join(f"{t.name}: {_kind_text(t)}{t.dtype}{_shape_text(t.shape)}" for t in tensors)

# SPDX-License-Identifier: Apache-2.0
"""A model of one node, and the arrays of its operands."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

FLOAT, LONG = np.float32, np.int64
IMAGE, TOKENS = (1, 64, 56, 56), (1, 128, 768)


@dataclasses.dataclass
class Form:
    """A model of one node.

    `inputs` are the node's operands: a shape is a model input with random float32 elements; an
    array is a constant, or a model input if it is wrapped in `Fed`. With `dynamic`, all dims of the
    inputs are symbols, except those of size 1 and 2.
    """

    family: str
    op: str
    inputs: list[Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    note: str = ""
    outputs: int = 1
    opset: int = 21
    dynamic: bool = False
    domain: str = ""

    @property
    def name(self) -> str:
        """Name of the form in tables: the op, the shapes of its inputs, and its attributes."""
        shapes = []
        for value in self.inputs:
            if isinstance(value, Fed):
                value = value.array
            if isinstance(value, (np.ndarray, np.generic)):
                shapes.append("x".join(map(str, value.shape)) if value.ndim > 1 else "")
            elif value is not None:
                shapes.append("x".join(map(str, value)))
        said = [f"{key}={short(value)}" for key, value in self.attributes.items() if not _is_long(value)]

        return " ".join(part for part in [self.op, *shapes, *said, self.note, "dynamic" * self.dynamic] if part)


@dataclasses.dataclass
class Fed:
    """An array that is passed as an input of the model instead of being stored as a constant."""

    array: np.ndarray


def short(value: object) -> str:
    """Returns an attribute value as short text."""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _is_long(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 8


def weights(*shape: int, kind: type = FLOAT) -> np.ndarray:
    """Returns normally distributed weights."""
    return (np.random.default_rng(1).standard_normal(shape) / 8).astype(kind)


def longs(*values: int) -> np.ndarray:
    """Returns a one-dimensional int64 array."""
    return np.array(values, LONG)


def indices(bound: int, *shape: int) -> Fed:
    """Returns a fed array of random indices below `bound`."""
    return Fed(np.random.default_rng(2).integers(0, bound, shape))


def onnx_type(kind: type) -> int:
    """Returns ONNX's number of an element type."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(kind))

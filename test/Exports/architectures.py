# SPDX-License-Identifier: Apache-2.0
"""The description of an architecture, a torch model that the tests export: its module, its inputs
and their dims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

EXPORTERS = ("torchscript", "dynamo")


@dataclasses.dataclass(frozen=True)
class Input:
    """An input tensor. Its dims are numbers if they are static, and names if they are dynamic in
    the exported model.

    The values are normally distributed floats. With `below`, they are integers from 0 to below - 1;
    with `ones`, an integer mask of ones.
    """

    dims: tuple[int | str, ...]
    below: int = 0
    ones: bool = False

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple(sizes[d] if isinstance(d, str) else d for d in self.dims)

    def draw(self, sizes: dict[str, int], random: np.random.Generator) -> np.ndarray:
        shape = self.shape(sizes)
        if self.ones:
            return np.ones(shape, np.int64)
        if self.below:
            return random.integers(0, self.below, shape)
        return random.standard_normal(shape).astype(np.float32)

    def open_dims(self) -> dict[int, str]:
        return {axis: d for axis, d in enumerate(self.dims) if isinstance(d, str)}


def plainly(model, *inputs):
    return model(*inputs)


@dataclasses.dataclass(frozen=True)
class Architecture:
    """An architecture to export. `build` creates the module, and `call` runs it on the inputs in
    order. The model is exported with the first of `sizes` and run with all of them; the run with
    the last one is timed."""

    library: str
    name: str
    build: Callable
    inputs: dict[str, Input]
    sizes: tuple[dict[str, int], ...] = ({},)
    call: Callable = plainly
    exporters: tuple[str, ...] = EXPORTERS

    def feeds(self, sizes: dict[str, int]) -> dict[str, np.ndarray]:
        random = np.random.default_rng(0)
        return {name: spec.draw(sizes, random) for name, spec in self.inputs.items()}


def architectures() -> list[Architecture]:
    """Returns all architectures. A library such as torchvision is imported only when one of its
    models is built."""
    import of_timm
    import of_torchvision
    import of_transformers

    found = [*of_torchvision.architectures(), *of_timm.architectures(), *of_transformers.architectures()]
    assert len({a.name for a in found}) == len(found), "two architectures have one name"
    return found

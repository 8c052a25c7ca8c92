# SPDX-License-Identifier: Apache-2.0

from collections.abc import Callable

import numpy as np

_Message = tuple[str, str, str, int, str, bool, str]
_Tensor = tuple[str, int, int, tuple[int | str | None, ...] | None, int]

def compile(
    path: str | None,
    bytes: bytes | None,
    output: str | None,
    emit: str | None,
    target: str,
    dims: list[str],
    limits: list[str],
    precision: str,
    quantize: str,
    optimize: bool,
    cache_dir: str,
    remarks: str,
    transient: bool,
    custom_ops: list[str] = ...,
    custom_functions: list[tuple[str, int]] = ...,
    next_sample: Callable[[], list[tuple[str, np.ndarray, int, int]] | None] | None = ...,
    least_decibels: float = ...,
    largest_error: float = ...,
    tunings: list[str] = ...,
    dim_names: str = ...,
) -> tuple[bool, list[_Message], str, str]: ...
def version() -> str: ...

class LocalRanks:
    """Processes of one machine that run a partitioned model.

    All ranks of a group use the same, unique `name`.
    """

    def __init__(self, name: str, rank: int, num_ranks: int, timeout: float = ...) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def num_ranks(self) -> int: ...

class NcclRanks:
    def __init__(self, over: object, timeout: float) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def num_ranks(self) -> int: ...

class Model:
    def __init__(
        self,
        path: str,
        threads: int,
        device: int,
        cache_dir: str,
        verify: bool,
        copy_weights: bool,
        communicator: object = ...,
        weights: object = ...,
    ) -> None: ...
    @property
    def ranks(self) -> int: ...
    @property
    def moved_bytes(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def variants(self) -> list[str]: ...
    @property
    def variant(self) -> str: ...
    @property
    def inputs(self) -> list[_Tensor]: ...
    @property
    def outputs(self) -> list[_Tensor]: ...
    @property
    def cases(self) -> list[tuple[str, str | None, list[_Tensor]]]: ...
    @property
    def metadata(self) -> list[tuple[str, str]]: ...
    @property
    def has_device(self) -> bool: ...
    def set_stream(self, stream: int) -> None: ...
    def output_shapes(self, input_shapes: list[tuple[int, ...] | None]) -> list[tuple[int, ...] | None]: ...
    def run(self, arrays: list[object], into: list[object | None] = ...) -> list[object]: ...

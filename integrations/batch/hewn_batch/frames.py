# SPDX-License-Identifier: Apache-2.0
"""FramePredictor: runs a model on pandas frames, for Dask's map_partitions and Spark's mapInPandas."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .predictor import Predictor

if TYPE_CHECKING:
    import hewn
    import pandas as pd

# Predictors of each thread by their arguments: each thread loads a library once, and runs of
# different threads don't wait for each other.
_loaded = threading.local()


def _converted(values: np.ndarray, dtype: np.dtype, prefix: str) -> np.ndarray:
    """Converts numbers of a frame to the type of an input, since the user usually did not choose the types of a frame.

    Only the precision of floats may be lost. Raises ValueError, whose message starts with `prefix`,
    if fractions would become integers or if a number is out of range.
    """
    # Also matches int4 of ml_dtypes.
    kind, whole = values.dtype.kind, re.fullmatch(r"(u?)int(\d+)", dtype.name)
    if kind not in "iufb" or dtype.kind == "O" or values.dtype == dtype:
        return values
    if kind == "f" and (whole or dtype.kind == "b"):
        raise ValueError(f"{prefix} hold fractions")
    if kind in "iu" and len(values) and (whole or dtype.kind == "b"):
        low, high = 0, 1
        if whole:
            unsigned, bits = bool(whole[1]), int(whole[2])
            low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for found in (int(values.min()), int(values.max())):
            if not low <= found <= high:
                raise ValueError(f"{prefix} hold {found}")
    with np.errstate(over="ignore"):
        converted = values.astype(dtype)
    if not (whole or dtype.kind == "b"):
        lost = np.isfinite(values) & ~np.isfinite(converted.astype(np.float64))
        if lost.any():
            raise ValueError(f"{prefix} hold {values[lost].flat[0]}")
    return converted


def _is_number(tensor: hewn.Tensor) -> bool:
    """Whether an output always has one number per row."""
    return tensor.shape is not None and not tensor.cases and all(dim == 1 for dim in tensor.shape[1:])


class FramePredictor:
    """A function from frame to frame.

    Pickling it only transfers its arguments; each thread of a worker loads the library once.

        dask_frame.map_partitions(predict, meta=predict.meta(dask_frame._meta))
        spark_frame.mapInPandas(predict.frames, schema)

    `inputs` maps each input to a column, whose rows are numbers or arrays, or to a list of columns,
    which form its second dim. By default, a single input takes all columns. `outputs` maps outputs
    to new columns as in Predictor. A new column contains numbers if the output has one number per
    row, otherwise lists. Column labels may be of any type.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        inputs: Mapping[str, Hashable | Sequence[Hashable]] | None = None,
        outputs: Mapping[str, str] | None = None,
        threads: int = 1,
        local: str | os.PathLike[str] | None = None,
    ) -> None:
        self.library, self.inputs, self.outputs = os.fspath(library), inputs, outputs
        self.threads, self.local = threads, local

    def _predictor(self) -> Predictor:
        known = _loaded.__dict__.setdefault("predictors", {})
        key = (self.library, self.threads, self.local, repr(self.outputs))
        if key not in known:
            known[key] = Predictor(self.library, outputs=self.outputs, threads=self.threads, local=self.local)
        return known[key]

    def _batch(self, frame: pd.DataFrame, predictor: Predictor) -> dict[str, np.ndarray]:
        tensors = predictor.module.inputs
        chosen: Mapping[str, Any] | None = self.inputs
        if chosen is None:
            if len(tensors) != 1:
                raise ValueError(f"the model has {len(tensors)} inputs: `inputs` must map each of them to columns")
            chosen = {tensors[0].name: list(frame.columns)}
        if unknown := sorted(chosen.keys() - {t.name for t in tensors}):
            raise ValueError(
                f"the model has no input called {', '.join(unknown)}; it has {', '.join(t.name for t in tensors)}"
            )
        batch = {}
        for tensor in tensors:
            columns = chosen.get(tensor.name, tensor.name)
            # A tuple may be a single label if the frame has a column MultiIndex.
            single = isinstance(columns, str) or not isinstance(columns, Iterable)
            single = single or (isinstance(columns, tuple) and columns in frame.columns)
            if missing := [c for c in ([columns] if single else columns) if c not in frame.columns]:
                raise ValueError(f"the frame has no column {', '.join(map(str, missing))}")
            values = frame[columns].to_numpy() if single else frame[list(columns)].to_numpy()
            names = [columns] if single else columns
            prefix = f"input '{tensor.name}' is {tensor.dtype}, its columns {', '.join(map(str, names))}"
            batch[tensor.name] = _converted(values, tensor.dtype, prefix)
        return batch

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Runs the model on a frame and returns the frame with additional columns for the outputs.

        An empty frame gets empty columns, and the model does not run.
        """
        predictor = self._predictor()
        if not len(frame):
            return self.meta(frame)
        results = predictor(self._batch(frame, predictor))
        outputs = {t.name: t for t in predictor.module.outputs}
        flat = {}
        for name, new in predictor.outputs.items():
            array = results[new]
            rows = len(array)
            flat[new] = array.reshape(rows) if _is_number(outputs[name]) else array.reshape(rows, -1).tolist()
        return frame.assign(**flat)

    def meta(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Returns an empty frame with the columns and types of the result (`meta` of Dask)."""
        predictor = self._predictor()
        outputs = {t.name: t for t in predictor.module.outputs}
        empty = frame.iloc[:0]
        for name, new in predictor.outputs.items():
            tensor = outputs[name]
            empty = empty.assign(**{new: np.empty(0, tensor.dtype if _is_number(tensor) else object)})
        return empty

    def frames(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Runs the model on each frame of an iterator and yields the results, as Spark's mapInPandas requires."""
        for frame in frames:
            yield self(frame)

# SPDX-License-Identifier: Apache-2.0
"""A model for pandas' frames: Dask's map_partitions, Spark's mapInPandas."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .predictor import Predictor

if TYPE_CHECKING:
    import pandas as pd

# Of each thread of a worker's process its own, by what they were made of: loaded once, and no two runs wait for each other.
_loaded = threading.local()


class FramePredictor:
    """A function from frame to frame, which is sent to workers as its arguments alone: each thread there loads the library once.

        dask_frame.map_partitions(predict, meta=predict.meta(dask_frame._meta))
        spark_frame.mapInPandas(predict.frames, schema)

    `inputs` says of each input a column, whose rows are numbers or arrays, or a list of columns, which are its second dim; one input takes
    all columns where nothing is said. `outputs` names the new columns as Predictor does: numbers where the output is of a number a row, lists otherwise.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        inputs: Mapping[str, str | Sequence[str]] | None = None,
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
        chosen = self.inputs
        if chosen is None:
            if len(tensors) != 1:
                raise ValueError(f"the model has {len(tensors)} inputs: `inputs` says which columns each is taken from")
            chosen = {tensors[0].name: list(frame.columns)}
        batch = {}
        for tensor in tensors:
            columns = chosen.get(tensor.name, tensor.name)
            single = isinstance(columns, str)
            if missing := [c for c in ([columns] if single else columns) if c not in frame.columns]:
                raise ValueError(f"the frame has no column {', '.join(map(str, missing))}")
            values = frame[columns].to_numpy() if single else frame[list(columns)].to_numpy()
            # A frame's numbers have no width that anybody chose: only fractions, which an integer has not, are refused.
            if values.dtype.kind in "iufb" and tensor.dtype != object and values.dtype != tensor.dtype:
                if values.dtype.kind == "f" and tensor.dtype.kind in "iub":
                    raise ValueError(f"input '{tensor.name}' is {tensor.dtype}, its columns hold fractions")
                values = values.astype(tensor.dtype)
            batch[tensor.name] = values
        return batch

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame, with the outputs' columns beside its own; a frame without rows stays one."""
        predictor = self._predictor()
        if not len(frame):
            return self.meta(frame)
        results = predictor(self._batch(frame, predictor))
        new = {c: results[c] for c in predictor.outputs.values()}
        flat = {
            c: a.reshape(len(a)) if a.size == len(a) else list(a.reshape(len(a), -1).tolist()) for c, a in new.items()
        }
        return frame.assign(**flat)

    def meta(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A frame without rows of what comes of one: what Dask calls meta."""
        predictor = self._predictor()
        outputs = {t.name: t for t in predictor.module.outputs}
        empty = frame.iloc[:0]
        for name, new in predictor.outputs.items():
            tensor = outputs[name]
            is_number = all(dim == 1 for dim in tensor.shape[1:]) and tensor.dtype != object
            empty = empty.assign(**{new: np.empty(0, tensor.dtype if is_number else object)})
        return empty

    def frames(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """The same for an iterator of frames, as Spark's mapInPandas has them."""
        for frame in frames:
            yield self(frame)

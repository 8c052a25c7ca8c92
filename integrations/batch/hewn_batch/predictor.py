# SPDX-License-Identifier: Apache-2.0
"""Predictor: runs a model on batches of columns (dicts of arrays), the format of Ray Data."""

from __future__ import annotations

import os
from collections.abc import Mapping

import hewn
import numpy as np

from .local import local_copy


def threads_of_worker() -> int:
    """Returns the default number of threads: the number of CPUs of this worker, or 1 if that is not set.

    Ray sets OMP_NUM_THREADS to `num_cpus`. The default is 1 because several workers already use the
    cores.
    """
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and int(told) > 0 else 1


def column(values: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """Returns a column as one array.

    If its rows are arrays, they are stacked; raises ValueError if their shapes differ. Does not
    convert types.
    """
    array = np.asarray(values)
    if array.dtype.kind == "O" and dtype.kind != "O":
        shapes = {np.shape(row) for row in array}
        if len(shapes) > 1:
            raise ValueError(
                f"rows of column '{name}' have different shapes: {', '.join(map(str, sorted(shapes)[:4]))}"
            )
        array = np.stack([np.asarray(row) for row in array]) if len(array) else np.empty(0, dtype)
    return array


class Predictor:
    """Runs a model on batches.

    Example: `dataset.map_batches(Predictor, fn_constructor_kwargs={"library": path}, concurrency=4,
    num_cpus=1)`.

    Each actor loads the library once, and all actors of a node map the same weights. For a library
    on a slow network share, `local` is a folder on the node's disk into which the first actor
    copies it. `inputs` maps inputs to columns, `outputs` maps outputs to new columns; by default,
    columns have the names of the inputs and outputs. Other columns are kept, except those in
    `drop`. `threads` defaults to threads_of_worker().

    Override `prepare` and `finish` to process batches in the same process without copies.
    """

    def __init__(
        self,
        library: str | os.PathLike[str],
        *,
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
        threads: int | None = None,
        local: str | os.PathLike[str] | None = None,
        drop: tuple[str, ...] = (),
    ) -> None:
        self.library = local_copy(library, local) if local else library
        self.module = hewn.load(self.library, threads=threads or threads_of_worker())
        self.inputs = {t.name: (inputs or {}).get(t.name, t.name) for t in self.module.inputs}
        self.outputs = dict(outputs) if outputs else {t.name: t.name for t in self.module.outputs}
        if unknown := sorted(
            (set(inputs or ()) - self.inputs.keys()) | (self.outputs.keys() - {t.name for t in self.module.outputs})
        ):
            raise ValueError(f"the model has no input or output called {', '.join(unknown)}")
        self.drop = set(drop)

    def prepare(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Preprocesses a batch before the model runs on it.

        Returns it unchanged unless a subclass overrides this method.
        """
        return batch

    def finish(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Postprocesses a batch, which contains the results of the model.

        Returns it unchanged unless a subclass overrides this method.
        """
        return batch

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the batch with a column for each output.

        Each output must have one row per row of the batch.
        """
        batch = self.prepare(batch)
        if missing := sorted(set(self.inputs.values()) - batch.keys()):
            raise ValueError(f"the batch has no column {', '.join(missing)}; it has {', '.join(sorted(batch))}")
        feeds = {t.name: column(batch[c := self.inputs[t.name]], t.dtype, c) for t in self.module.inputs}
        rows = {len(array) for array in feeds.values()}
        results = self.module.run(feeds, outputs=list(self.outputs))
        for name, array in results.items():
            if array.ndim == 0 or {len(array)} != rows:
                raise ValueError(f"output '{name}' has shape {array.shape}, but must have one row per row of the batch")
        kept = {name: values for name, values in batch.items() if name not in self.drop}
        return self.finish(kept | {self.outputs[name]: array for name, array in results.items()})

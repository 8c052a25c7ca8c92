# SPDX-License-Identifier: Apache-2.0
"""A model for batches of columns: dicts of arrays in and out, as Ray Data has them."""

from __future__ import annotations

import os
from collections.abc import Mapping

import hewn
import numpy as np

from .local import local_copy


def threads_of_worker() -> int:
    """Threads of a run where nothing is said: as many as the scheduler has given to this worker (Ray sets OMP_NUM_THREADS to `num_cpus`), and one
    where it says nothing: workers are what makes use of the cores."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and int(told) > 0 else 1


def column(values: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """A column as one array: of arrays as rows, which have to be of one shape, their stack. Types are not changed: ValueError says what is wrong."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and dtype.kind != "O":
        shapes = {np.shape(row) for row in array}
        if len(shapes) > 1:
            raise ValueError(f"rows of column '{name}' are of unlike shapes: {', '.join(map(str, sorted(shapes)[:4]))}")
        array = np.stack([np.asarray(row) for row in array]) if len(array) else np.empty(0, dtype)
    return array


class Predictor:
    """`dataset.map_batches(Predictor, fn_constructor_kwargs={"library": path}, concurrency=4, num_cpus=1)`.

    An actor loads the library once. All actors of a node map the same weights; `local`, a folder on the node's own disk, is for a library on a
    slow share: the first actor copies it there. `inputs` says which column an input is taken from, `outputs` what the column of an output is
    called; without them both have the same name. Other columns stay. `threads`: see threads_of_worker.

    To prepare or to finish batches in the same process, without a copy in between, override `prepare` and `finish`.
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
        """What is done to a batch before the model."""
        return batch

    def finish(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What is done to a batch, with the model's results in it, after."""
        return batch

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The batch with a column for each output; a row in is a row out."""
        batch = self.prepare(batch)
        if missing := sorted(set(self.inputs.values()) - batch.keys()):
            raise ValueError(f"the batch has no column {', '.join(missing)}; it has {', '.join(sorted(batch))}")
        feeds = {t.name: column(batch[c := self.inputs[t.name]], t.dtype, c) for t in self.module.inputs}
        rows = {len(array) for array in feeds.values()}
        results = self.module.run(feeds, outputs=list(self.outputs))
        for name, array in results.items():
            if array.ndim == 0 or {len(array)} != rows:
                raise ValueError(f"output '{name}' is of shape {array.shape}: it has no row for each row of the batch")
        kept = {name: values for name, values in batch.items() if name not in self.drop}
        return self.finish(kept | {self.outputs[name]: array for name, array in results.items()})

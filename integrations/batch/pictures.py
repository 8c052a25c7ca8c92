# SPDX-License-Identifier: Apache-2.0
"""Example: classifies a folder of images with Ray Data on several workers.

    `python pictures.py --make 2000 images/`
    `python pictures.py images/ --library model.so --workers 2 --output classes/`

The input of the model is float32 [batch, 3, height, width] with values from 0 to 1; its output is a
score per class. The result has a row per file with its path and its class.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import time
from typing import Any

import numpy as np
import ray
from hewn_batch import Predictor
from PIL import Image

# Exceptions of Pillow for files that are not images, are damaged, or are so large that it suspects
# an attack.
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)


class Pictures(Predictor):
    """Maps paths to classes.

    Also returns the error if an image could not be read (its class is -1), the worker, and the
    time.

    Workers read the images themselves. So Ray's object store only contains paths and classes, and
    no separate tasks read images. Such tasks need a core; if the workers reserve all cores, Ray
    waits forever.
    """

    def prepare(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Reads the images of a batch and scales them to the input size of the model."""
        shape: Any = self.module.inputs[0].shape
        height, width = shape[2:]
        pictures = np.zeros((len(batch["path"]), 3, height, width), np.float32)
        errors = np.full(len(pictures), "", object)
        for row, path in enumerate(batch["path"]):
            try:
                with Image.open(path) as picture:
                    pixels = np.asarray(picture.convert("RGB").resize((width, height)), np.float32)
                pictures[row] = pixels.transpose(2, 0, 1) / 255
            except UNREADABLE as problem:
                errors[row] = str(problem) or type(problem).__name__
        return {"path": batch["path"], "error": errors, self.module.inputs[0].name: pictures}

    def finish(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the classes of a batch."""
        scores = batch[next(iter(self.outputs.values()))]
        count = len(batch["path"])
        best = scores.reshape(count, -1).argmax(axis=1)
        return {
            "path": batch["path"],
            "class": np.where(batch["error"] == "", best, -1),
            "error": batch["error"],
            "pid": np.full(count, os.getpid()),
            "finished": np.full(count, time.time()),
        }


def classes(
    folder: pathlib.Path, library: pathlib.Path, workers: int, batch_size: int = 16, model: type[Predictor] = Pictures
) -> ray.data.Dataset:
    """Returns the dataset of results, which Ray computes when it is read.

    If a worker dies, Ray restarts it and repeats its batch. A worker has at most two blocks queued,
    so that workers that start late also get work. Raises ValueError if the folder is empty.
    """
    paths = [{"path": str(path)} for path in sorted(folder.iterdir())]
    if not paths:
        raise ValueError(f"there are no images in '{folder}'")
    blocks = max(4 * workers, len(paths) // 256)
    return ray.data.from_items(paths, override_num_blocks=min(blocks, len(paths))).map_batches(
        model,
        fn_constructor_kwargs={"library": str(library)},
        batch_size=batch_size,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
    )


def rate(found: ray.data.Dataset) -> float:
    """Returns images per second while all workers were active.

    The time is from when each worker had completed a batch until the first worker completed its
    last batch. Excludes the start of the workers.
    """
    rows = found.to_pandas(limit=None)
    by_worker = rows.groupby("pid")["finished"]
    begin, end = by_worker.min().max(), by_worker.max().min()
    return ((rows["finished"] > begin) & (rows["finished"] <= end)).sum() / max(end - begin, 1e-9)


def make(folder: pathlib.Path, count: int, size: tuple[int, int] = (64, 64)) -> None:
    """Writes images of noise, each with its own seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:06}.png")


def main() -> None:
    """Classifies the images of a folder, or writes test images."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", type=int, metavar="COUNT", help="only write this number of test images to the folder")
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path)
    given = parser.parse_args()
    if given.make:
        make(given.folder, given.make)
        return
    if given.library is None or not given.folder.is_dir() or not any(given.folder.iterdir()):
        parser.error("--library is missing" if given.library is None else f"there are no images in '{given.folder}'")
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    start = time.perf_counter()
    found = classes(given.folder, given.library, given.workers).materialize()
    seconds = time.perf_counter() - start
    if given.output:
        found.write_parquet(str(given.output))
    print(
        f"{found.count()} images by {given.workers} workers: {found.count() / seconds:.0f}/s, "
        f"{rate(found):.0f}/s while all workers are active"
    )


if __name__ == "__main__":
    main()

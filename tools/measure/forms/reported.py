# SPDX-License-Identifier: Apache-2.0
"""Single-op models from public bug reports of ONNX engines.

One engine or another runs each of these forms much slower than its peers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .form import FLOAT, LONG, Fed, Form, longs, weights

NONE = np.array([], FLOAT)


def repetitions() -> Iterator[Form]:
    """Yields tiles, and pads that repeat elements."""
    for dynamic in (False, True):
        yield Form("repetition", "Tile", [(64, 64), longs(8, 8)], dynamic=dynamic)
        yield Form("repetition", "Tile", [(1000, 100), longs(1, 4)], dynamic=dynamic)
        yield Form("repetition", "Tile", [(16, 1, 256), longs(1, 32, 1)], dynamic=dynamic)
        for mode in ("reflect", "wrap"):
            audio, image = longs(0, 200, 0, 200), longs(0, 0, 3, 3, 0, 0, 3, 3)
            yield Form("repetition", "Pad", [(1, 160000), audio], {"mode": mode}, dynamic=dynamic)
            yield Form("repetition", "Pad", [(1, 16, 128, 128), image], {"mode": mode}, dynamic=dynamic)
    yield Form("repetition", "Tile", [(64, 64), Fed(longs(8, 8))], note="runtime repeats")


def antialiased_resizes() -> Iterator[Form]:
    """Yields forms with constant sizes, with dynamic dims, and with sizes that are an input."""
    for mode, (shape, size) in itertools.product(
        ("linear", "cubic"), (((1, 3, 256, 256), 64), ((1, 3, 1024, 1024), 224), ((1, 8, 64, 64), 96))
    ):
        sizes = longs(size, size)
        how = {"mode": mode, "antialias": 1, "axes": [2, 3]}
        yield Form("antialiased", "Resize", [shape, NONE, NONE, sizes], how, note=f"to {size}")
        yield Form("antialiased", "Resize", [shape, NONE, NONE, sizes], how, note=f"to {size}", dynamic=True)
        yield Form("antialiased", "Resize", [shape, NONE, NONE, Fed(sizes)], how, note=f"to {size}, runtime sizes")
    for size in (26, 64):
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        how["axes"] = [2, 3]
        inputs = [(1, 64, 26, 26), NONE, NONE, longs(size, size)]
        yield Form("antialiased", "Resize", inputs, how, note=f"to {size}", dynamic=True)


def long_windows() -> Iterator[Form]:
    """Yields pooling ops with large windows."""
    for window, dynamic in itertools.product((51, 201, 1001), (False, True)):
        for stride in (1, 16):
            how: dict[str, Any] = {"kernel_shape": [window], "strides": [stride], "pads": [window // 2] * 2}
            yield Form("long windows", "MaxPool", [(1, 4, 16000)], how, dynamic=dynamic)
            yield Form("long windows", "AveragePool", [(1, 4, 16000)], how, dynamic=dynamic)
    for shape, sizes in (((1, 16, 112, 112), [31, 31]), ((1, 8, 16, 28, 28), [7, 7, 7])):
        for strides, include in itertools.product(([1], [4]), (0, 1)):
            pads = [size // 2 for size in sizes] * 2
            how = {"kernel_shape": sizes, "strides": strides * len(sizes), "pads": pads, "count_include_pad": include}
            yield Form("long windows", "AveragePool", [shape], how)


def small_images() -> Iterator[Form]:
    """Yields convolutions of feature maps that are smaller than the window, and of one row."""
    for size, dynamic in itertools.product((1, 2, 4), (False, True)):
        # dims of up to 2 elements are symbols in no form: the channels are constant in both
        yield Form(
            "small images", "Conv", [(1, 256, size, size), weights(256, 256, 3, 3)], {"pads": [1] * 4}, dynamic=dynamic
        )
    for dynamic in (False, True):
        yield Form("small images", "Conv", [(1, 64, 1, 200), weights(64, 64, 3, 3)], {"pads": [1] * 4}, dynamic=dynamic)
        how = {"pads": [24] * 4, "dilations": [24, 24]}
        yield Form("small images", "Conv", [(1, 64, 28, 28), weights(64, 64, 3, 3)], how, dynamic=dynamic)
        for window, stride in ((16, 8), (10, 5)):
            inputs = [(1, 1, 16000), weights(512, 1, window)]
            yield Form("small images", "Conv", inputs, {"strides": [stride]}, dynamic=dynamic)


def tables() -> Iterator[Form]:
    """Yields label encoders with tables of several sizes."""
    generator = np.random.default_rng(3)
    for count in (5, 50, 1000, 10000):
        keys = generator.permutation(4 * count)[:count].tolist()
        how = {"keys_int64s": keys, "values_int64s": list(range(count))}
        values = Fed(generator.integers(0, 4 * count, 4096))
        yield Form("tables", "LabelEncoder", [values], how, note=f"{count} keys", domain="ai.onnx.ml", opset=3)
        how = {"keys_int64s": keys, "values_floats": [float(i) for i in range(count)]}
        yield Form(
            "tables", "LabelEncoder", [values], how, note=f"{count} keys to floats", domain="ai.onnx.ml", opset=3
        )
    for count, words in ((2000, 64), (30000, 64), (130000, 64)):
        pool = generator.permutation(count).tolist()
        how = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
               "ngram_indexes": list(range(count)), "pool_int64s": pool}  # fmt: skip
        yield Form("tables", "TfIdfVectorizer", [Fed(generator.integers(0, count, words))], how, note=f"{count} words")
    for kind in (LONG, np.float64, np.int32, np.uint8, np.float16):
        given = generator.integers(0, 250, 100000).astype(kind)
        for count in (10, 5000, 100000):
            inputs = [Fed(given), longs(count)]
            yield Form("tables", "TopK", inputs, note=f"k {count} {np.dtype(kind).name}", outputs=2)


def wide_floats() -> Iterator[Form]:
    """Yields ops on float64."""
    for op in "Tanh Exp Sigmoid Sin Log Sqrt".split():
        yield Form("float64", op, [Fed(np.random.default_rng(5).uniform(0.1, 4, (256, 768)))])
    yield Form("float64", "Softmax", [Fed(np.random.default_rng(5).standard_normal((256, 768)))])
    yield Form("float64", "Pow", [Fed(np.random.default_rng(5).uniform(0.1, 4, (256, 768))), np.array(2.5)])


FAMILIES = (repetitions, antialiased_resizes, long_windows, small_images, tables, wide_floats)

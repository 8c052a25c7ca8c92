# SPDX-License-Identifier: Apache-2.0
"""Generates invalid inputs: in each set of inputs, one symbolic dim is too large, too small, 0, 1
or huge, or one index is out of range.

hewn must reject a run for which ONNX defines no result, and must not crash. If the dims happen to
match, the results are compared.
"""

import copy
import random

import numpy as np
from generate import Case
from records import I32, I64

OPEN_DIMS = 3
LARGE = 4099
MOST_ELEMENTS = 1 << 20
FAR = (1 << 40, -(1 << 40), 100, -100)


def next_to_valid(feed):
    """Returns indices and lengths that are just outside of the range that some dim gives."""
    sizes = {size for array in feed.values() for size in array.shape}
    return sorted({-1, *sizes, *(size + 1 for size in sizes), *(-size - 1 for size in sizes)})


def opened(case, choice):
    """Returns the model with some input dims made symbolic, and the list of these dims."""
    model = copy.deepcopy(case.model)
    places = [(i, d) for i in model.graph.input for d in range(len(i.type.tensor_type.shape.dim))]
    chosen = choice.sample(places, min(OPEN_DIMS, len(places)))
    for number, (info, d) in enumerate(chosen):
        info.type.tensor_type.shape.dim[d].dim_param = f"open{number}"
    symbols = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    return model, [(i.name, d) for i, d in places if i.type.tensor_type.shape.dim[d].dim_param in symbols]


def resized(array, dim, size):
    """Changes the size of one dim: truncates, or repeats from the start."""
    if not array.shape[dim]:
        shape = list(array.shape)
        shape[dim] = size
        return np.zeros(shape, array.dtype)
    return np.ascontiguousarray(np.take(array, np.arange(size) % array.shape[dim], axis=dim))


def unfit(case, seed):
    """Returns the case with its valid inputs, followed by sets of invalid ones."""
    choice = random.Random(seed)
    model, places = opened(case, choice)
    feed, feeds = case.feeds[0], [case.feeds[0]]
    for name, d in places:
        size = feed[name].shape[d]
        for other in dict.fromkeys((size + 1, size - 1, 0, 1, LARGE)):
            if other >= 0 and other != size and feed[name].size // max(size, 1) * other <= MOST_ELEMENTS:
                feeds.append({**feed, name: resized(feed[name], d, other)})
    for name, value in feed.items():
        if value.dtype in (I64, I32) and value.size:
            for numbers in (FAR, next_to_valid(feed)):
                wild = value.copy()
                wild.flat[choice.randrange(value.size)] = np.asarray(choice.choice(numbers)).astype(value.dtype)
                feeds.append({**feed, name: wild})
    return Case(case.name, model, feeds)

# SPDX-License-Identifier: Apache-2.0
"""Inputs that do not fit: dims that a model leaves open are once too long, too short, 0, 1 and large, and indices are out of range.

A run that ONNX has no answer for must be refused, and none may crash; where dims happen to fit, results are compared.
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


def opened(case, choice):
    """The model with some dims of its inputs left open, each under a name of its own; and which these are."""
    model = copy.deepcopy(case.model)
    places = [(i, d) for i in model.graph.input for d in range(len(i.type.tensor_type.shape.dim))]
    chosen = choice.sample(places, min(OPEN_DIMS, len(places)))
    for number, (info, d) in enumerate(chosen):
        info.type.tensor_type.shape.dim[d].dim_param = f"open{number}"
    symbols = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    return model, [(i.name, d) for i, d in places if i.type.tensor_type.shape.dim[d].dim_param in symbols]


def resized(array, dim, size):
    """The array with a dim of another size: cut, or repeated from its start."""
    if not array.shape[dim]:
        shape = list(array.shape)
        shape[dim] = size
        return np.zeros(shape, array.dtype)
    return np.ascontiguousarray(np.take(array, np.arange(size) % array.shape[dim], axis=dim))


def unfit(case, seed):
    """The case with inputs that fit, and after them those that do not."""
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
            wild = value.copy()
            wild.flat[choice.randrange(value.size)] = np.asarray(choice.choice(FAR)).astype(value.dtype)
            feeds.append({**feed, name: wild})
    return Case(case.name, model, feeds)

# SPDX-License-Identifier: Apache-2.0
"""What a model gets, and how near to the host's the results of a GPU must be."""

import numpy as np


def feeds_for(inputs):
    """The same numbers each time; dims that are known only when run are 5."""
    random = np.random.default_rng(0)
    feeds = {}
    for tensor in inputs:
        shape = [dim if isinstance(dim, int) else 5 for dim in tensor.shape]
        floats = np.dtype(tensor.dtype).kind == "f"
        values = random.standard_normal(shape) if floats else random.integers(0, 100, shape)
        feeds[tensor.name] = values.astype(tensor.dtype)
    return feeds


def compare(got, want):
    """Floats to their type's accuracy, relative to the largest of them too; all else exactly."""
    assert got.keys() == want.keys()
    for name, values in want.items():
        scale = np.abs(values.astype(np.float64)).max(initial=0) if values.dtype.kind == "f" else 0
        tolerance = (2e-3 if values.dtype == np.float16 else 1e-5) if values.dtype.kind == "f" else 0
        np.testing.assert_allclose(got[name], values, rtol=tolerance, atol=tolerance * max(scale, 1e-3), err_msg=name)

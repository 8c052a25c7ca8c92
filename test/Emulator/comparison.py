# SPDX-License-Identifier: Apache-2.0
"""Inputs for models, and the comparison of a GPU's results with the host's."""

import numpy as np


def feeds_for(inputs):
    """Returns random inputs for a model, which are the same in each call. A dynamic dim gets size
    5."""
    random = np.random.default_rng(0)
    feeds = {}
    for tensor in inputs:
        shape = [dim if isinstance(dim, int) else 5 for dim in tensor.shape]
        floats = np.dtype(tensor.dtype).kind == "f"
        values = random.standard_normal(shape) if floats else random.integers(0, 100, shape)
        feeds[tensor.name] = values.astype(tensor.dtype)
    return feeds


def compare(got, want):
    """Compares floats with a tolerance that depends on the type and is also relative to the largest
    element. Compares other types exactly."""
    assert got.keys() == want.keys()
    for name, values in want.items():
        scale = np.abs(values.astype(np.float64)).max(initial=0) if values.dtype.kind == "f" else 0
        tolerance = (2e-3 if values.dtype == np.float16 else 1e-5) if values.dtype.kind == "f" else 0
        np.testing.assert_allclose(got[name], values, rtol=tolerance, atol=tolerance * max(scale, 1e-3), err_msg=name)

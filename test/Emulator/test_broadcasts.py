# SPDX-License-Identifier: Apache-2.0
"""Reductions and values of other ranks in one kernel: each at its own place, as on the host (test/Numeric/test_broadcasts.py)."""

import emulated
import pytest
from broadcasts import check, model_of


@pytest.mark.parametrize("first", [40])
def test_chains(first):
    model, feeds, want = model_of(range(first, first + 40))
    with emulated.compiled(model) as module:
        check(module.run(feeds), want)

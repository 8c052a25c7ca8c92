# SPDX-License-Identifier: Apache-2.0
"""Kernels that combine reductions with broadcast operands of other ranks. The host computes the
expected results (test/Numeric/test_broadcasts.py)."""

import emulated
import pytest
from broadcasts import check, model_of


@pytest.mark.parametrize("first", [40])
def test_chains(first):
    model, feeds, want = model_of(range(first, first + 40))
    with emulated.compiled(model) as module:
        check(module.run(feeds), want)

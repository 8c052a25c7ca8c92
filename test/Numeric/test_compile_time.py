# SPDX-License-Identifier: Apache-2.0
"""A graph of twice as many nodes compiles in about twice the time (tools/compile_time.py has the figures)."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools"))
import compile_time

# Forms that compile so fast that only large ones show what is not linear.
COUNTS = {"fan": 20000}


@pytest.mark.parametrize("form", compile_time.FORMS)
def test_compile_time_is_linear(form):
    def fastest(count):
        return min(compile_time.seconds(compile_time.FORMS[form](count), "plan") for _ in range(2))

    count = COUNTS.get(form, 3000)
    assert fastest(count) < 3 * fastest(count // 2) + 0.05

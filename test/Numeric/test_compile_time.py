# SPDX-License-Identifier: Apache-2.0
"""A graph of twice as many nodes compiles in about twice the time (tools/compile_time.py has the figures)."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools"))
import compile_time

# Not linear yet. Who mends one takes its line out.
WORSE = {"fan": "each read of a value looks through all of its readers for one that assembles it (plan::assemblyOf)"}
FORMS = [
    pytest.param(form, marks=pytest.mark.xfail(reason=WORSE[form], strict=False) if form in WORSE else ())
    for form in compile_time.FORMS
]


@pytest.mark.parametrize("form", FORMS)
def test_compile_time_is_linear(form):
    def fastest(count):
        return min(compile_time.seconds(compile_time.FORMS[form](count), "plan") for _ in range(2))

    assert fastest(3000) < 3 * fastest(1500) + 0.05

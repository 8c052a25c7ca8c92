# SPDX-License-Identifier: Apache-2.0
"""A graph of twice as many nodes compiles in about twice the time (tools/measure/compile_time.py has the figures)."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools" / "measure"))
import compile_time

# Forms that compile so fast that only large ones show what is not linear.
COUNTS = {"fan": 20000}


@pytest.mark.parametrize("form", compile_time.FORMS)
def test_compile_time_is_linear(form):
    def fastest(count):
        return min(compile_time.seconds(compile_time.FORMS[form](count), "plan") for _ in range(2))

    count = COUNTS.get(form, 3000)
    assert fastest(count) < 3 * fastest(count // 2) + 0.05


def test_more_nodes_than_the_limit_compile_where_it_is_raised(tmp_path):
    """2^17 nodes in a row, twice the limit, to machine code; what is imported of them is in test/Error/limits.test."""
    folder = pathlib.Path(__file__).parents[1] / "Error" / "Inputs"
    subprocess.run([sys.executable, folder / "limits.py", tmp_path], check=True)
    tool = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    flags = ["--compile-only", "--limit", "nodes=1000000"]
    subprocess.run([tool, "check", tmp_path / "calls.onnx", *flags], check=True, timeout=600)

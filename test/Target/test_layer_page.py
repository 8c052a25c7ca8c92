# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages of docs/generated that contain output of the compiler are up to date."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("generator", ["layer_page.py", "status.py"])
def test_page_is_fresh(generator):
    hewn = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    subprocess.run([sys.executable, ROOT / "tools/generate" / generator, "--hewn", hewn, "--check"], check=True)

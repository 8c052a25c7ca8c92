# SPDX-License-Identifier: Apache-2.0
"""docs/generated/a-resnet-layer.md is what the compiler makes today."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_page_is_fresh():
    hewn = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
    subprocess.run([sys.executable, ROOT / "tools" / "gen_layer_page.py", "--hewn", hewn, "--check"], check=True)

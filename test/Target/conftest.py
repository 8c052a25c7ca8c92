# SPDX-License-Identifier: Apache-2.0
"""Oracles that test/Numeric has too."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))

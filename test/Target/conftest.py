# SPDX-License-Identifier: Apache-2.0
"""Adds test/Numeric to the path of modules, since its reference functions are used here."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))

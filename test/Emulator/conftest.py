# SPDX-License-Identifier: Apache-2.0
"""Makes the models of other test folders importable."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).parents[1]
sys.path += [
    str(TESTS / folder) for folder in ("Target", "Numeric", "Numeric/Memory", "Numeric/Ops", "Numeric/Invalid")
]

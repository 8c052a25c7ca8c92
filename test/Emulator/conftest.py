# SPDX-License-Identifier: Apache-2.0
"""Models that other folders' tests have too."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).parents[1]
sys.path += [str(TESTS / folder) for folder in ("Target", "Numeric", "Numeric/Memory", "Numeric/Ops")]

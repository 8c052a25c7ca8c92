# SPDX-License-Identifier: Apache-2.0
"""What the folders in here share with this one."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))

# SPDX-License-Identifier: Apache-2.0
"""What the folders in here share with this one; other processors (processors.py), and parts of the tests for them (HEWN_SHARD=i/n)."""

import os
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parent))


def pytest_collection_modifyitems(items):
    i, n = map(int, os.environ.get("HEWN_SHARD", "0/1").split("/"))
    items[:] = items[i::n]
    if processor := os.environ.get("HEWN_PROCESSOR"):
        import processors

        missing = processors.emulate(processor)
        for item in items:
            if why := missing or processors.is_of_this_machine(item, processor):
                item.add_marker(pytest.mark.skip(reason=why))

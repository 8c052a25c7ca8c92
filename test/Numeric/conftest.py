# SPDX-License-Identifier: Apache-2.0
"""What the folders in here share with this one; other processors (processors.py), and parts of the tests for them (shards.py)."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent)]
import shards  # noqa: E402


def pytest_collection_modifyitems(items):
    shards.keep_shard(items)
    if processor := os.environ.get("HEWN_PROCESSOR"):
        import processors

        missing = processors.emulate(processor)
        for item in items:
            if why := missing or processors.is_of_this_machine(item, processor):
                item.add_marker(pytest.mark.skip(reason=why))

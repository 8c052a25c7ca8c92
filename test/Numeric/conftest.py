# SPDX-License-Identifier: Apache-2.0
"""Adds this folder to the path, selects a shard of the tests (shards.py), and sets up the emulated
processor (processors.py)."""

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
            elif why := processors.fails(item, processor):
                item.add_marker(pytest.mark.xfail(reason=why, strict=True))

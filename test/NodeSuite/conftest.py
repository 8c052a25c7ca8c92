# SPDX-License-Identifier: Apache-2.0
"""Parts of the suite (test/shards.py); HEWN_PROCESSOR=max runs them on a processor that qemu emulates (test/Numeric/processors.py)."""

import os
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path.append(str(TESTS))
import shards  # noqa: E402


def pytest_collection_modifyitems(items):
    shards.keep_shard(items)
    if processor := os.environ.get("HEWN_PROCESSOR"):
        sys.path.append(str(TESTS / "Numeric"))
        import processors

        if why := processors.emulate(processor):
            for item in items:
                item.add_marker(pytest.mark.skip(reason=why))

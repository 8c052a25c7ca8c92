# SPDX-License-Identifier: Apache-2.0
"""HEWN_SHARD=i/n takes every n-th case from the i-th on, so that ctest can run the suite in parts; HEWN_PROCESSOR=max runs them on a
processor that qemu emulates (test/Numeric/processors.py)."""

import os
import pathlib
import sys

import pytest


def pytest_collection_modifyitems(items):
    i, n = map(int, os.environ.get("HEWN_SHARD", "0/1").split("/"))
    items[:] = items[i::n]
    if processor := os.environ.get("HEWN_PROCESSOR"):
        sys.path.append(str(pathlib.Path(__file__).parents[1] / "Numeric"))
        import processors

        if why := processors.emulate(processor):
            for item in items:
                item.add_marker(pytest.mark.skip(reason=why))

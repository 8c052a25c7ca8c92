# SPDX-License-Identifier: Apache-2.0
"""Selects a shard of the suite (test/shards.py). HEWN_PROCESSOR=max runs it on a processor that
qemu emulates (test/Numeric/processors.py)."""

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


def pytest_terminal_summary(terminalreporter):
    """Lists the cases that pass within the rounding error of their type only (ROUNDED)."""
    reports = terminalreporter.getreports("passed")
    names = sorted({value for report in reports for key, value in report.user_properties if key == "rounded"})
    if names:
        terminalreporter.section("within two units in the last place (docs/decisions/numbers/half-precision.md)")
        for name in names:
            terminalreporter.line(name)

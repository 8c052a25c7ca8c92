# SPDX-License-Identifier: Apache-2.0
"""Tests that a library that tools/measure/older_processor.py has patched detects an older
processor, and that its own illegal instructions still raise SIGILL."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "measure"))
import older_processor

ASKS = r"""
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **arguments) {
  unsigned a, b, c, d, e, f;
  __cpuid_count(7, 0, a, b, c, d);
  __cpuid(1, a, e, f, d);
  if (count > 1)
    __asm__ volatile("ud2");
  printf("%u %u %u %u\n", b >> 16 & 1, c >> 11 & 1, b >> 5 & 1, f >> 28 & 1);
}
"""


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asking")
    (folder / "asks.c").write_text(ASKS)
    subprocess.run(["cc", "-O1", "-o", folder / "asks", folder / "asks.c"], check=True)
    (folder / "held").write_bytes(older_processor.held(folder / "asks"))
    (folder / "held").chmod(0o755)
    answers = older_processor.built(folder)
    return folder, answers


def run(asking, name, level=3, *arguments):
    folder, answers = asking
    variables = {**os.environ, "LD_PRELOAD": str(answers), "HELD_LEVEL": str(level)}
    return subprocess.run([folder / name, *arguments], env=variables, capture_output=True, text=True, check=False)


def features(asking, name, level=3):
    """Returns four flags: whether the program detects AVX512F, AVX512-VNNI, AVX2 and AVX."""
    return [int(bit) for bit in run(asking, name, level).stdout.split()]


def test_levels(asking):
    has = features(asking, "asks")
    assert features(asking, "held", 2) == [0, 0, 0, 0]
    assert features(asking, "held", 3) == [0, 0, *has[2:]]
    assert features(asking, "held", 4) == [has[0], 0, *has[2:]]


def test_what_is_illegal_stays_so(asking):
    assert run(asking, "held", 3, "ud2").returncode == -signal.SIGILL


def test_nothing_to_hold(tmp_path):
    (tmp_path / "empty.c").write_text("int nothing(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-o", tmp_path / "empty.so", tmp_path / "empty.c"], check=True)
    assert older_processor.held(tmp_path / "empty.so") is None

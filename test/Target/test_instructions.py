# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a run with callgrind: the number must be within 2 % of
instructions.txt. It does not depend on other load of the machine.

The target is x86-64-v3, the highest level that valgrind supports. One process runs a library once,
another process three times; half of the difference is the number of instructions of one run.
"""

import pathlib
import re
import shutil
import subprocess

import pytest
from libraries import MODELS, build_runner, compile_library

VALGRIND = shutil.which("valgrind")
TABLE = pathlib.Path(__file__).with_name("instructions.txt")
RECORDED = {line.split()[0]: line.split()[1] for line in TABLE.read_text().splitlines() if not line.startswith("#")}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return build_runner(tmp_path_factory.mktemp("runner"))


def count(runner, library, runs):
    command = [VALGRIND, "--tool=callgrind", "--callgrind-out-file=/dev/null", runner, library, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@pytest.mark.skipif(not VALGRIND, reason="no valgrind here")
@pytest.mark.parametrize("name", MODELS)
def test_instructions_of_a_run(name, runner, tmp_path):
    library = compile_library(MODELS[name](), tmp_path, name, "--target=x86-64-v3")
    found = (count(runner, library, 3) - count(runner, library, 1)) // 2
    want = int(RECORDED[name])
    assert abs(found - want) <= 0.02 * want, f"{name} takes {found} instructions, {TABLE.name} has {want}"

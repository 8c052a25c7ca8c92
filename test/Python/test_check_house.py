# SPDX-License-Identifier: Apache-2.0
"""tools/check-house finds figures of machines where none may stand, in a tree that has nothing else."""

import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "tools" / "check-house"

FIGURES = {
    "lib/Schedule/a.cpp": [
        "constexpr double cacheRate = 48, sharedRate = 128;",
        "constexpr double partCycles = 2500;",
        "constexpr double first = 1, launchLatency = 3000;",
        "inline constexpr int64_t kMostThreadRegisters = 255;",
        "static constexpr int64_t kLineWords = 16;",
        "constexpr int64_t line = 64;",
        "int64_t most = registers >= 32 ? 14 : 7;",
        "bool isShort = target.getVectorBytes() <= 16;",
    ],
    "dialects/Plan/Machine.td": ['let parameters = (ins DefaultValuedParameter<"int64_t", "512">:$rate);'],
}
FINE = {
    "lib/Schedule/a.cpp": [
        "double rate = double(costs.getRate()), cycles = 0;",
        "constexpr int64_t fewRows = 4, mostColumns = 128;",
        "if (costs.getMeetingCycles() == 0 || target.getL1Ways() == 0)",
        "int64_t most = registers / 2;",
    ],
    "lib/Target/Some/b.cpp": ["constexpr int64_t cacheRate = 48;"],
    "dialects/Plan/Machine.td": ['let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$groupRate);'],
}


def found(root, files):
    for name, lines in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// SPDX-License-Identifier: Apache-2.0\n" + "\n".join(lines) + "\n")
        (path.parent / "README.md").write_text("A page.\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    return subprocess.run([CHECK, root], capture_output=True, text=True).stdout


@pytest.mark.parametrize("name, line", [(name, line) for name, lines in FIGURES.items() for line in lines])
def test_finds_figures(tmp_path, name, line):
    text = found(tmp_path, {name: [line]})
    assert f"{name}:2: " in text and "figure of a machine" in text


def test_leaves_others(tmp_path):
    text = found(tmp_path, FINE)
    assert "figure of a machine" not in text
    assert "files keep the rules" in text

# SPDX-License-Identifier: Apache-2.0
"""Checks the spelling by codespell.

words.txt lists words of hewn that codespell reports by mistake, one per line in lower case.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from linting.prose import EXCLUDED
from linting.tree import SOURCES, Tree

WORDS = Path(__file__).parent / "words.txt"
#: Matches names in camelBack or with several capitals, which are not checked.
NAMES = r"\b[a-z]+[A-Z]\w*\b|\b[A-Z]+[a-z]*[A-Z]\w*\b"


def check(tree: Tree) -> Iterator[str]:
    """Yields each misspelled word that codespell reports."""
    if not shutil.which("codespell"):
        yield "codespell is not installed: run tools/setup"
        return
    files = [
        name
        for name in tree.names
        if (Path(name).suffix in SOURCES | {".md", ".cmake", ".txt"} or name.startswith("tools/"))
        and not name.startswith((*EXCLUDED, "test/Fuzz/"))
        and "/Inputs/" not in name
    ]
    if not files:
        return
    command = ["codespell", "--ignore-words", str(WORDS), "--ignore-regex", NAMES, *files]
    found = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
    yield from (line.replace(" ==>", ": write") for line in found.stdout.splitlines())

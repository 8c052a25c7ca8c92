# SPDX-License-Identifier: Apache-2.0
"""Rules on the sizes of files, of Python functions and of folders. clang-tidy checks function sizes of C and C++."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from linting.tree import SOURCES, Tree

MAX_LINES = {".td": 400}
MAX_LINES_OF_OTHERS = 800
MAX_FUNCTION_LINES = 100
#: Maximum number of entries of a folder. Contents.h, Contents.cpp and ContentsInterpreter.cpp count
#: as one entry.
MAX_ENTRIES = 24
MEANINGLESS_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}


def check(tree: Tree) -> Iterator[str]:
    """Yields each file, function and folder that exceeds its limit."""
    for name in tree.sources():
        yield from _check_file(name, tree.text(name))
    entries = defaultdict(set)
    for name in tree.names:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            entries["/".join(parts[:depth])].add(parts[depth])
    for folder, names in sorted(entries.items()):
        yield from _check_folder(folder, names)


def _check_file(name: str, text: str) -> Iterator[str]:
    path, lines = Path(name), text.splitlines()
    limit = MAX_LINES.get(path.suffix, MAX_LINES_OF_OTHERS)
    if len(lines) > limit:
        yield f"{name}: {len(lines)} lines; the limit is {limit}"
    if path.stem.lower() in MEANINGLESS_NAMES:
        yield f"{name}: the name does not say what the file contains"
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield f"{name}: no SPDX line at its start"
    if path.suffix == ".py":
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            yield f"{name}:{error.lineno}: {error.msg}"
            return
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MAX_FUNCTION_LINES:
                    yield f"{name}:{node.lineno}: function of {count} lines; the limit is {MAX_FUNCTION_LINES}"


def _check_folder(folder: str, names: set[str]) -> Iterator[str]:
    is_test, depth = folder.split("/")[0] == "test", folder.count("/") + 1
    stems = {Path(name).stem for name in names} - {"README", "CMakeLists"}
    count = sum(not any(stem != other and stem.startswith(other) for other in stems) for stem in stems)
    if not is_test and count > MAX_ENTRIES:
        yield f"{folder}: {count} entries; the limit is {MAX_ENTRIES}"
    has_sources = any(Path(name).suffix in SOURCES for name in names)
    if has_sources and (not is_test or depth == 1) and "README.md" not in names:
        yield f"{folder}: no README.md"

# SPDX-License-Identifier: Apache-2.0
"""Layering: a source includes headers only of libraries that its own library links, directly or not.

The link graph is that of the build: `hewn_add_library(NAME ... DEPENDS ...)` in the CMakeLists.txt
of each folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from linting.tree import Tree

#: Folders outside of the compiler's libraries, and the folders whose headers each may include.
OUTSIDE = {
    "include/hewn": ["include/hewn"],
    "runtime": ["include/hewn", "runtime"],
    "integrations": ["include/hewn", "integrations"],
    "python": ["include/hewn", "python"],
}
#: Tools that compile sources of another tool: folder of the tool -> folder of these sources.
SHARED_SOURCES = {"tools/hewn-lsp-server": "tools/hewn-opt"}
#: Headers that every library may include.
PUBLIC = "include/hewn"
DECLARATION = re.compile(r"hewn_add_(?:library|tool|shipped_tool)\(\s*([\w-]+)([^)]*)\)")


def link_graph(tree: Tree) -> dict[str, tuple[str, list[str]]]:
    """Returns the link graph of the build as a dict.

    It maps the name of a library or tool to its folder and the names of the libraries that it links
    directly.
    """
    graph = {}
    for name in tree.names:
        if not re.match(r"(lib|dialects|tools)/.*CMakeLists\.txt$", name):
            continue
        for found in DECLARATION.finditer(tree.text(name)):
            depends = re.search(r"\bDEPENDS\b([^)]*?)(?=\b(?:SOURCES|LLVM_SOURCES|TABLEGEN)\b|$)", found[2], re.S)
            graph[found[1]] = (name.rpartition("/")[0], depends[1].split() if depends else [])
    return graph


def allowed_folders(graph: dict[str, tuple[str, list[str]]]) -> dict[str, set[str]]:
    """Returns, for each folder, the folders whose headers its sources may include.

    These are the folders of all libraries that the libraries of the folder link, and the folder
    itself.
    """
    allowed: dict[str, set[str]] = {}
    for name, (folder, _) in graph.items():
        linked, pending = set(), [name]
        while pending:
            one = pending.pop()
            if one not in linked:
                linked.add(one)
                pending += graph.get(one, ("", []))[1]
        allowed.setdefault(folder, {PUBLIC}).update(graph[one][0] for one in linked if one in graph)
        if "hewn_runtime" in linked:
            allowed[folder].add("runtime")
    for folder, other in SHARED_SOURCES.items():
        allowed.setdefault(folder, set()).add(other)
    return allowed


def folder_of(path: str, folders: set[str]) -> str | None:
    """Returns the innermost of `folders` that contains `path`."""
    return max((f for f in folders if path.startswith(f + "/")), key=len, default=None)


def check(tree: Tree) -> Iterator[str]:
    """Yields each #include line that includes a header of a library which the library of the source does not link."""
    allowed = allowed_folders(link_graph(tree)) | {f: set(to) for f, to in OUTSIDE.items()}
    folders = set(allowed)
    for name in tree.sources():
        here = folder_of(name, folders)
        if here is None:
            if name.startswith(("lib/", "dialects/")):
                yield f"{name}: no CMakeLists.txt declares a library for its folder"
            continue
        for number, line in enumerate(tree.text(name).split("\n"), 1):
            include = re.match(r'\s*#?include "((?:dialects|lib|runtime|tools|include/hewn)/[^"]*)"', line)
            there = include and folder_of(include[1], folders)
            if there and there not in allowed[here]:
                yield f"{name}:{number}: the library of {here} does not link that of {there}"

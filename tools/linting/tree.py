# SPDX-License-Identifier: Apache-2.0
"""The tracked files of a repository, and the prose in them."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from pathlib import Path

C_LIKE = {".c", ".cpp", ".h", ".hpp", ".td"}
SOURCES = C_LIKE | {".py"}
#: Matches comments that are not prose, such as directives of tools.
DIRECTIVE = re.compile(r"\s*(RUN|CHECK|REQUIRES|XFAIL|UNSUPPORTED|expected-|clang-format|NOLINT|namespace\b|SPDX-)")


class Tree:
    """The files under `root` that git tracks. Each file is read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True)
        self.names = [name for name in listed.stdout.split("\n") if name and (root / name).is_file()]
        self._texts: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Returns the content of a file."""
        if name not in self._texts:
            self._texts[name] = (self.root / name).read_text(errors="replace")
        return self._texts[name]

    def sources(self) -> list[str]:
        """Returns the names of the C, C++, TableGen and Python files."""
        return [name for name in self.names if Path(name).suffix in SOURCES]

    def prose(self, name: str) -> list[tuple[int, str]]:
        """Returns the prose of a file as pairs (first line number, text).

        The prose is the comments and docstrings of a source, or the paragraphs of a Markdown page.
        """
        suffix = Path(name).suffix
        if suffix in C_LIKE:
            return _c_comments(self.text(name)) + (_descriptions(self.text(name)) if suffix == ".td" else [])
        if suffix == ".py":
            return _python_comments(self.text(name))
        return _paragraphs(self.text(name)) if suffix == ".md" else []


def _joined(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Joins comments on consecutive lines into one text."""
    blocks: list[tuple[int, int, str]] = []
    for number, text in lines:
        if blocks and blocks[-1][1] == number - 1:
            first, _, before = blocks.pop()
            blocks.append((first, number, f"{before} {text}"))
        else:
            blocks.append((number, number, text))
    return [(first, text) for first, _, text in blocks]


def _c_comments(text: str) -> list[tuple[int, str]]:
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*//+[/!<]?\s?(.*)", line) or re.search(r'[^/:"]\s//+<?\s(.*)$', line)
        if found and not DIRECTIVE.match(found[1]):
            lines.append((number, found[1].strip()))
    return _joined(lines)


def _descriptions(text: str) -> list[tuple[int, str]]:
    """Returns the descriptions and summaries of TableGen records, without the IR and other code in them."""
    found = []
    for match in re.finditer(r"(?:description|summary) = (?:\[\{(.*?)\}\]|\"(.*?)\");", text, re.S):
        prose = re.sub(r"```.*?```", "", match[1] or match[2], flags=re.S)
        found.append((text[: match.start()].count("\n") + 1, " ".join(prose.split())))
    return found


def _python_comments(text: str) -> list[tuple[int, str]]:
    comments, docstrings, starts_statement = [], [], True
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []  # the rules of sizes.py report files that Python cannot parse
    for token in tokens:
        if token.type == tokenize.COMMENT:
            if not token.string.startswith("#!") and not DIRECTIVE.match(token.string.lstrip("#:")):
                comments.append((token.start[0], token.string.lstrip("#: ")))
            continue
        if token.type == tokenize.STRING and starts_statement and token.string.startswith('"""'):
            docstrings.append((token.start[0], " ".join(token.string.strip('"').split())))
        if token.type != tokenize.NL:
            starts_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return _joined(comments) + docstrings


def _paragraphs(text: str) -> list[tuple[int, str]]:
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), text, flags=re.S)
    found = []
    for match in re.finditer(r"(?:^(?!\s{4}|#|<!--)[^\n]+\n?)+", text, re.M):
        found.append((text[: match.start()].count("\n") + 1, " ".join(match[0].split())))
    return found

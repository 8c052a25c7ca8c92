# SPDX-License-Identifier: Apache-2.0
"""Checks that each message explained in docs/troubleshooting.md and docs/start appears in the
sources."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
MESSAGE = re.compile(r"\*\*(`+)(.+?)\1\*\*", re.DOTALL)


def literals():
    """Returns the text of the sources, with adjacent string literals joined as C++ and Python join
    them."""
    text = []
    for folder in ("dialects", "lib", "runtime", "tools/hewn", "python/hewn"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".c", ".h", ".py"):
                text.append(re.sub(r'"\s*\n\s*"', "", path.read_text()))
    return "\n".join(text).replace("{a}", "…").replace("{b}", "…")


def test_messages_are_in_the_sources():
    pages, sources = [ROOT / "docs/troubleshooting.md", *(ROOT / "docs/start").glob("*.md")], literals()
    messages = [match[2] for page in pages for match in MESSAGE.finditer(page.read_text())]
    assert len(messages) > 20
    for message in messages:
        for part in message.replace("``", "`").split("…"):
            part = " ".join(part.split())
            assert len(part) < 3 or part in sources, f"no source says '{part}'"

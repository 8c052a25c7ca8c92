# SPDX-License-Identifier: Apache-2.0
"""Writes tables into pages of the docs."""

from __future__ import annotations

import pathlib


def write_between(page: pathlib.Path, name: str, lines: list[str]) -> None:
    """Replaces the text between the comments `<!-- name -->` and `<!-- end of name -->` of a page by `lines`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])

# SPDX-License-Identifier: Apache-2.0
"""Tables that commands write into pages of docs."""

from __future__ import annotations

import pathlib


def write_between(page: pathlib.Path, name: str, lines: list[str]) -> None:
    """Puts `lines` between the page's comments `<!-- name -->` and `<!-- end of name -->`, in the place of what is there."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])

# SPDX-License-Identifier: Apache-2.0
"""Rules on the vocabulary, the grammar and the width of comments and Markdown.

docs/contributing/style.md states these rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from linting.tree import C_LIKE, Tree

MAX_WIDTH = 100
#: Files that are not checked: they are generated, or quote other projects or the words to avoid.
EXCLUDED = (
    "docs/generated/",
    "docs/exports-table.md",
    "docs/contributing/style.md",
    "tools/linting/",
)

#: Terms of the field -> regular expression for the words that each of them replaces.
VOCABULARY = {
    "after, before, compared with": r"\bbehind\b|\bin front of\b|\bbeside\b",
    "any user, the caller, no pass": r"\b(nobody|whoever|who (asks|reads|wants|calls|finds|looks))\b",
    "reports, returns, is given": r"\b(told|tells)\b",
    "queries, requires": r"\basks\b|\bis asked\b",
    "is checked, is inspected": r"\blooked at\b",
    "represents, is stored, appears": r"\bstands? (for|there)\b|\blies? (in|as|apart|together)\b|\blie (in|as)\b",
    "is computed from, consists of": r"\bmade of\b|\bwhat makes\b|\bmakes of\b",
    "dynamic": r"\b(known|tells?|only) (only )?when run\b|\bonly a run\b",
    "quantized values, packed low-bit weights": r"(?<!status )(?<!error )(?<!exit )(?<!return )\bcodes\b|(?<!hard)(?<!hard-)\bcoded\b",
    "int8 slice": r"\blimbs?\b",
    "K dimension, reduction dimension": r"along (the|its|a) sum\b|behind the sums?\b",
    "GEMM, multiply-add": r"\bproducts? of\b",
    "skinny, low-bit": r"\bfew (rows|columns|bits)\b",
    "alternates, transposed": r"\bby turns?\b|\bturned\b|\bturns\b",
    "grid-wide barrier, rank synchronization": r"\bmeet(s|ing|ings)?\b",
    "persistent kernel": r"\bjoint\b",
    "runtime function": r"\bparts? of the runtime\b",
    "shard": r"\bcuts?\b",
    "spatial shard with halo": r"\bbands?\b|\bby lines\b",
    "image, feature map": r"\bpictures?\b",
    "Winograd, 3x3 convolution": r"minimal filtering|windows? of 3 x 3",
    "zero padding": r"\bborders?\b",
    "indexing op": r"\bmoves\b|\ba move\b",
    "decompose": r"\bcomposes?\b",
    "TMA tile, TMA load": r"\bfetched boxes?\b|\bboxes that\b",
    "forward, pass": r"\bhand(s|ed)? on\b",
    "quantization candidate": r"(?<!call )(?<!web )(?<!docs )(?<!documentation )\bsites?\b",
    "calibration statistics": r"\bevidence\b",
    "extend, promote; truncate, lower": r"\bwiden(s|ed|ing)?\b|\bnarrow(s|ed|er|ing)?\b",
    "entry point, component, library": r"\bdoors?\b|\brooms?\b|\bthe house\b",
    "target, CPU": r"\bmachines? (has|have|is|of|that)\b|\bthe machine's\b",
    "GPU": r"\ba grid\b|\bthe grid\b|\bgrids\b",
    "op interface, op category": r"\bkinds? of op\b",
    "available": r"\bat hand\b",
}
#: Rules -> regular expression for the constructions that break each of them.
GRAMMAR = {
    "a clause without a head as the subject: name the object": (
        r"(?:^|[.;:] )What (is|a|of|the|no|they|it|does|needs|reads|makes|comes|can|must|one|all|only)\b"
    ),
    "a reference across sentences: repeat the noun": r"\bthe same (of|for)\b",
    "an inverted sentence that refers to another one": r"\bso (do|does|is|are) (the|those|what|it|they|a)\b",
    "a telegram: write 'Returns null if ...'": r";\s*(null|none|empty|nothing)\b",
    "a negation that says what a thing is not": r"\bof unlike\b",
}


def _literals(regex: str) -> list[str]:
    """Returns words of which every match of `regex` contains one, to skip texts without a search."""
    regex = re.sub(r"\(\?<!.*?\)|\\.|[a-z]\?", "|", regex)
    return re.findall("[a-z]{2,}", regex.lower())


#: Message, literals and compiled regex of each rule.
_RULES = [
    *((f"write '{term}'", _literals(regex), re.compile(regex, re.I)) for term, regex in VOCABULARY.items()),
    *((rule, _literals(regex), re.compile(regex, re.M)) for rule, regex in GRAMMAR.items()),
]


def check(tree: Tree) -> Iterator[str]:
    """Yields each comment, docstring and paragraph that breaks a rule, and each line of prose that is too wide."""
    for name in tree.names:
        if name.startswith(EXCLUDED):
            continue
        for first, text in tree.prose(name):
            text = re.sub(r"`[^`]*`|\"[^\"]*\"", "", text)  # drops names and quoted words
            lower = text.lower()
            for message, literals, regex in _RULES:
                if not any(word in lower for word in literals):
                    continue
                for found in regex.finditer(text):
                    yield f"{name}:{first}: '{found[0].strip()}': {message}"
        yield from _check_width(name, tree)


def _check_width(name: str, tree: Tree) -> Iterator[str]:
    suffix = Path(name).suffix
    if suffix not in C_LIKE | {".py", ".md"}:
        return
    comment = {".md": r"(?!\s*\|)", ".py": r"\s*#"}.get(suffix, r"\s*//")
    in_block = False
    for number, line in enumerate(tree.text(name).split("\n"), 1):
        in_block ^= suffix == ".md" and line.lstrip().startswith("```")
        is_prose = not in_block and re.match(comment, line)
        # Lines with URLs, links or directives of lit cannot be wrapped.
        can_wrap = not re.search(r"\S{60}|RUN:|CHECK|expected-|\]\(", line)
        if is_prose and can_wrap and len(line) > MAX_WIDTH:
            yield f"{name}:{number}: prose of {len(line)} columns; the limit is {MAX_WIDTH}"

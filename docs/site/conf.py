# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site (tools/docs). Its source is the whole tree, so that a link of one page to another, or to a file of the sources,
is the same in the tree and on the site."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "hewn"
author = "the hewn authors"
copyright = author
release = re.search(r"project\(hewn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
root_doc = "docs/site/index"
ROOMS = [
    "cmake",
    "dialects",
    "docs",
    "examples",
    "include",
    "integrations",
    "lib",
    "python",
    "runtime",
    "test",
    "tools",
]
include_patterns = ["*.md"] + [f"{room}/{pages}" for room in ROOMS for pages in ("*.md", "**/*.md")]
exclude_patterns = ["build*", ".venv", ".deps", "dist"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence"]
# A link to a heading, as `page.md#heading`.
myst_heading_anchors = 4
# Pages begin where they like; a code block of a text that is no language of Pygments' is shown as it is.
suppress_warnings = ["myst.header", "misc.highlighting_failure", "toc.not_included"]

# tools/docs has Doxygen read include/hewn before, and says where its XML lies.
breathe_default_project = "hewn"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False
breathe_show_define_initializer = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"

html_theme = "furo"
html_title = f"hewn {release}"
html_copy_source = False
html_show_sourcelink = False

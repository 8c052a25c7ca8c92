# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of the documentation site (tools/docs).

The source folder is the root of the tree, so that links between pages and to source files work both
in the tree and on the documentation site.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "hewn"
author = "the hewn authors"
copyright = author
release = re.search(r"project\(hewn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
root_doc = "docs/site/index"
FOLDERS = [
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
include_patterns = ["*.md"] + [f"{folder}/{pages}" for folder in FOLDERS for pages in ("*.md", "**/*.md")]
exclude_patterns = ["build*", ".venv", ".deps", "dist"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence"]
# Permits links to headings, such as `page.md#heading`.
myst_heading_anchors = 4
# Pages may start with any heading level. Code blocks in a language that Pygments does not know are
# shown as plain text.
suppress_warnings = ["myst.header", "misc.highlighting_failure", "toc.not_included"]

# tools/docs runs Doxygen on include/hewn first, and passes the folder of its XML output.
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

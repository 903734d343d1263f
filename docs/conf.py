# SPDX-License-Identifier: MIT
"""Settings of the documentation site, which Sphinx builds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "armnn"
author = "Armnn-Python contributors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "armnn"
root_doc = "README"
myst_heading_anchors = 3
# Pages show programs, their output and shells; only the first need colors.
highlight_language = "text"
nitpicky = True

_PAGE = re.compile(r"\]\(([\w/-]+)\.md\)")
_GROUP = re.compile(r"^## (.+)$", re.MULTILINE)


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Make the menu of the groups of pages in README.md.

    So there is one list for both kinds of readers.
    """
    if page == root_doc:
        _, *groups = _GROUP.split((Path(__file__).parent / "README.md").read_text())
        for title, rows in zip(groups[::2], groups[1::2], strict=True):
            pages = dict.fromkeys(_PAGE.findall(rows))
            menu = ["\n```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""]
            source[0] += "\n".join(menu)


def setup(app: Sphinx) -> None:
    """Connect what changes pages while they are read."""
    app.connect("source-read", add_contents)

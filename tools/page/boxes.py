"""Boxes: a quotation whose first words are bold and have a meaning is set off by its colour.

In Colab and on GitHub it stays a quotation, which reads as well. What is to be tried on the page
itself is not on paper, where nothing can be touched.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

ON_PAGE = "Try it. On the page"
KINDS = {"Result": "result", "Trap": "trap", "Try it": "try-it"}


def kind(quotation: nodes.block_quote) -> str | None:
    """Give the kind of box that a quotation is, if it is one."""
    paragraph = quotation.next_node(nodes.paragraph)
    parts = paragraph.children if paragraph else []
    first = next((part for part in parts if part.astext()), None)  # MyST leaves empty text first
    if not isinstance(first, nodes.strong):
        return None
    return KINDS.get(first.astext().rstrip(".:"))


def _mark(app: Sphinx, document: nodes.document) -> None:
    for quotation in document.findall(nodes.block_quote):
        if found := kind(quotation):
            quotation["classes"] += ["box", found]
            if quotation.astext().startswith(ON_PAGE):
                quotation["classes"].append("no-print")


def setup(app: Sphinx) -> None:
    """Look at each page once it is read."""
    app.connect("doctree-read", _mark)

"""What a search engine and a shared link say of a page: its title once, and its first sentence."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# A sentence ends before a space and a capital, but not after "(e.g." or an initial.
END = re.compile(r"(?<=[a-z0-9)`][.!?])\s+(?=[A-Z])")
SHORTEST = 40  # characters: a shorter first sentence takes the next along


def description(document: nodes.document) -> str:
    """Give the first sentence of a page's text; a paragraph of one badge is none."""
    for paragraph in document.findall(nodes.paragraph):
        text = " ".join("".join(t for t in map(str, paragraph.findall(nodes.Text))).split())
        if text and not next(paragraph.findall(nodes.image), None):
            told, *rest = END.split(text)
            while rest and len(told) < SHORTEST:
                told += f" {rest.pop(0)}"
            return told
    return ""


def _tell(
    app: Sphinx,
    pagename: str,
    template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    if pagename == app.config.root_doc:
        context["docstitle"] = ""  # the page's title is the book's
    if document and (told := description(document)):
        context["metatags"] += f'\n<meta name="description" content="{escape(told)}" />\n'
        context["meta"] = {**(context.get("meta") or {}), "og:description": told}


def setup(app: Sphinx) -> None:
    """Speak before sphinxext.opengraph does, which then keeps what it finds."""
    app.connect("html-page-context", _tell, priority=400)

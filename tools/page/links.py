"""Chapters that are named by their number become links, so that a renumbering needs no edit.

"chapter 7", "appendix A2" and "the appendix" are links wherever they stand in prose, and so is each
number of "chapters 1 to 3". The number of a chapter is the one in the name of its file, as in
``notebooks/06-positional-encoding``. A number that no chapter has is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from tools.page.prose import replace, texts

FILE = re.compile(r"notebooks/0*([A-Z]?\d+)-")
APPENDIX = "A1"
NUMBER = r"(?:[A-Z]?\d+\b(?!\.\d))"
NAMED = re.compile(
    rf"\b(?P<one>chapter\s+{NUMBER}|appendix\s+A\d+\b)"
    rf"|\bchapters\s+(?P<several>{NUMBER}(?:(?:\s*[–,]\s*|,?\s+(?:and|or|to)\s+){NUMBER})*)"
    r"|\bthe\s+(?P<appendix>appendix)\b",
    re.IGNORECASE,
)
log = logging.getLogger(__name__)


def chapters(docnames: Iterable[str]) -> dict[str, str]:
    """Give the page of each chapter, by its number."""
    found = ((FILE.match(name), name) for name in docnames)
    return {match[1]: name for match, name in found if match}


def named(words: str) -> list[tuple[int, int, str]]:
    """Find the chapters that a text names: where each link begins and ends, and the number."""
    found = []
    for match in NAMED.finditer(words):
        if match["appendix"]:
            found.append((*match.span("appendix"), APPENDIX))
        elif match["one"]:
            found.append((*match.span("one"), match["one"].split()[-1].upper()))
        else:
            start = match.start("several")
            for number in re.finditer(NUMBER, match["several"]):
                found.append((start + number.start(), start + number.end(), number[0].upper()))
    return found


class ChapterLinks(SphinxPostTransform):
    """Link the chapters that a page names, but not the page itself."""

    default_priority = 30  # when what the author linked is a link

    def run(self, **kwargs: Any) -> None:
        """Go through the prose of a page."""
        pages, here = chapters(self.env.found_docs), self.env.docname
        for text in texts(self.document):
            links = []
            for begin, end, number in named(str(text)):
                page = pages.get(number)
                if page is None:
                    message = "there is no chapter %s, which the page names"
                    log.warning(message, number, location=text.parent)
                elif page != here:
                    words, title = nodes.Text(text[begin:end]), self.env.titles[page].astext()
                    link = make_refnode(self.app.builder, here, page, None, words, title)
                    links.append((begin, end, link))
            replace(text, links)


def setup(app: Sphinx) -> None:
    """Link when all pages are read."""
    app.add_post_transform(ChapterLinks)

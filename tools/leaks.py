"""What no committed output may hold: a path of a machine, or the text of a news article."""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

RUN = 6  # so many consecutive words of an article are a quotation

# Paths of the machine at hand, and what paths of other machines look like.
_HERE = {str(Path.home()), tempfile.gettempdir(), str(Path(__file__).resolve().parents[1])} - {"/"}
_PATHS = re.compile(
    "|".join(
        [
            *(rf"(?<![\w.~-]){re.escape(path)}(?![\w-])" for path in sorted(_HERE, reverse=True)),
            r"(?<![\w.~-])/(?:tmp|home|Users)/\w",
            r"\b[A-Za-z]:\\+Users\b",
            r"[/\\](?:site|dist)-packages[/\\]",
            r"(?<![\w.~-])/(?:usr|opt)/[\w./-]*python",
        ]
    )
)
_EMBEDDED = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=\n]+")  # pictures within a picture
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def output_texts(cell: NotebookNode) -> Iterator[str]:
    """Give every text in the outputs of a code cell, text alternatives included."""
    for text in _strings([cell.outputs, cell.metadata]):
        yield _COLOURS.sub("", _EMBEDDED.sub("", text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            # Of pictures only SVG is text; the others are letters that mean nothing.
            if key == "image/svg+xml" or not key.startswith("image/") or isinstance(item, dict):
                yield from _strings(item)


def machine_path(text: str) -> str | None:
    """Give the first path of a machine in this text."""
    found = _PATHS.search(text)
    return found and text[found.start() : found.start() + 60].splitlines()[0]


def article_runs(nb: NotebookNode, articles: Iterable[str]) -> dict[int, str]:
    """Find cells whose outputs quote an article, and say what they quote.

    Words that stand in the notebook's own cells are the author's, not a quotation.
    """
    own = {run for cell in nb.cells for run in _runs(cell.source)}
    cells_of: dict[str, list[int]] = {}
    for number, cell in enumerate(nb.cells, start=1):
        if cell.cell_type == "code":
            for text in output_texts(cell):
                # As written, for comments and attributes; without tags, for words in table cells.
                for view in (text, html.unescape(re.sub(r"<[^>]*>", " ", text))):
                    for run in _runs(view) - own:
                        cells_of.setdefault(run, []).append(number)
    quoted: dict[int, str] = {}
    for article in articles:
        for run in _runs(article) & cells_of.keys():
            for number in cells_of[run]:
                quoted.setdefault(number, run)
    return quoted


def _runs(text: str) -> set[str]:
    """Give all runs of consecutive words; runs that are mostly numbers say nothing."""
    words = re.findall(r"[^\W_]+", re.sub(r"\\[nrt]", " ", text.lower()))
    runs = (words[i : i + RUN] for i in range(len(words) - RUN + 1))
    return {" ".join(run) for run in runs if sum(map(str.isalpha, run)) >= RUN // 2}


def news_articles() -> list[str]:
    """Read the articles as a chapter does."""
    from utils.news import NEWS

    return [text for split in NEWS.load().values() for text in split["text"]]

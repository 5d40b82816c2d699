"""How long a chapter takes: minutes to read, from its words, and to run, as it was last executed.

A chapter's first cell ends with ``*Needs chapters 1 to 3.*``. On the page that line begins with the
chapter's place in the course and ends with its times, so nobody types them.
"""

from __future__ import annotations

import json
import re
from math import ceil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_external_toc.api import SiteMap

RUNS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "chapters.json"
WORDS_A_MINUTE = 200
PATH = "The path"  # the part of the table of contents that everybody reads
NEEDS = re.compile(r"(?m)^\*(Needs [^*]+\.)\*$")


def minutes_to_read(notebook: dict[str, Any]) -> int:
    """Give the minutes that a chapter's prose takes, exercises included."""
    prose = (c["source"] for c in notebook["cells"] if c["cell_type"] == "markdown")
    return ceil(sum(len("".join(source).split()) for source in prose) / WORDS_A_MINUTE)


def time_to_run(chapter: str) -> str:
    """Say how long the run of a chapter took, roughly; "" where it was never noted."""
    noted = json.loads(RUNS.read_text(encoding="utf-8"))["chapters"].get(chapter)
    if not noted:
        return ""
    seconds = noted["seconds"]
    if seconds <= 50:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    minutes = round(seconds / 60)
    return "a minute" if minutes <= 1 else f"{minutes} minutes"


def parts(toc: SiteMap) -> list[tuple[str, list[str]]]:
    """Give the parts of the book: the caption of each, and the names of its pages."""
    return [
        (tree.caption or "", [re.sub(r"\.(md|ipynb)$", "", file) for file in tree.files()])
        for tree in toc.root.subtrees
    ]


def place(docname: str, toc: SiteMap) -> str:
    """Say where in the course a page stands: "The path, 4 of 8", "Further", "Appendix"."""
    for caption, pages in parts(toc):
        if docname in pages:
            is_path = caption == PATH
            return (
                f"{PATH}, {pages.index(docname) + 1} of {len(pages)}"
                if is_path
                else caption.partition(":")[0]
            )
    return ""


def head(docname: str, notebook: dict[str, Any], toc: SiteMap, needs: str) -> str:
    """Give the line below a chapter's title."""
    read = minutes_to_read(notebook)
    run = time_to_run(Path(docname).name)
    times = f"{read} minutes to read{f', {run} to run' if run else ''}."
    return f"*{place(docname, toc)}. {needs} {times}*"


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    if not str(app.env.doc2path(docname)).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    first = notebook["cells"][0]
    text = "".join(first["source"])
    if found := NEEDS.search(text):
        line = head(docname, notebook, app.config.external_site_map, found[1])
        first["source"] = text.replace(found[0], line)
        source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> None:
    """Complete the line in each notebook as it is read."""
    app.connect("source-read", _read)

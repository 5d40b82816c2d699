"""What makes the book's pages: a Sphinx extension, with a module for each thing that it does.

``cells``         folds under names, output without "Not yet"
``pace``          minutes to read and to run, below a chapter's title
``boxes``         quotations that begin with **Result**, **Trap** or **Try it**
``landing``       the landing page: heads at work, three findings, the path and what lies further
``descriptions``  one title, and the first sentence of each page for those who share it
``reference``     the API reference: the docstrings of ``utils`` as Sphinx reads them
``citations``     a number in square brackets leads to the source of that number, and back
``links``         "chapter 7" is a link, wherever it stands in prose
``glossary``      a word of the glossary is a link where a chapter first uses it
``names``         names of ``utils`` lead to the API reference, in code and in prose
``mathematics``   formulas as MathML, set while the book is built
``weight``        pages without the icons, styles and scripts that they do not use
``search``        an index of sections, and the page that asks it
``writer``        the weights of the model that writes in the page
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from tools.page import (
    boxes,
    cells,
    citations,
    descriptions,
    glossary,
    landing,
    links,
    mathematics,
    names,
    pace,
    reference,
    search,
    weight,
    writer,
)

PARTS = (
    cells,
    pace,
    boxes,
    landing,
    descriptions,
    reference,
    citations,
    links,
    glossary,
    names,
    mathematics,
    search,
    weight,
    writer,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Let each module say what it listens to."""
    for part in PARTS:
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

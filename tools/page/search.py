"""The book's search: pagefind indexes each section of the built pages as a record of its own.

``book/_static/search.js`` asks the index, which lies in the book's folder ``pagefind``.
The words that mean the same are in ``book/synonyms.yml``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from lxml import html
from lxml.html import HtmlElement
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.errors import ExtensionError

from tools.page.formulas import in_a_line

SYNONYMS = Path(__file__).resolve().parents[2] / "book" / "synonyms.yml"
BUILDERS = ("html",)
COMMAND = ["-m", "pagefind", "--quiet", "--force-language", "en"]
FAILED = (
    "The book's search is made with pagefind, which failed: {}. "
    "Install what the book needs: pip install -r requirements.txt"
)


def _classed(name: str) -> str:
    return f"//*[contains(concat(' ', @class, ' '), ' {name} ')]"


# What stands in an article and answers no question.
LEFT_OUT = (
    "//script",
    "//style",
    "//svg",
    "//summary",
    *map(_classed, ("headerlink", "toctree-wrapper", "buttons")),
    *map(_classed, ("tag_set-up", "tag_check")),
    *(_classed(tag) + _classed("cell_input") for tag in ("tag_plot", "tag_proof")),
)
UNASKED = ("Sources",)  # sections that only list what the references have
PLACES = "//section[@id] | //dl/dt[@id]"
CODE = 0.5  # a word in code or a table counts half
BLOCKS = ("p", "li", "td", "th", "pre", "dt", "dd", "figcaption", "div")
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
WITHIN = re.compile("<(/?)d[ld]>")  # a list of parameters, which the parser takes for entries
IMPORT = re.compile(r"^[ ]*(?:from [\w.]+ )?import (?:\([^)]*\)|.*)$", re.MULTILINE)
FOR_OTHER_PAGES = ("pagefind-*ui*", "pagefind-highlight*")  # interfaces that the book does not use


class Record(NamedTuple):
    """A section, or an entry of a list of definitions, as the search knows it."""

    anchor: str
    title: str
    text: str
    code: str = ""  # and tables: an excerpt is rather a sentence


def _words(part: HtmlElement) -> str:
    return " ".join(part.text_content().split())


def _prose_and_code(parts: list[HtmlElement]) -> tuple[str, str]:
    last = [thing for part in parts for thing in part.iter("pre", "table")]
    code = " ".join(filter(None, map(_words, last)))
    for thing in last:
        thing.drop_tree()
    return " ".join(filter(None, map(_words, parts))), code


def _cleaned(article: HtmlElement) -> HtmlElement:
    """Take out what answers no question, and write formulas in a line."""
    for path in LEFT_OUT:
        for part in article.xpath(f".{path}"):
            part.drop_tree()
    for code in article.iter("pre"):
        text = IMPORT.sub("", code.text_content())
        code[:], code.text = [], text
    for formula in list(article.iter("math")):
        text = in_a_line(formula)
        formula[:], formula.text = [], text
    for block in article.iter(*BLOCKS):
        block.tail = f" {block.tail or ''}"
    return article


def records(page: str) -> list[Record]:
    """Give a page's sections in reading order, each without the sections within it.

    Parameters
    ----------
    page : str, the HTML of a built page; only its ``article`` is read
    """
    page = SIGNATURE.sub(lambda found: WITHIN.sub(r"<\1span>", found[0]), page)
    articles = html.fromstring(page).xpath("//article")
    if not articles:
        return []
    found: list[Record] = []
    # What lies within comes first in this order, and is taken out.
    for place in reversed(_cleaned(articles[0]).xpath(f".{PLACES.replace('| ', '| .')}")):
        heads = [place] if place.tag == "dt" else place.xpath("./h1|./h2|./h3|./h4|./h5|./h6")
        if not heads:
            continue
        names = heads[0].xpath(f".{_classed('descname')}")
        title, body, after = _words((names or heads)[0]), [place], place.getnext()
        if place.tag != "dt":
            heads[0].drop_tree()
        elif after is not None and after.tag == "dd":
            body.append(after)
        elif found:  # two terms of one definition
            found.append(found[-1]._replace(anchor=str(place.get("id")), title=title))
            place.drop_tree()
            continue
        if title not in UNASKED:  # a signature says more than the title, a term does not
            said = body if names or place.tag != "dt" else body[1:]
            found.append(Record(str(place.get("id")), title, *_prose_and_code(said)))
        for part in body:
            part.drop_tree()
    return found[::-1]


def _one(record: Record, page: str, address: str) -> str:
    """Give a section as a page that pagefind reads; its title and page are no part of the text."""
    return (
        '<html lang="en"><body><div data-pagefind-ignore>'
        f'<h1 data-pagefind-meta="title">{escape(record.title)}</h1>'
        f'<p data-pagefind-meta="page">{escape(page)}</p>'
        f'<a data-pagefind-meta="address[href]" href="{escape(address)}"></a></div>'
        f"<p>{escape(record.text or record.title)}</p>"
        f'<p data-pagefind-weight="{CODE}">{escape(record.code)}</p></body></html>'
    )


def index(pages: dict[str, list[Record]], folder: Path) -> None:
    """Write the index of the sections of pages into a folder, which is emptied first.

    Parameters
    ----------
    pages : dict, for each page's address its records, as ``records`` gives them
    folder : Path
    """
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as sections:
        for place, (address, found) in enumerate(sorted(pages.items())):
            for number, record in enumerate(found):
                text = _one(record, found[0].title, f"{address}#{record.anchor}")
                Path(sections, f"{place:03}-{number:03}.html").write_text(text, encoding="utf-8")
        command = [sys.executable, *COMMAND, "--site", sections, "--output-path", str(folder)]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise ExtensionError(FAILED.format((run.stderr or run.stdout).strip()))
    for pattern in FOR_OTHER_PAGES:
        for file in folder.glob(pattern):
            file.unlink()
    words = yaml.safe_load(SYNONYMS.read_text(encoding="utf-8"))
    (folder / "synonyms.json").write_text(json.dumps(words), encoding="utf-8")


def _write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name not in BUILDERS:
        return
    addresses = [app.builder.get_target_uri(name) for name in app.env.found_docs]
    files = {address: Path(app.outdir, address) for address in addresses}
    pages = {at: records(file.read_text(encoding="utf-8")) for at, file in files.items()}
    index(pages, Path(app.outdir, "pagefind"))


def _without_own_index(app: Sphinx) -> None:
    if isinstance(app.builder, StandaloneHTMLBuilder) and app.builder.name in BUILDERS:
        app.builder.search = False  # Sphinx's index would weigh 150 KB on every page


def _search_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    if app.builder.name in BUILDERS:
        yield "search", {}, "search.html"


def setup(app: Sphinx) -> None:
    """Index the pages once they are written, in place of Sphinx's own index."""
    app.connect("builder-inited", _without_own_index)
    app.connect("html-collect-pages", _search_page)
    app.connect("build-finished", _write)

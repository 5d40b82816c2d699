"""The landing page: its picture, findings and buttons, a live figure, the path and what is further.

``{landing} hero``, ``findings``, ``path``, ``live`` and ``further`` stand in ``book/intro.md``
where these belong. What they show comes from the table of contents, the chapters'
titles and outputs, so a chapter that is added, renamed or run again is right here by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from chapters.live.heads import live_heads
from tools.page import findings, hero, pace

logger = logging.getLogger(__name__)
CHAPTER = re.compile(r"(A?\d+)\. (.+)")
# A picture for each chapter of the path, by its file's name without the number, whose classes the
# page colours: blue and orange (a and b) are head 0 and head 1. ``plain`` is for those without one.
TILES = Path(__file__).with_name("tiles")


class Shown(nodes.General, nodes.Element):
    """A place on the page, filled once all titles are known."""


class Landing(SphinxDirective):
    """``{landing} hero`` or ``live``, with a sentence as content, or another part without one."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Leave places to be filled."""
        part = self.arguments[0]
        if part == "live":
            invitation = self.parse_content_to_nodes()  # to touch it: not for paper
            return [_raw('<div class="no-print">'), *invitation, _raw("</div>"), Shown(part=part)]
        if part != "hero":
            return [Shown(part=part)]
        return [
            _raw('<div class="hero"><div class="hero-words">'),
            *self.parse_content_to_nodes(),
            Shown(part="buttons"),
            _raw("</div>"),
            Shown(part="figure"),
            _raw("</div>"),
        ]


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def short(question: str) -> str:
    """Give the first half of a double question, without its end."""
    return re.sub(r", .*\?$", "?", question)


def picture(docname: str, name: str) -> str:
    """Give the picture of a chapter as SVG with this id."""
    file = TILES / f"{re.sub(r'^.*/(A?[0-9]+-)?', '', docname)}.svg"
    text = (file if file.is_file() else TILES / "plain.svg").read_text(encoding="utf-8")
    return "".join(text.replace("<svg ", f'<svg id="{name}" ', 1).splitlines())


class Page:
    """What the parts of the page are made of."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app, self.docname = app, docname
        self.env = app.env
        self.parts = pace.parts(app.config.external_site_map)

    def title(self, docname: str) -> str:
        """Give a page's title."""
        return self.env.titles[docname].astext()

    def numbered(self, docname: str) -> tuple[str, str] | None:
        """Give a chapter's number and question; None for other pages."""
        found = CHAPTER.fullmatch(self.title(docname))
        return (found[1], found[2]) if found else None

    def link(self, docname: str) -> str:
        """Give the address of another page."""
        return escape(self.app.builder.get_relative_uri(self.docname, docname))

    def chapter(self, name: str) -> str | None:
        """Find a chapter by its file's name without the number."""
        pages = (page for _, files in self.parts for page in files)
        return next((p for p in pages if re.fullmatch(rf".*/A?\d+-{name}", p)), None)

    def buttons(self) -> str:
        """Give *Start* and *Open in Colab*, both to the first chapter."""
        first = next((p for _, files in self.parts for p in files if self.numbered(p)), None)
        if first is None:
            return ""
        theme = self.app.config.html_theme_options
        colab = theme.get("launch_buttons", {}).get("colab_url", "")
        project = theme.get("repository_url", "").removeprefix("https://github.com/")
        branch = theme.get("repository_branch") or "main"
        return (
            f'<p class="buttons"><a class="start" href="{self.link(first)}">Start</a>'
            f'<a class="colab" href="{colab}/github/{project}/blob/{branch}/{first}.ipynb">'
            "Open in Colab</a></p>"
        )

    def figure(self) -> str:
        """Give the two heads, with what they join."""
        weights = hero.read()["weights"]
        up, down = hero.HEADS
        seen, asked = weights[str(up)], weights[str(down)]
        chapter = self.chapter("real-weights")
        model = f'<a href="{self.link(chapter)}">MiniLM</a>' if chapter else "MiniLM"
        caption = (
            "<b>Two words spelt alike, told apart by their company.</b> "
            f"With head {up} the first <i>can</i> looks at <i>you</i> ({seen[1][2]:.2f}) and the "
            f"second at <i>that</i> ({seen[3][4]:.2f}); with head {down} the second looks at "
            f"<i>you</i> as well ({asked[3][2]:.2f}). <small>Weights of {model}, block "
            f"{hero.BLOCK}, run through the layer you will write. Pale lines go to the marks at "
            f"both ends; weights below {hero.FAINTEST:g} are not drawn.</small>"
        )
        return (
            f'<figure class="hero-figure">{hero.svg()}<figcaption>{caption}</figcaption></figure>'
        )

    def findings(self) -> str:
        """Give the findings whose numbers the chapters print; others are complained of."""
        return f'<ul class="findings">{"".join(self._findings())}</ul>'

    def _findings(self) -> Iterator[str]:
        for finding in findings.FINDINGS:
            docname = self.chapter(finding.chapter)
            chapter = self.numbered(docname) if docname else None
            try:
                if docname is None or chapter is None:
                    raise ValueError(f"no chapter is named {finding.chapter!r}")
                text = findings.printed(Path(self.env.doc2path(docname)))
                n = findings.numbers(finding, text)
            except ValueError as error:
                logger.warning("%s", error, location=self.docname)
                continue
            yield (
                f'<li><a href="{self.link(docname)}"><b>{finding.figure(n)}</b> '
                f"<span>{finding.sentence(n)}</span> <em>Chapter {chapter[0]}</em></a></li>"
            )

    def live(self) -> str:
        """Give the heads that a reader can point words at."""
        return live_heads()._repr_html_()

    def path(self) -> str:
        """Give the chapters that everybody reads, in a line, with the minutes they take."""
        pages = [page for caption, files in self.parts for page in files if caption == pace.PATH]
        tiles = (self._tile(page, *found) for page in pages if (found := self.numbered(page)))
        return f'<ol class="tiles">{"".join(tiles)}</ol>'

    def minutes(self, docname: str) -> int:
        """Give the minutes that a chapter takes to read."""
        file = Path(self.env.doc2path(docname))
        return pace.minutes_to_read(json.loads(file.read_text(encoding="utf-8")))

    def _tile(self, docname: str, number: str, question: str) -> str:
        name = f"chapter-{number}"
        return (
            f'<li><a class="tile" href="{self.link(docname)}" aria-labelledby="{name}" '
            f'aria-describedby="{name}-picture"><span id="{name}"><b>{number}</b> '
            f"{escape(short(question))} <small>{self.minutes(docname)} min</small></span>"
            f"{picture(docname, f'{name}-picture')}</a></li>"
        )

    def further(self) -> str:
        """Give the other chapters and pages as lists of links, part by part."""
        rows, others = [], []
        for caption, files in self.parts:
            chapters = [(page, self.numbered(page)) for page in files]
            others += [(p, self.title(p)) for p, chapter in chapters if chapter is None]
            named = [
                (p, f"{c[0]}. {short(c[1])}") for p, c in chapters if c and caption != pace.PATH
            ]
            rows.append(self._row(caption.removeprefix("Further: ").capitalize(), named))
        rows.append(self._row("To look things up", others))
        return f'<div class="further">{"".join(rows)}</div>'

    def _row(self, caption: str, pages: list[tuple[str, str]]) -> str:
        if not pages:
            return ""
        links = "".join(
            f'<li><a href="{self.link(page)}">{escape(title)}</a></li>' for page, title in pages
        )
        return f'<div class="part"><h3>{escape(caption)}</h3><ul class="pages">{links}</ul></div>'


def _fill(app: Sphinx, document: nodes.document, docname: str) -> None:
    if places := list(document.findall(Shown)):
        page = Page(app, docname)
        for place in places:
            place.replace_self(_raw(getattr(page, place["part"])()))


def _again(app: Sphinx, env: BuildEnvironment, *changed: set[str]) -> list[str]:
    return [str(app.config.root_doc)]  # it shows titles and numbers of the others


def _style(app: Sphinx, pagename: str, template: str, context: dict[str, Any], *_: Any) -> None:
    if pagename == app.config.root_doc:
        app.add_css_file("landing.css")


def _root(app: Sphinx, exception: Exception | None) -> None:
    """Have the root address say what is here, to those who share it, and lead to the page."""
    if exception or app.builder.name != "html":
        return
    root = f"{app.config.root_doc}.html"
    page = Path(app.outdir, root).read_text(encoding="utf-8")
    metas = r'meta (?:property|name)="(?!viewport)[^>]*'
    told = re.findall(rf'<(?:title>[^<]*</title|{metas}|link rel="canonical"[^>]*)>', page)
    moved = (
        f'<meta http-equiv="refresh" content="0; url={root}"><a href="{root}">Read the book.</a>'
    )
    head = "\n".join(['<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">', *told, moved])
    Path(app.outdir, "index.html").write_text(f"{head}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Add the directive, and fill its places when pages are written."""
    app.add_node(Shown)
    app.add_directive("landing", Landing)
    app.connect("env-get-outdated", _again)
    app.connect("doctree-resolved", _fill)
    app.connect("html-page-context", _style)
    app.connect("build-finished", _root, priority=950)  # after the page has been tidied

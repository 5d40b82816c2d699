"""The built book, read: what it is called, its parts, and its pages in their order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml
from lxml import etree
from sphinx_external_toc.api import SiteMap
from sphinx_external_toc.parsing import parse_toc_yaml

from tools.ebook.page import Names, Page, read_page
from tools.page import pace


@dataclass(frozen=True)
class Part:
    """Pages that belong together; the first part has no title."""

    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class Site:
    """The whole book: who wrote it, where it is on the web, and its parts."""

    title: str
    author: str
    language: str
    address: str
    parts: tuple[Part, ...]
    html: Path

    @property
    def pages(self) -> tuple[Page, ...]:
        """All pages, in the order of the table of contents."""
        return tuple(page for part in self.parts for page in part.pages)


def _with_those_below(name: str, toc: SiteMap) -> list[str]:
    files = (file for tree in toc[name].subtrees for file in tree.files()) if name in toc else ()
    return [name, *(each for file in files for each in _with_those_below(str(file), toc))]


def read_site(root: Path, html: Path) -> Site:
    """Read the pages that were built from ``root`` into ``html``."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    address = config.get("html", {}).get("baseurl", "")
    language = config.get("sphinx", {}).get("config", {}).get("language", "en")
    toc = parse_toc_yaml(root / "_toc.yml")
    parts = [("", [toc.root.docname.removesuffix(".md")])]
    for title, pages in pace.parts(toc):
        parts.append((title, [name for page in pages for name in _with_those_below(page, toc)]))
    names = Names(tuple(name for _, group in parts for name in group), address, html)
    return Site(
        title=config["title"],
        author=config["author"],
        language=language,
        address=address,
        parts=tuple(
            Part(title, tuple(read_page(name, names) for name in group)) for title, group in parts
        ),
        html=html,
    )


def as_text(element: etree._Element) -> str:
    """Give an element as XML, without what follows it."""
    return etree.tostring(element, encoding="unicode", with_tail=False)

"""Check the built book: every page of _toc.yml is there, and every link within it leads somewhere.

python -m tools.book [FOLDER]    FOLDER is _build/html where none is named
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).resolve().parents[1]


class _Page(HTMLParser):
    """The links of a page, and the places in it that a link can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)


def missing_pages(html: Path, toc: Path) -> list[str]:
    """Name the pages of the table of contents that were not built."""
    names = [str(name) for name in parse_toc_yaml(toc).keys()]  # noqa: SIM118 (a site map, no dict)
    files = ["index.html", *(f"{name.removesuffix('.md')}.html" for name in names)]
    return [file for file in files if not (html / file).is_file()]


def broken_links(html: Path) -> Iterator[str]:
    """Describe each link from page to page, or to a file of the book, that leads nowhere."""
    files = (path.resolve() for path in sorted(html.rglob("*.html")))
    pages = {path: _Page(path) for path in files if "_static" not in path.parts}  # no templates
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            where = f"{path.relative_to(html.resolve())}: the link to {link} leads nowhere"
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{where}: there is no such file."
            elif target in pages and unquote(url.fragment) not in pages[target].places:
                yield f"{where}: that page has no such place."


def main(html: Path = ROOT / "_build" / "html", toc: Path = ROOT / "_toc.yml") -> None:
    """Say where the book is, or stop with what is wrong."""
    if missing := missing_pages(html, toc):
        sys.exit(f"The book lacks pages that _toc.yml lists: {', '.join(missing)}.")
    if broken := list(broken_links(html)):
        sys.exit("\n".join(broken))
    print(f"The book is complete. Open {(html / 'index.html').resolve()}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

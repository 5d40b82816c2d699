"""The whole book as one PDF file: the pages of the EPUB in one, printed by Chromium.

It is printed twice: after the first time it is known on which page each chapter begins.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import pikepdf

from tools.ebook.cover import cover
from tools.ebook.epub import bare, fonts, pictures, style, xhtml
from tools.ebook.page import Page
from tools.ebook.site import Part, Site, as_text

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
MINUTES = 10  # the most that printing may take


class NoBrowser(Exception):
    """No browser can be had that prints."""


def find_browser() -> str:
    """Give Chromium's path: named in CHROMIUM, or found."""
    named = os.environ.get("CHROMIUM")
    for candidate in (named,) if named else (*BROWSERS, MAC):
        if found := shutil.which(candidate):
            return found
    raise NoBrowser(
        "The PDF is printed by Chromium or Chrome, and none was found. Install one, or name it: "
        "CHROMIUM=/path/to/chromium make pdf. `make epub` needs no browser."
    )


def contents(site: Site, numbers: dict[str, int]) -> str:
    """Give the table of contents; a page's number stands in a box of the same size throughout."""

    def entry(page: Page) -> str:
        number = numbers.get(page.stem, 0)
        return (
            f'<li><a href="#{page.stem}">{escape(page.title)}</a><i></i>'
            f'<span class="number">{number}</span></li>'
        )

    return "".join(
        (f'<p class="part-name">{escape(part.title)}</p>' if part.title else "")
        + f"<ul>{''.join(map(entry, part.pages))}</ul>"
        for part in site.parts
    )


def _lower(body: str) -> str:
    """Move headings one level down, below that of the part."""
    return re.sub(r"(</?h)([1-5])(?=[\s>])", lambda m: f"{m[1]}{int(m[2]) + 1}", body)


def _part(part: Part) -> str:
    bodies = [f'<div class="chapter">{as_text(page.body)}</div>' for page in part.pages]
    if not part.title:
        return "".join(bodies)
    first, *rest = map(_lower, bodies)
    name = f'<h1 class="part-title">{escape(part.title)}</h1>'
    return first.replace('<div class="chapter">', f'<div class="chapter">{name}', 1) + "".join(rest)


def one_page(site: Site, paper: str, numbers: dict[str, int]) -> str:
    """Give the whole book as one XHTML page, each link leading to a place in it."""
    body = "".join(map(_part, site.parts))
    body = re.sub(r'href="[\w.-]+\.xhtml#', 'href="#', body)
    front = f'<div class="front"><img src="cover.png" alt="{escape(site.title)}"/></div>'
    nav = f'<nav class="contents"><h1>Contents</h1>{contents(site, numbers)}</nav>'
    styles = f'<link rel="stylesheet" href="pdf.css"/><style>@page {{size: {paper}}}</style>'
    return xhtml(site.title, site.language, front + nav + body, styles)


def printed(browser: str, page: Path, pdf: Path) -> None:
    """Print a page into a file."""
    command = [
        browser, "--headless", "--disable-gpu", "--no-sandbox", "--disable-background-networking",
        "--no-first-run", "--no-pdf-header-footer", "--generate-pdf-document-outline",
        f"--user-data-dir={page.parent / 'profile'}", f"--print-to-pdf={pdf}", page.as_uri(),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    if run.returncode or not pdf.is_file():
        raise NoBrowser(f"{browser} has printed nothing:\n{run.stderr[-2000:]}")


def numbers_of_places(pdf: pikepdf.Pdf) -> dict[str, int]:
    """Give, for each place that a link leads to, the number of its page, counted from 1."""
    pages: dict[Any, int] = {page.objgen: number for number, page in enumerate(pdf.pages, start=1)}
    places = pdf.Root.get("/Dests", pikepdf.Dictionary())
    return {name.removeprefix("/"): pages[place[0].objgen] for name, place in places.items()}


def write_pdf(site: Site, file: Path, paper: str = "A4") -> None:
    """Write the PDF.

    Raises
    ------
    NoBrowser, if there is no browser, or it prints nothing
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="ebook-") as name:
        folder = Path(name)
        (folder / "images").mkdir()
        for picture, source in pictures(site).items():
            content = (site.html / source).read_bytes()
            is_svg = picture.endswith(".svg")
            (folder / "images" / picture).write_bytes(bare(content) if is_svg else content)
        for font, data in fonts(site).items():
            (folder / font).write_bytes(data)
        (folder / "ebook.css").write_text(style(site), "utf-8")
        shutil.copy(Path(__file__).with_name("pdf.css"), folder)
        (folder / "cover.png").write_bytes(cover(site.title, site.author))
        page, pdf, numbers = folder / "book.xhtml", folder / "book.pdf", dict[str, int]()
        for _ in range(2):
            page.write_text(one_page(site, paper, numbers), "utf-8")
            printed(browser, page, pdf)
            with pikepdf.open(pdf) as made:
                numbers = numbers_of_places(made)
                # A tagged PDF has many small objects: in streams they take a tenth of the space.
                made.save(file, object_stream_mode=pikepdf.ObjectStreamMode.generate)

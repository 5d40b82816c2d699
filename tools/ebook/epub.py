"""The whole book as one EPUB 3 file: pages, contents, cover, pictures, style."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from lxml import etree

from tools.ebook.cover import cover
from tools.ebook.page import Page
from tools.ebook.site import Site, as_text
from tools.ebook.tidy import MATHML, SVG

TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".txt": "text/plain",
}
CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
# The font of formulas, and its licence, which goes where it goes.
FONT, LICENCE = "stix-two-math.woff2", "OFL.txt"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # equal books give equal bytes, but for the day


def xhtml(title: str, language: str, body: str, head: str = "") -> str:
    """Give a whole XHTML file; ``head`` is added to its head."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" '
        f'lang="{language}" xml:lang="{language}"><head><meta charset="utf-8"/>'
        f"<title>{escape(title)}</title>"
        '<link rel="stylesheet" type="text/css" href="ebook.css"/>'
        f"{head}</head><body>{body}</body></html>\n"
    )


def contents(site: Site, file: str = "{page}.xhtml") -> str:
    """Give the table of contents: parts, chapters, their sections."""

    def entry(page: Page) -> str:
        name = file.format(page=page.stem)
        below = "".join(
            f'<li><a href="{name}#{escape(place)}">{escape(title)}</a></li>'
            for place, title in page.sections
        )
        return (
            f'<li><a href="{name}#{page.stem}">{escape(page.title)}</a>'
            f"{f'<ol>{below}</ol>' if below else ''}</li>"
        )

    parts = []
    for part in site.parts:
        entries = "".join(map(entry, part.pages))
        named = f"<li><span>{escape(part.title)}</span><ol>{entries}</ol></li>"
        parts.append(named if part.title else entries)
    return f"<ol>{''.join(parts)}</ol>"


def fonts(site: Site) -> dict[str, bytes]:
    """Give the font of formulas with its licence, where the built book has them."""
    folder = site.html / "_static" / "mathematics"
    return {
        name: (folder / name).read_bytes() for name in (FONT, LICENCE) if (folder / name).is_file()
    }


def style(site: Site) -> str:
    """Give the style of the e-book, with the font of formulas where there is one."""
    rules = Path(__file__).with_name("ebook.css").read_text("utf-8")
    face = f'@font-face {{font-family: "STIX Two Math"; src: url("{FONT}") format("woff2")}}\n'
    return (face if FONT in fonts(site) else "") + rules


def _properties(page: Page) -> str:
    found = [
        name
        for name, tag in (("mathml", f"{MATHML}math"), ("svg", f"{SVG}svg"))
        if next(page.body.iter(tag), None) is not None
    ]
    return f' properties="{" ".join(found)}"' if found else ""


def _package(site: Site, images: dict[str, str]) -> str:
    """Give the list of all files, and what the book is called."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT00:00:00Z")
    items = [
        f'<item id="{page.stem}" href="{page.stem}.xhtml" '
        f'media-type="application/xhtml+xml"{_properties(page)}/>'
        for page in site.pages
    ]
    items += [
        f'<item id="image-{number}" href="images/{escape(name)}" '
        f'media-type="{TYPES[Path(name).suffix.lower()]}"/>'
        for number, name in enumerate(images)
    ]
    items += [
        f'<item id="font-{number}" href="{name}" media-type="{TYPES[Path(name).suffix]}"/>'
        for number, name in enumerate(fonts(site))
    ]
    spine = "".join(f'<itemref idref="{page.stem}"/>' for page in site.pages)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="book" '
        f'xml:lang="{site.language}"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="book">{escape(site.address)}</dc:identifier>'
        f"<dc:title>{escape(site.title)}</dc:title><dc:creator>{escape(site.author)}</dc:creator>"
        f"<dc:language>{site.language}</dc:language>"
        "<dc:rights>Text and figures under CC BY 4.0, code under the MIT licence.</dc:rights>"
        f'<meta property="dcterms:modified">{now}</meta><meta name="cover" content="cover-image"/>'
        "</metadata><manifest>"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="cover" href="cover.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="cover-image" href="cover.png" media-type="image/png" '
        'properties="cover-image"/><item id="style" href="ebook.css" media-type="text/css"/>'
        f'{"".join(items)}</manifest><spine><itemref idref="cover"/><itemref idref="nav"/>{spine}'
        "</spine></package>\n"
    )


def pictures(site: Site) -> dict[str, str]:
    """Give the pictures that pages show: name in the e-book, file relative to the built book."""
    return {posixpath.basename(file): file for page in site.pages for file in page.images}


def bare(svg: bytes) -> bytes:
    """Give a picture without descriptions that no reader shows, each place named once."""
    tree = etree.fromstring(svg, etree.XMLParser(no_network=True, resolve_entities=False))
    for metadata in tree.findall(f".//{SVG}metadata"):
        metadata.getparent().remove(metadata)
    named: set[str] = set()
    for element in tree.iterfind(".//*[@id]"):
        if element.get("id") in named:
            del element.attrib["id"]
        else:
            named.add(element.get("id"))
    return etree.tostring(tree, xml_declaration=True, encoding="utf-8", doctype="")


def _files(site: Site) -> Iterator[tuple[str, bytes | str]]:
    images = pictures(site)
    yield "META-INF/container.xml", CONTAINER
    yield "book/content.opf", _package(site, images)
    front = f'<section class="cover"><img src="cover.png" alt="{escape(site.title)}"/></section>'
    yield "book/cover.xhtml", xhtml(site.title, site.language, front)
    nav = f'<nav epub:type="toc" id="toc"><h1>Contents</h1>{contents(site)}</nav>'
    yield "book/nav.xhtml", xhtml("Contents", site.language, nav)
    yield "book/cover.png", cover(site.title, site.author)
    yield "book/ebook.css", style(site)
    for name, data in fonts(site).items():
        yield f"book/{name}", data
    for page in site.pages:
        yield f"book/{page.stem}.xhtml", xhtml(page.title, site.language, as_text(page.body))
    for name, file in images.items():
        content = (site.html / file).read_bytes()
        yield f"book/images/{name}", bare(content) if name.endswith(".svg") else content


def write_epub(site: Site, file: Path) -> None:
    """Write the EPUB."""
    with zipfile.ZipFile(file, "w") as book:
        first = zipfile.ZipInfo("mimetype", LONG_AGO)  # it must come first, as it is
        book.writestr(first, "application/epub+zip", zipfile.ZIP_STORED)
        for name, content in _files(site):
            book.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED)

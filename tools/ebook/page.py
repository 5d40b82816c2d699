"""A built page, changed into a page of a book on paper.

What a reader of paper cannot use goes: scripts, buttons, folded code of set-ups, plots and proofs.
Hints are open where they stand, solutions stand at the end of the chapter. Every place has a name
that no other page of the book has, so that pages can be put into one file.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import html5lib
from lxml import etree

from tools.ebook.tidy import X, add, classes, drop, local, plain, text, tidy, unwrap

HEADING = re.compile(r"h[1-6]\Z")


@dataclass(frozen=True)
class Names:
    """The pages of the book by their names, such as ``notebooks/05-masks``, and where they are."""

    pages: tuple[str, ...]
    address: str
    html: Path


@dataclass(frozen=True)
class Page:
    """A page for paper: an XHTML ``section``, and the files of the built book that it shows."""

    name: str
    title: str
    body: etree._Element
    images: tuple[str, ...]  # relative to the built book

    @property
    def stem(self) -> str:
        """Its name as a place, and as a file without ending."""
        return stem(self.name)

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Place and title of each section directly below the page's title."""
        headings = (e for e in self.body.iter(f"{X}h2") if e.getparent().get("id"))
        return [(e.getparent().get("id"), text(e)) for e in headings]


def stem(name: str) -> str:
    """Give the place that a page begins at."""
    return name.replace("/", "-")


def read_page(name: str, names: Names) -> Page:
    """Read one built page.

    Raises
    ------
    ValueError, if the page shows a picture from another host, or has no article
    """
    source = (names.html / f"{name}.html").read_text("utf-8")
    body = html5lib.parse(source, treebuilder="lxml").find(f".//{X}article")
    if body is None:
        raise ValueError(f"{name} has no article: was it built by another theme?")
    body.tag, body.tail = f"{X}section", None
    body.attrib.clear()
    tidy(body)
    _cells(body)
    _folds(body)
    _name_places(body, stem(name))
    images = tuple(sorted(_link(body, name, names)))
    first = body.find(f".//{X}h1")
    title = text(first) if first is not None else name
    return Page(name, title, plain(body), images)


def _cells(body: etree._Element) -> None:
    """Leave folded code out; gather solutions behind the rest."""
    solutions: list[etree._Element] = []
    for cell in [e for e in body.iter(f"{X}div") if "cell" in classes(e)]:
        tags = classes(cell)
        if "tag_hide-input" in tags:
            for fold in cell.findall(f"{X}details"):
                drop(fold)
        elif tags & {"tag_hide-cell", "tag_hide-output"}:
            if "tag_set-up" in tags:
                drop(cell)
            else:
                solutions.append(cell)
        if not len(cell) and cell.getparent() is not None:
            drop(cell)
    if not solutions:
        return
    end = add(body, "section", id="solutions")
    add(end, "h2").text = "Solutions"
    for number, cell in enumerate(solutions, start=1):
        name, place = _fold_name(cell) or f"Solution {number}", f"solution-{number}"
        note = etree.Element(f"{X}p", {"class": "to-solution"})
        cell.addprevious(note)
        add(note, "a", href=f"#{place}").text = f"{name}, at the end of the chapter"
        note.tail, cell.tail = cell.tail, None
        add(end, "h3", id=place).text = name
        end.append(cell)
        for fold in cell.findall(f"{X}details"):
            drop(fold.find(f"{X}summary"))
            unwrap(fold)


def _fold_name(cell: etree._Element) -> str:
    """Give the name that a fold shows, if its author chose it."""
    shown = cell.find(f"{X}details/{X}summary/{X}p")
    name = text(shown) if shown is not None else ""
    return "" if name.startswith(("Show code", "Hide code")) else name


def _folds(body: etree._Element) -> None:
    """Open what is still folded, under its name."""
    for fold in list(body.iter(f"{X}details")):
        summary = fold.find(f"{X}summary")
        fold.tag = f"{X}div"
        fold.attrib.clear()
        fold.set("class", "opened")
        if summary is not None:
            name, tail = text(summary), summary.tail
            summary.clear()
            summary.tag, summary.text, summary.tail = f"{X}p", name, tail
            summary.set("class", "fold")


def _name_places(body: etree._Element, prefix: str) -> None:
    """Begin every place with the page's own name; a place named twice is the first of the two."""
    seen: set[str] = set()
    for element in body.iter(etree.Element):
        old = element.attrib.pop("id", None) or (
            element.attrib.pop("name", None) if local(element) == "a" else None
        )
        if old and old not in seen:
            seen.add(old)
            element.set("id", f"{prefix}--{old}")
    body.set("id", prefix)
    for element in body.iter(etree.Element):
        for key, value in element.attrib.items():
            if key in ("aria-labelledby", "aria-describedby", "for", "headers"):
                known = [f"{prefix}--{one}" for one in value.split() if one in seen]
                element.set(key, " ".join(known))
                if not known:
                    del element.attrib[key]
            elif "url(#" in value:
                element.set(key, re.sub(r"url\(#", f"url(#{prefix}--", value))
            elif key.endswith("href") and value.startswith("#") and local(element) != "a":
                element.set(key, f"#{prefix}--{value[1:]}")


def _link(body: etree._Element, name: str, names: Names) -> set[str]:
    """Turn links to pages into links to files of the e-book; give the pictures that are shown."""
    images: set[str] = set()
    for image in body.iter(f"{X}img"):
        url = urlsplit(image.get("src", ""))
        if url.scheme == "data":
            continue
        if url.scheme or url.netloc:
            raise ValueError(f"{name} shows a picture from another host: {image.get('src')}")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(url.path)))
        images.add(file)
        image.set("src", f"images/{posixpath.basename(file)}")
    for link in body.iter(f"{X}a"):
        href = link.get("href")
        if href is None:
            continue
        url = urlsplit(href)
        if url.scheme or url.netloc:
            continue
        path = posixpath.join(posixpath.dirname(name), unquote(url.path))
        page = posixpath.normpath(path) if url.path else f"{name}.html"
        target = page.removesuffix(".html")
        if target in names.pages:
            place = f"{stem(target)}--{url.fragment}" if url.fragment else stem(target)
            link.set("href", f"{stem(target)}.xhtml#{place}")
        else:  # a file of the site that no page shows
            link.set("href", urljoin(urljoin(names.address, f"{name}.html"), href))
    return images

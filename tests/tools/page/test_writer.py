from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.notebooks import ROOT
from tools.page import writer

WEIGHTS = Path("_static", writer.FILE)


@pytest.fixture
def book(tmp_path):
    """A book of one page, as Sphinx has written it."""
    (tmp_path / "_static").mkdir()
    (tmp_path / "page.html").write_text("<p>No figure.</p>", encoding="utf-8")
    return tmp_path


def finish(book, source=ROOT, builder="html", exception=None):
    app = SimpleNamespace(outdir=book, srcdir=source, builder=SimpleNamespace(name=builder))
    writer._finish(app, exception)
    return book / WEIGHTS


def with_figure(book):
    html = f'<figure class="course-figure live" {writer.FIGURE}></figure>'
    (book / "page.html").write_text(html, encoding="utf-8")


def test_the_weights_are_written_where_a_page_has_the_figure(book):
    with_figure(book)
    script = finish(book).read_text(encoding="utf-8")
    assert script.startswith("globalThis.courseWriter = {")
    assert len(script) < 4_200_000


def test_they_are_not_written_for_another_book(book):
    assert not finish(book).exists()
    with_figure(book)
    assert not finish(book, builder="epub").exists()
    assert not finish(book, exception=ValueError()).exists()


def test_what_is_missing_is_said(book):
    with_figure(book)
    with pytest.raises(RuntimeError, match="there is no file"):
        finish(book, source=book)

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.notebooks import ROOT, chapters
from tools.page import writer

WEIGHTS = Path("_static", writer.FILE)


@pytest.fixture
def book(tmp_path):
    """The folder of a book, as Sphinx has written it."""
    (tmp_path / "_static").mkdir()
    return tmp_path


def finish(book, source=ROOT, builder="html", exception=None, pages=(writer.PAGE, "intro")):
    env = SimpleNamespace(found_docs=set(pages))
    app = SimpleNamespace(outdir=book, srcdir=source, env=env)
    app.builder = SimpleNamespace(name=builder)
    writer._finish(app, exception)
    return book / WEIGHTS


def test_the_weights_are_written_for_the_page_with_the_figure(book):
    script = finish(book).read_text(encoding="utf-8")
    assert script.startswith("globalThis.courseWriter = {")
    assert len(script) < 4_200_000


def test_the_figure_is_on_that_page_alone():
    having = [path for path in chapters([]) if 'data-live=\\"writer\\"' in path.read_text("utf-8")]
    assert having == [ROOT / f"{writer.PAGE}.ipynb"]


def test_they_are_not_written_for_another_book(book):
    assert not finish(book, pages=["intro"]).exists()
    assert not finish(book, builder="epub").exists()
    assert not finish(book, exception=ValueError()).exists()


def test_what_is_missing_is_said(book):
    with pytest.raises(RuntimeError, match="there is no file"):
        finish(book, source=book)

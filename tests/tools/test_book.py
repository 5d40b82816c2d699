"""A book that lacks a page, or has a link that leads nowhere, is not called complete."""

import pytest

from tools.book import main


@pytest.fixture
def book(tmp_path):
    """A built book of two pages, and its table of contents."""
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n  - file: notebooks/01-one\n"
    )
    html = tmp_path / "html"
    (html / "book").mkdir(parents=True)
    (html / "notebooks").mkdir()
    (html / "_static").mkdir()
    (html / "_static" / "template.html").write_text('<a href="{{ pathto(there) }}">')
    (html / "pic one.svg").touch()
    (html / "index.html").write_text('<meta http-equiv="Refresh"><a href="book/intro.html">in</a>')
    (html / "book" / "intro.html").write_text(
        '<h1 id="a">A</h1><a href="../notebooks/01-one.html#b">'
    )
    (html / "notebooks" / "01-one.html").write_text(
        '<a name="b"></a><img src="../pic%20one.svg"><a href="#b"><a href="#">'
        '<a href="https://example.org/page#place">'
    )
    return tmp_path


def test_a_complete_book_says_where_it_is(book, capsys):
    main(book / "html", book / "_toc.yml")
    assert str(book / "html" / "index.html") in capsys.readouterr().out


@pytest.mark.parametrize("page", ["index.html", "book/intro.html", "notebooks/01-one.html"])
def test_a_missing_page_is_named(book, page):
    (book / "html" / page).unlink()
    with pytest.raises(SystemExit, match=page):
        main(book / "html", book / "_toc.yml")


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ('<a href="gone.html">', "no such file"),
        ('<img src="../gone.png">', "no such file"),
        ('<a href="../book">', "no such file"),
        ('<a href="#gone">', "no such place"),
        ('<a href="../notebooks/01-one.html#gone">', "no such place"),
    ],
)
def test_a_broken_link_is_named_with_its_page(book, link, message):
    with (book / "html" / "book" / "intro.html").open("a") as page:
        page.write(link)
    with pytest.raises(SystemExit, match=message):
        main(book / "html", book / "_toc.yml")

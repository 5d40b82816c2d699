"""A book that lacks a page, or has a link that leads nowhere, is not called complete."""

import pytest

from tools.book import main

PAGES = {
    "_static/template.html": '<a href="{{ pathto(there) }}">',
    "pic one.svg": "",
    "index.html": '<meta http-equiv="Refresh"><a href="book/intro.html">in</a>',
    "book/intro.html": '<h1 id="a">A</h1><a href="../notebooks/01-one.html#b">',
    "notebooks/01-one.html": '<a name="b"></a><img src="../pic%20one.svg"><a href="#b">'
    '<a href="#"><a href="https://example.org/page#place">',
}


@pytest.fixture
def book(tmp_path):
    """A built book of two pages, and its table of contents."""
    toc = "format: jb-book\nroot: book/intro\nchapters:\n  - file: notebooks/01-one\n"
    (tmp_path / "_toc.yml").write_text(toc)
    for name, text in PAGES.items():
        (tmp_path / "html" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "html" / name).write_text(text)
    return tmp_path


def test_a_missing_page_is_named_and_a_complete_book_says_where_it_is(book, capsys):
    main(book / "html", book / "_toc.yml")
    assert str(book / "html" / "index.html") in capsys.readouterr().out
    (book / "html" / "notebooks" / "01-one.html").unlink()
    with pytest.raises(SystemExit, match="01-one"):
        main(book / "html", book / "_toc.yml")


@pytest.mark.parametrize(
    ("link", "message"),
    [
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

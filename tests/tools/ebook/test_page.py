"""A built page as a page of a book: what goes, what is opened, where links lead."""

import re

import pytest

from tools.ebook.page import Names, read_page
from tools.ebook.site import as_text


@pytest.fixture
def chapter(site):
    return as_text(site.pages[1].body)


def test_what_paper_cannot_use_goes_and_what_a_reader_wants_stays(chapter):
    gone = ["import os", "draw()", "Copy", "run()", "narrow", "<style", "<details", "border=",
            "var(", "Start", "Point at a token"]  # fmt: skip
    kept = ["Look twice.", "Hint", "answer = 1", "wide", "viewBox", "#0072b2"]
    assert [words for words in [*gone, *kept] if words in chapter] == kept


def test_solutions_stand_at_the_end_and_are_linked(chapter):
    assert chapter.index("Look twice.") < chapter.index("answer = 1")
    (link,) = re.findall(r'href="notebooks-01-one\.xhtml#([^"]+)">Solution 1, at', chapter)
    assert f'id="{link}"' in chapter


def test_places_are_named_after_their_page_and_links_follow(chapter, site):
    assert 'clip-path="url(#notebooks-01-one--c)"' in chapter
    assert 'id="notebooks-01-one--c"' in chapter
    assert 'href="notebooks-01-one.xhtml#notebooks-01-one--one"' in chapter
    assert 'href="book-intro.xhtml#book-intro"' in chapter
    assert 'href="https://example.org/book/_sources/x.txt"' in chapter
    assert 'href="notebooks-01-one.xhtml#notebooks-01-one--next"' in as_text(site.pages[0].body)


def test_markup_is_that_of_a_book(chapter):
    assert re.search(r'<mstyle[^>]* displaystyle="true"><mfrac>', chapter)
    # A long signature is no list of descriptions.
    names = '<div class="parameters"><div>first,</div><div>second</div></div>'
    assert f"<dl><dt>call({names})</dt><dd>Calls.</dd></dl>" in chapter
    # Code keeps its words without idle elements.
    assert '<pre>x <span class="c1"># note</span></pre>' in chapter


def test_a_picture_from_another_host_is_refused(site):
    file = site.html / "book" / "intro.html"
    file.write_text("<article><img src='https://example.org/a.png'></article>")
    with pytest.raises(ValueError, match="another host"):
        read_page("book/intro", Names(("book/intro",), "", site.html))

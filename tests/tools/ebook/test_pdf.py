"""The PDF: one page that links into itself, and, where a browser is, printed with numbers."""

import re

import pikepdf
import pytest

from tools.ebook import pdf


def test_the_one_page_links_into_itself_and_has_its_chapters_below_their_part(site):
    page = pdf.one_page(site, "Letter", {})
    links = re.findall(r'href="#([^"]+)"', page)
    assert len(links) > 4
    assert set(links) <= set(re.findall(r' id="([^"]+)"', page))
    assert ".xhtml#" not in page
    assert "size: Letter" in page
    assert page.index("Part &amp; parcel</h1>") < page.index("<h2>One</h2>")
    assert '<span class="number">7</span>' in pdf.contents(site, {"notebooks-01-one": 7})


@pytest.mark.slow
@pytest.mark.processes
def test_a_tiny_book_is_printed_with_bookmarks_and_numbers(site, tmp_path):
    try:
        pdf.find_browser()
    except pdf.NoBrowser as lack:
        pytest.skip(str(lack))
    pdf.write_pdf(site, tmp_path / "book.pdf")
    with pikepdf.open(tmp_path / "book.pdf") as made:
        with made.open_outline() as outline:
            titles = [item.title for item in outline.root]
        assert titles == ["Contents", "The book", "Part & parcel"]
        assert pdf.numbers_of_places(made)["notebooks-01-one"] == 4
        assert [round(float(x)) for x in made.pages[0].mediabox[2:]] in ([595, 842], [596, 842])

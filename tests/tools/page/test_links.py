"""Chapters, sources, words of the glossary and names of ``utils`` are links, and lead somewhere."""

import io
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx

from tools.page import citations, glossary, links, names

FILES = {
    "index.md": """# Book
See chapters 1, 2 and 12. The appendix has the rest.

Not `chapter 1`, nor [chapter 1](https://example.org), nor version 1.2 of chapters.

    chapter 1
""",
    "book/glossary.md": """# Glossary
```{glossary}
Head
  One attention. (Chapter 2)

Key
  What a token shows. (Chapter 1)

Multi-head attention
  Several heads. (Chapter 2)

Query
  What a token asks.
```
""",
    "book/api/attention.md": """# utils.attention
```{eval-rst}
.. py:module:: utils.attention.masks
.. py:function:: causal_mask(size)

   As ``other_mask``.

   :Parameters:
      - ``other_mask``: an argument of that name

.. py:function:: other_mask(size)
```
""",
    "notebooks/01-one.md": """# 1. One
The queries of multi-head attention, multi-head attention, a HEAD and its keys. Query again [1].
This is chapter 1, and
chapter 2 follows [2, 1] and [1, section 3]. An index: x [7, -1].

## A key and a query in chapter 2

```python
from utils.attention import causal_mask, other_mask
import torch

other_mask = 3
mask = causal_mask(size=2) + torch.causal_mask(causal_mask=other_mask)
```

Both `causal_mask(3)` and `causal_mask`, but `other_mask` is the chapter's own.

## Sources

1. A. Author, "On the Norm of a Thing", chapter 2.
2. B. Writer, *The Norm*, see [the norm](https://example.org/norm).
""",
    "notebooks/02-two.md": """# 2. Two
A key, a head, `causal_mask` and `utils.attention.causal_mask`.
""",
    "notebooks/12-twelve.md": "# 12. Twelve\nNo links.\n",
    "notebooks/A1-last.md": "# A1. Last\nNo links.\n",
    "references.bib": """@misc{a, title = {The Norm}, url = {https://example.org/norm}}
@misc{b, title = {On {the Norm} of a Thing}, doi = {10.1000/1}}
""",
}
PARTS = ("citations", "links", "glossary", "names")


def build(folder, files):
    """Build a small book; give its pages by name, and what was warned of."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    extensions = ["myst_parser", "sphinxcontrib.bibtex", *(f"tools.page.{part}" for part in PARTS)]
    settings = {
        "extensions": extensions,
        "bibtex_bibfiles": ["references.bib"],
        "suppress_warnings": ["toc"],
        "html_theme": "basic",
    }
    warnings = io.StringIO()
    app = Sphinx(folder, None, folder / "out", folder / "trees", "html", settings, None, warnings)
    app.build()
    pages = {}
    for path in Path(app.outdir).rglob("*.html"):
        name = str(path.relative_to(app.outdir).with_suffix(""))
        pages[name] = BeautifulSoup(path.read_text(), "html.parser").find(role="main")
    orphans = "isn't included in any toctree"
    again = "is already registered"  # Sphinx, of a second application in one process
    said = warnings.getvalue().splitlines()
    return pages, [line for line in said if orphans not in line and again not in line]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    pages, warnings = build(tmp_path_factory.mktemp("book"), FILES)
    assert not warnings
    return pages


def found(page, selector="a.reference.internal"):
    """Give words and address of each link that stands in a page's text."""
    return [(" ".join(link.text.split()), link["href"]) for link in page.select(selector)]


def test_each_chapter_that_is_named_in_prose_is_a_link(book):
    assert found(book["index"]) == [
        ("1", "notebooks/01-one.html"),
        ("2", "notebooks/02-two.html"),
        ("12", "notebooks/12-twelve.html"),
        ("appendix", "notebooks/A1-last.html"),
    ]
    assert book["index"].select_one("a.internal")["title"] == "1. One"


def test_a_chapter_links_others_but_neither_itself_nor_in_headings_and_sources(book):
    chapter = [link for link in found(book["notebooks/01-one"]) if "chapter" in link[0]]
    assert chapter == [("chapter 2", "02-two.html")]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("Chapter 7 and chapter 10.", ["7", "10"]),
        ("in chapter 4, 10 heads", ["4"]),
        ("chapters 1 to 3", ["1", "3"]),
        ("chapters 4 to 6, and 8 has", ["4", "6", "8"]),
        ("chapters 3, 5, 7, 9 and 10", ["3", "5", "7", "9", "10"]),
        ("chapters 1–4", ["1", "4"]),
        ("chapter A1, the appendix", ["A1", "A1"]),
        ("Appendix A2, an appendix A", ["A2"]),
        ("the chapters 2 or\n3", ["2", "3"]),
        ("section 3 of a chapter", []),
        ("an appendix; chapter two; subchapter 2; chapter 3.2", []),
    ],
)
def test_what_names_a_chapter(words, numbers):
    assert [number for _, _, number in links.named(words)] == numbers


def test_a_number_that_no_chapter_has_is_a_warning(tmp_path):
    files = {"index.md": "# A\nChapter 3.\n", "notebooks/01-one.md": "# 1\n", "references.bib": ""}
    _, warnings = build(tmp_path, files)
    assert [line for line in warnings if "there is no chapter 3" in line and "index.md" in line]


def test_a_word_is_linked_where_a_chapter_first_uses_it(book):
    assert found(book["notebooks/01-one"], "a.glossary-word") == [
        ("queries", "../book/glossary.html#term-Query"),
        ("multi-head attention", "../book/glossary.html#term-Multi-head-attention"),
        ("HEAD", "../book/glossary.html#term-Head"),
    ]
    meaning = book["notebooks/01-one"].select_one("a.glossary-word")["title"]
    assert meaning == "What a token asks."


def test_the_chapter_that_explains_a_word_does_not_link_it(book):
    assert [words for words, _ in found(book["notebooks/02-two"], "a.glossary-word")] == ["key"]


def test_the_glossary_does_not_link_its_own_words(book):
    assert not book["book/glossary"].select("a.glossary-word")


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("Query", "queries"),
        ("Attention weights", "attention\nweight"),
        ("Rank correlation (Spearman)", "rank correlation"),
        ("Rank correlation (Spearman)", "rank correlation (Spearman)"),
        ("McNemar's test", "McNemar's test"),
        ("Softmax", "softmaxes"),
    ],
)
def test_a_term_is_found_in_its_forms(term, said):
    words = [glossary.Word(term, "page", "place", "meaning", frozenset())]
    assert glossary.finder(words).fullmatch(said)


def test_a_part_of_a_word_is_no_term():
    words = [glossary.Word("Head", "page", "place", "meaning", frozenset())]
    assert not glossary.finder(words).search("header, multi-head, head-like, ahead")


def test_a_source_is_linked_from_where_it_is_named_and_back(book):
    page = book["notebooks/01-one"]
    named = [link for link in page.select("a") if re.fullmatch(r"#source-\d", link["href"])]
    assert [link["href"][-1] for link in named] == ["1", "2", "1", "1"]
    first, second = page.select("ol > li")
    assert (first["id"], second["id"]) == ("source-1", "source-2")
    back = [link["href"][1:] for link in first.select(".used-at a")]
    assert back == [link["id"] for link in named if link["href"] == "#source-1"]
    assert [link.text for link in second.select(".used-at a")] == ["↑"]
    assert "[7, -1]" in page.text


def test_a_source_is_linked_with_the_longest_title_of_the_bibliography_once(book):
    first, second = book["notebooks/01-one"].select("ol > li")
    assert found(first, "a.external") == [("doi:10.1000/1", "https://doi.org/10.1000/1")]
    assert found(second, "a.external") == [("the norm", "https://example.org/norm")]


def test_a_source_that_is_not_listed_is_a_warning(tmp_path):
    text = "# A\nSee [2].\n\n## Sources\n\n1. One.\n"
    _, warnings = build(tmp_path, {"index.md": text, "references.bib": ""})
    assert [line for line in warnings if "there is no source 2" in line]


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://arxiv.org/abs/1706.03762", "arXiv:1706.03762"),
        ("https://doi.org/10.1000/1", "doi:10.1000/1"),
        ("https://www.jstor.org/stable/1", "jstor.org"),
    ],
)
def test_an_address_is_named_as_readers_know_it(url, label):
    assert citations.label(url) == label


def test_names_that_a_chapter_imports_are_links_in_its_code(book):
    place = "../book/api/attention.html#utils.attention.masks.causal_mask"
    assert found(book["notebooks/01-one"], "pre a") == [("causal_mask", place)] * 2


def test_names_in_prose_are_links_once_a_section(book):
    place = "../book/api/attention.html#utils.attention.masks.causal_mask"
    assert found(book["notebooks/01-one"], "p > a:has(code)") == [("causal_mask(3)", place)]
    full = [("utils.attention.causal_mask", place)]
    assert found(book["notebooks/02-two"], "p > a:has(code)") == full


def test_the_reference_links_its_names_but_not_arguments_of_the_same_name(book):
    own = [("other_mask", "#utils.attention.masks.other_mask")]
    assert found(book["book/api/attention"], "a:has(code)") == own


def test_an_attribute_of_a_room_is_a_link():
    body = '<div class="highlight"><pre><span class="n">c</span><span class="o">.</span>'
    body += '<span class="n">split</span><span class="o">.</span><span class="n">x</span></pre>'
    linked = names.linked(body, {"c": "utils.checks"}, {"utils.checks.split": "there"})
    inside = '<span class="n">c</span><span class="o">.</span><span class="n">split</span></a>'
    assert f'<a class="api-name" href="there">{inside}<span class="o">.' in linked


def test_every_work_of_the_bibliography_has_an_address():
    file = Path(__file__).parents[3] / "book" / "references.bib"
    entries = citations.parse_file(str(file)).entries.values()
    assert [entry.key for entry in entries if not citations.address(entry)] == []

"""Chapters, sources, words of the glossary and names of ``utils`` are links, and lead somewhere."""

import io
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx

from tools.page import citations, glossary, links

FILES = {
    "index.md": "# Book\nSee chapters 1 and 2, not `chapter 1`. The appendix has the rest.\n",
    "book/glossary.md": """# Glossary
```{glossary}
Head
  One attention. (Chapter 2)

Query
  What a token asks.
```
""",
    "book/api/attention.md": """# utils.attention
```{eval-rst}
.. py:module:: utils.attention
.. py:function:: causal_mask(size)
```
""",
    "notebooks/01-one.md": """# 1. One
The queries of a head. Query again [1]; this is chapter 1, and chapter 2 follows [2, 1]; x [7, -1].

```python
from utils.attention import causal_mask
mask = causal_mask(size=2) + torch.causal_mask(causal_mask=3)
```

Both `causal_mask(3)` and `causal_mask`.

## Sources

1. A. Author, "On the Norm of a Thing", chapter 2.
2. B. Writer, *The Norm*, see [the norm](https://example.org/norm).
""",
    "notebooks/02-two.md": "# 2. Two\nA head. Chapter 3, and [1].\n\n## Sources\n",
    "notebooks/A1-last.md": "# A1. Last\nNo links.\n",
    "references.bib": """@misc{a, title = {The Norm}, url = {https://example.org/norm}}
@misc{b, title = {On {the Norm} of a Thing}, doi = {10.1000/1}}
""",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A small book: its pages by name, and what was warned of."""
    folder, warnings = tmp_path_factory.mktemp("book"), io.StringIO()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    parts = ("citations", "links", "glossary", "names")
    settings = {
        "extensions": ["myst_parser", "sphinxcontrib.bibtex", *(f"tools.page.{p}" for p in parts)],
        "bibtex_bibfiles": ["references.bib"],
        "html_theme": "basic",
    }
    out = folder / "out"
    Sphinx(folder, None, out, folder / "trees", "html", settings, None, warnings).build()
    pages = {name: out / f"{name.removesuffix('.md')}.html" for name in FILES if name[-1] == "d"}
    read = {
        n: BeautifulSoup(p.read_text(), "html.parser").find(role="main") for n, p in pages.items()
    }
    return read, warnings.getvalue()


def found(page, selector="a.reference.internal"):
    """Give words and address of each link that stands in a page's text."""
    return [(" ".join(link.text.split()), link["href"]) for link in page.select(selector)]


def test_what_a_page_names_is_a_link(book):
    pages, warnings = book
    one, two = pages["notebooks/01-one.md"], pages["notebooks/02-two.md"]
    numbers = [("1", "notebooks/01-one.html"), ("2", "notebooks/02-two.html")]
    assert found(pages["index.md"]) == [*numbers, ("appendix", "notebooks/A1-last.html")]
    # Not the chapter itself, and not in sources.
    assert [link for link in found(one) if "chap" in link[0]] == [("chapter 2", "02-two.html")]
    # A word where a chapter first uses it, but not in the chapter that explains it.
    words = [
        ("queries", "../book/glossary.html#term-Query"),
        ("head", "../book/glossary.html#term-Head"),
    ]
    assert found(one, "a.glossary-word") == words
    assert one.select_one("a.glossary-word")["title"] == "What a token asks."
    assert found(two, "a.glossary-word") == []
    # Names in code, and in prose once a section.
    place = "../book/api/attention.html#utils.attention.causal_mask"
    module = ("utils.attention", place.replace("#", "#module-").removesuffix(".causal_mask"))
    assert found(one, "pre a") == [module, *[("causal_mask", place)] * 2]
    assert found(one, "p > a:has(code)") == [("causal_mask(3)", place)]
    # Sources, and back from them; and their address, once.
    named = [link for link in one.select("a") if re.fullmatch(r"#source-\d", link["href"])]
    assert [link["href"][-1] for link in named] == ["1", "2", "1"]
    first, second = one.select("ol > li")
    back = [link["href"][1:] for link in first.select(".used-at a")]
    assert back == [link["id"] for link in named if link["href"] == "#source-1"]
    assert found(first, "a.external") == [("doi:10.1000/1", "https://doi.org/10.1000/1")]
    assert found(second, "a.external") == [("the norm", "https://example.org/norm")]
    assert "there is no chapter 3" in warnings


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("in chapter 4, 10 heads; chapters 1 to 3", ["4", "1", "3"]),
        ("chapters 4 to 6, and 8 has", ["4", "6", "8"]),
        ("chapters 1–4 or the chapters 2 or\n3", ["1", "4", "2", "3"]),
        ("an appendix; chapter two; subchapter 2; chapter 3.2; section 3 of a chapter", []),
    ],
)
def test_what_names_a_chapter(words, numbers):
    assert [number for _, _, number in links.named(words)] == numbers


@pytest.mark.parametrize(
    ("term", "said", "is_found"),
    [
        ("Attention weights", "attention\nweight", True),
        ("Head", "header, multi-head, head-like, ahead", False),
    ],
)
def test_a_term_is_found_in_its_forms_and_not_within_a_word(term, said, is_found):
    words = [glossary.Word(term, "page", "place", "meaning", frozenset())]
    assert bool(glossary.finder(words).search(said)) is is_found


def test_every_work_of_the_bibliography_has_an_address():
    file = Path(__file__).parents[3] / "book" / "references.bib"
    entries = citations.parse_file(str(file)).entries.values()
    assert [entry.key for entry in entries if not citations.address(entry)] == []

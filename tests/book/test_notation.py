"""The notation: chapters use each symbol as the page says, and the page names none without use."""

import re
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import chapters
from tools.symbols import formulas, read

BOOK = Path(__file__).parents[2] / "book"
PAPERS = "\n## What papers call it"  # from here on, the page tells what others write


def first_of_each(text):
    """Give the symbol that each formula of a text stands for: the first, without its indices."""
    return list(dict.fromkeys(read(latex)[0][0] for latex in formulas(text)))


def read_page(page):
    """Give the symbols that the page declares, each with a chapter or a section of the page.

    Declared for the whole book is what begins a row of a table; for one chapter, what begins an
    item of its list, up to a semicolon.
    """
    found, section = [], ""
    for line in page.partition(PAPERS)[0].splitlines():
        chapter = re.match(r"- \*\*Chapter (\w+)\*\*: ", line)
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| $"):
            found += [(symbol, section) for symbol in first_of_each(line.split(" | ")[0][2:])]
        elif chapter:
            for item in line[chapter.end() :].split("; "):
                start = re.match(r"\$[^$]+\$(?:(?:, | and )\$[^$]+\$)*", item)
                assert start, f"“{item}” begins with no symbol"
                found += [(symbol, chapter[1]) for symbol in first_of_each(start[0])]
    return found


def names_of_papers(page):
    """Give the formulas that a chapter may quote, though they are not in the book's symbols."""
    rows = re.findall(r"(?m)^\| (\$.+?\$) \|", page.partition(PAPERS)[2])
    ours = {symbol for symbol, _ in read_page(page)}
    return {latex for row in rows for latex in formulas(row) if {s for s, _ in read(latex)} - ours}


def faults(texts, page, chapter):
    """Give what a chapter writes otherwise than the page declares it, formula by formula."""
    declared = dict(read_page(page))
    allowed = {s for s, scope in declared.items() if scope == chapter or not is_chapter(scope)}
    things = {s for s, scope in declared.items() if scope == "A layer and its steps"}
    found = []
    for latex in (latex for text in texts for latex in formulas(text)):
        ours = latex
        for name in names_of_papers(page):
            ours = ours.replace(name, "{}")
        for symbol, place in dict.fromkeys(read(ours)):
            where = f"chapter {chapter}, ${' '.join(latex.split())}$: {symbol}"
            if symbol not in allowed:
                found.append(f"{where} is not declared in book/notation.md")
            elif place == "_" and symbol in things:
                found.append(f"{where} is no index (an index is h, t, j, i, or a size)")
    return list(dict.fromkeys(found))


def is_chapter(scope):
    return bool(re.fullmatch(r"A?\d+", scope))


def texts_of(path):
    if path.suffix == ".md":
        return [path.read_text("utf-8")]
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


PAGE = (BOOK / "notation.md").read_text("utf-8")
DECLARED = read_page(PAGE)
CHAPTERS = {path.stem.partition("-")[0].lstrip("0"): path for path in chapters([])}
USES = {
    chapter: {s for text in texts_of(path) for latex in formulas(text) for s, _ in read(latex)}
    for chapter, path in CHAPTERS.items()
}
PAGES = [path for path in sorted(BOOK.glob("*.md")) if path.stem != "notation"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_writes_what_is_declared(chapter):
    found = faults(texts_of(CHAPTERS[chapter]), PAGE, chapter)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_writes_what_is_declared_for_the_whole_book(path):
    found = faults(texts_of(path), PAGE, path.name)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("symbol", "scope"), DECLARED)
def test_a_symbol_is_used_where_it_is_declared(symbol, scope):
    users = [chapter for chapter, used in USES.items() if symbol in used]
    if is_chapter(scope):
        assert scope in users, f"chapter {scope} does not use {symbol}: take it from notation.md"
    else:
        assert len(users) > 1, f"only {users} use {symbol}: declare it for that chapter, or not"


def test_no_symbol_is_declared_twice():
    symbols = [symbol for symbol, _ in DECLARED]
    assert len(symbols) > 60
    assert sorted(symbols) == sorted(set(symbols))


MADE_UP = """
## Sizes
| symbol | in the code |
|---|---|
| $T$ | `T`, of $B$ |

## A layer and its steps
| $x_t$, $X$ | `x` |
| $s$ | `scores` |

## Symbols of one chapter
- **Chapter 3**: $M$ a mask of $T$, `mask`; $\\xi_h$ and $D_{\\text{in}}$ two numbers.
- **Chapter A1**: $t$ a time.
## What papers call it
| $d_k$ | $T$ |
| $T$ | $X$ |
"""


def test_the_page_is_read():
    whole = [("T", "Sizes"), *[(symbol, "A layer and its steps") for symbol in ("x", "X", "s")]]
    local = [("M", "3"), ("xi", "3"), ("D_in", "3"), ("t", "A1")]
    assert read_page(MADE_UP) == whole + local
    assert names_of_papers(MADE_UP) == {"d_k"}


def test_a_symbol_that_is_not_declared_is_found():
    told = "is not declared in book/notation.md"
    assert faults(["$X$ by $\\sqrt{d_k}$, $e^2$ `$w$`", "$$\nM T\n$$"], MADE_UP, "3") == []
    assert faults(["so $X w_0$,"], MADE_UP, "3") == [f"chapter 3, $X w_0$: w {told}"]
    assert faults(["$M$"], MADE_UP, "4") == [f"chapter 4, $M$: M {told}"]
    assert faults(["$d$"], MADE_UP, "4") == [f"chapter 4, $d$: d {told}"]


def test_a_letter_that_is_no_index_is_found():
    assert faults(["$x_T$ $x^s$"], MADE_UP, "3") == []
    (found,) = faults([r"$\sum_s X$"], MADE_UP, "3")
    assert found.startswith(r"chapter 3, $\sum_s X$: s is no index")

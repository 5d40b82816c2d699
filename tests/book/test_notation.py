"""The notation: chapters use each symbol as the page says, and the page names none without use."""

import re
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import chapters
from tools.symbols import formulas, read

BOOK = Path(__file__).parents[2] / "book"
# From here on, the page tells what others write.
PAPERS = "\n## The notation of “Attention Is All You Need” and other papers"


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
    found, papers = [], names_of_papers(page)
    for latex in (latex for text in texts for latex in formulas(text)):
        ours = latex
        for name in papers:
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


@pytest.mark.parametrize(
    ("name", "path"), [*CHAPTERS.items(), *((path.name, path) for path in PAGES)]
)
def test_a_chapter_or_a_page_writes_what_is_declared(name, path):
    found = faults(texts_of(path), PAGE, name)
    assert not found, "\n".join(found)


def test_each_symbol_is_declared_once_and_used_where_it_is_declared():
    assert len(dict(DECLARED)) == len(DECLARED)
    for symbol, scope in DECLARED:
        users = [chapter for chapter, used in USES.items() if symbol in used]
        if is_chapter(scope):
            assert scope in users, f"chapter {scope} does not use {symbol}: take it from the page"
        else:
            assert len(users) > 1, f"only {users} use {symbol}: declare it there, or not"

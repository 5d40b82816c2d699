"""What is wrong with the cells of a chapter whatever they give: marks, lost names, own colours."""

import ast
import re

import matplotlib as mpl
import nbformat
import pytest
from matplotlib.colors import is_color_like

from tools.notebooks import chapters

every_chapter = pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)


def trees(nb):
    """Give number and syntax tree of the code cells, without the lines that only IPython reads."""
    for number, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            yield number, ast.parse(re.sub(r"(?m)^(\s*)[%!].*", r"\1pass", cell.source))


def assigned(tree):
    """Give the names that a cell assigns at its own level, in loops too, but not in functions."""
    if isinstance(tree, ast.Name) and isinstance(tree.ctx, ast.Store):
        yield tree.id
    scopes = ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, scopes):
            yield from assigned(child)


def lost_functions(nb):
    """Give cell and name where a function of an earlier cell gets another meaning."""
    functions, lost = set(), []
    for number, tree in trees(nb):
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        lost += [(number, name) for name in assigned(tree) if name in functions - own]
        functions |= own
    return lost


# A colour wherever it stands: #444, C0, tab:blue. A name of one is also a word: see below.
COLOUR = re.compile(r"#[\da-fA-F]{3,8}|C\d|(tab|xkcd):.+")
TAKES_COLOUR = re.compile(r"(?i)\w*(colou?rs?|cmap|palette)|c|[fem]c|m[fe]c")


def own_colours(nb):
    """Give cell and string where a chapter names a colour or a colour map by itself."""
    for number, tree in trees(nb):
        for node in ast.walk(tree):
            given = isinstance(node, ast.keyword) and TAKES_COLOUR.fullmatch(node.arg or "")
            for part in ast.walk(node) if given else [node]:
                text = getattr(part, "value", None) if isinstance(part, ast.Constant) else None
                named = given and (is_color_like(text) or text in mpl.colormaps)
                if isinstance(text, str) and text != "none" and (named or COLOUR.fullmatch(text)):
                    yield number, text


@every_chapter
def test_an_earlier_cell_can_run_again_as_no_function_is_lost(path):
    assert lost_functions(nbformat.read(path, as_version=4)) == []


def test_a_function_that_is_lost_is_seen():
    cells = ["def f(): f = 1\ng = [f for f in [f]]", "for f in []: pass", "f, x = 1, 2\nf(x)"]
    nb = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    assert lost_functions(nb) == [(1, "f"), (2, "f")]


@every_chapter
def test_a_chapter_takes_its_colours_from_utils_figures(path):
    assert list(own_colours(nbformat.read(path, as_version=4))) == []


def test_a_colour_of_its_own_is_seen_and_one_of_the_palette_is_none():
    own = "draw(x, cmap='Blues', c='0.6', edgecolors='w' if dark else PAPER); draw(x, 'C0')"
    words = "ax.plot(['red', 'k', '0.5'], 'o--', color=PALETTE[0], label='b', mfc='none')"
    nb = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, [own, words])))
    found = {(0, name) for name in ("Blues", "0.6", "w", "C0")}
    assert set(own_colours(nb)) == found

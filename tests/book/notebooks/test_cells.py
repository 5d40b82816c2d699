"""What is wrong with the cells of a chapter whatever they give: marks, lost names, own colours."""

import ast
import re

import matplotlib as mpl
import nbformat
import pytest
from markdown_it import MarkdownIt
from matplotlib.colors import CSS4_COLORS, is_color_like
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.notebooks import chapters

MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin)
every_chapter = pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)


def stars_shown(text):
    """Give the pieces of text that a page shows with an asterisk which is not escaped."""
    tokens = MARKDOWN.parse(text.replace(r"\*", ""))
    pieces = [piece for token in tokens for piece in token.children or []]
    return [piece.content for piece in pieces if piece.type == "text" and "*" in piece.content]


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


# What a colour or a colour map is given to: an argument, a key, or a name.
TAKES_COLOUR = re.compile(r"(?i)\w*(colou?rs?|cmap|palette)|c|[fem]c|m[fe]c")
# A colour wherever it stands: #444, C0, tab:blue. A name of one is also a word, see below.
COLOUR = re.compile(r"#[\da-fA-F]{3,8}|C\d|(tab|xkcd):.+")
DRAWING = {"plt", "sns", "p9", "ax", "axes", "fig"}


def strings(tree):
    """Give the strings in a part of a cell."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return (value for value in constants if isinstance(value, str))


def receivers(tree):
    """Give name and value of each argument, key of a dictionary and assignment in a cell."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword):
            yield node.arg or "", node.value
        elif isinstance(node, ast.Dict):
            keys = [getattr(key, "value", "") for key in node.keys]
            yield from zip(map(str, keys), node.values, strict=True)
        elif isinstance(node, ast.Assign):
            yield from ((name.id, node.value) for name in node.targets if hasattr(name, "id"))
        elif isinstance(node, ast.Attribute) and getattr(node.value, "attr", "") == "cm":
            yield "cmap", ast.Constant(node.attr)  # plt.cm.viridis
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get_cmap":
            yield from (("cmap", value) for value in node.args)


def own_colours(nb):
    """Give cell and string where a chapter names a colour or a colour map by itself."""
    for number, tree in trees(nb):
        given = [value for name, value in receivers(tree) if TAKES_COLOUR.fullmatch(name)]
        found = {
            text
            for text in (text for value in given for text in strings(value))
            if text != "none" and (is_color_like(text) or text in mpl.colormaps)
        }
        found |= {text for text in strings(tree) if COLOUR.fullmatch(text)}
        if DRAWING & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            found |= {text for text in strings(tree) if text in CSS4_COLORS}
        yield from ((number, text) for text in sorted(found))


@every_chapter
def test_no_asterisk_is_left_in_the_text(path):
    nb = nbformat.read(path, as_version=4)
    texts = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    assert [shown for text in texts for shown in stars_shown(text)] == []


def test_an_asterisk_that_closes_nothing_is_seen():
    assert stars_shown("*before* Writing*); after*") == [" Writing*); after*"]
    assert stars_shown(r"*before* Writing); *after* $a*b$ `a * b` \* done") == []


@every_chapter
def test_an_earlier_cell_can_run_again_as_no_function_is_lost(path):
    assert lost_functions(nbformat.read(path, as_version=4)) == []


def test_a_function_that_is_lost_is_seen():
    cells = ["def f(): f = 1\ng = [f for f in [f]]", "for f in []: pass", "f, x = 1, 2\nf(x)"]
    nb = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    assert lost_functions(nb) == [(1, "f"), (2, "f")]


# A line that holds nothing but brackets and the shape of what they close.
LOST_SHAPE = re.compile(r"(?m)^[ \t]*[)\]}]+[ \t]*#.*\(.*\)")


@every_chapter
def test_a_shape_stands_on_the_line_of_its_tensor(path):
    nb = nbformat.read(path, as_version=4)
    sources = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    assert [found for source in sources for found in LOST_SHAPE.findall(source)] == []


def test_a_shape_that_lost_its_tensor_is_seen():
    assert LOST_SHAPE.search("x = torch.cat(\n    outputs\n)  # (B, T, D)")
    assert not LOST_SHAPE.search("x = f(\n    y,  # (B, T)\n)\nz = g(x)  # (B, T, D)")


@every_chapter
def test_a_chapter_takes_its_colours_from_utils_figures(path):
    assert list(own_colours(nbformat.read(path, as_version=4))) == []


@pytest.mark.parametrize(
    ("source", "colour"),
    [
        ("draw(1, cmap='Blues')", "Blues"),
        ("style = {'cmap': 'viridis'}", "viridis"),
        ("colour = plt.cm.magma(0.5)", "magma"),
        ("plt.get_cmap('magma')", "magma"),
        ("draw(x, color='0.6')", "0.6"),
        ("draw(x, edgecolors='w')", "w"),
        ("colour = 'k' if dark else PAPER", "k"),
        ("for colour in ['#56B4E9']: pass", "#56B4E9"),
        ("draw(x, 'C0')", "C0"),
        ("for colour in [*PALETTE, 'black']: ax.plot(1, colour)", "black"),
    ],
)
def test_a_colour_of_its_own_is_seen(source, colour):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    assert list(own_colours(nb)) == [(0, colour)]


def test_words_and_colours_of_the_palette_are_no_colours_of_its_own():
    sources = [
        "words = ['the', 'red', 'k', '0.5', 'Blues']",
        "ax.plot(x, 'o--', color=PALETTE[0], cmap=SEQUENTIAL, label='b', mfc='none')",
    ]
    nb = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    assert list(own_colours(nb)) == []

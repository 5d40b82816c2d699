"""What goes into a page and comes out of it: cells, boxes, tags, styles, scripts, marks of code."""

import re

import pytest
from docutils.core import publish_doctree
from docutils.nodes import block_quote
from lxml import html

from tools.page import boxes, highlight, tidy, weight
from tools.page.cells import FOLDED, SHOWN_AS, as_shown
from tools.page.formulas import in_a_line
from tools.page.mathematics import as_mathml


def cell(source, *tags):
    return {"cell_type": "code", "source": source, "metadata": {"tags": [*tags]}}


def test_a_cells_tag_says_how_it_is_shown_and_its_first_line_how_its_fold_is_called():
    shown = as_shown(cell(["# @title Solution 3\n", "x = 1\n", "y = 2"], "solution"))
    assert shown["source"] == "x = 1\ny = 2"
    assert set(shown["metadata"]["mystnb"].values()) == {"Solution 3"}
    assert all(SHOWN_AS[tag][0] in as_shown(cell("x", tag))["metadata"]["tags"] for tag in FOLDED)
    assert "remove-output" in as_shown(cell("check(f)", "check"))["metadata"]["tags"]
    for other in (cell("x\n# @title Late"), cell("x", "exercise")):
        assert as_shown(other) == other


def test_the_page_has_beside_it_what_a_notebook_has_from_the_web():
    text = "[![Colab](https://a.b/_static/c.svg)](https://colab/n) · [On the web](https://a.b/notebooks/n)"
    shown = as_shown({"cell_type": "markdown", "source": [text, "\n\nText."]}, "https://a.b/")
    assert shown["source"] == "[![Colab](../book/_static/c.svg)](https://colab/n)\n\nText."


@pytest.mark.parametrize(
    ("text", "kind", "on_paper"),
    [
        *[(f"**{word}.** Two heads win.", kind, True) for word, kind in boxes.KINDS.items()],
        ("**Try it.** On the page, drag it.", boxes.KINDS["Try it"], False),
        *[(text, None, True) for text in ("Two.", "*Result.* 2.", "**Note.** 2.", "A **Result.**")],
    ],
)
def test_a_quotation_that_begins_with_a_bold_word_of_meaning_is_a_box(text, kind, on_paper):
    document = publish_doctree(f"Before.\n\n    {text}\n\nAfter.")
    boxes._mark(None, document)
    (quotation,) = document.findall(block_quote)
    assert boxes.kind(quotation) == kind
    assert ("no-print" in quotation["classes"]) == (not on_paper)


@pytest.mark.parametrize(
    ("latex", "line"),
    [
        (r"Q K^\top / \sqrt{d_k}", "QK^⊤/√(d_k)"),
        (r"\frac{a + b}{\sqrt 2}", "(a + b)/(√2)"),
        (r"\operatorname{softmax}\!\left(x\right) V", "softmax(x)V"),
        (r"\sum_{i=1}^n x_i^2", "∑_(i = 1)^nx_i^2"),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}", "( 1 0 0 2 )"),
    ],
)
def test_a_formula_reads_in_a_line(latex, line):
    formula = next(html.fromstring(f"<p>{as_mathml(latex, block=False)}</p>").iter("math"))
    assert in_a_line(formula) == line


def test_code_keeps_the_marks_that_have_a_colour_and_loses_the_others():
    code = (
        '<span></span><span class="k">def</span> <span class="nf">x</span><span class="p">(</span>'
        '<a href="#"><span class="n">y</span></a><span class="p">):</span>\n'
        '<span class="ow">not</span> <span class="ow">in</span> <span class="mi">1</span>'
        '<span class="sa">f</span><span class="s2">&quot;</span><span class="c1"># z</span>'
    )
    block = '<div class="highlight"><pre>{}</pre></div>'
    assert highlight.plainer(block.format(code)) == block.format(
        '<span class="k">def</span> <span class="nf">x</span>(<a href="#">y</a>):\n'
        '<span class="k">not in</span> <span class="m">1</span>'
        '<span class="s">f&quot;</span><span class="c"># z</span>'
    )
    assert highlight.plainer(code) == code, "only in code"


FOLD = (
    '<summary aria-label="Toggle hidden content">\n<p class="collapsed admonition-title">Plot'
    '</p>\n<p class="expanded admonition-title">Plot</p>\n</summary>'
)
SIDE = '<summary{}><span class="toctree-toggle" role="presentation"></span></summary>'
FORMULA = '<span class="math notranslate">x</span>.'
ENTRY = '<div{} class="citation-list">\n<div class="citation" id="id7"{}>'


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        (FOLD, '<summary>\n<p class="admonition-title">Plot</p>\n</summary>'),
        (SIDE.format(""), SIDE.format(' aria-label="Pages of this part"')),
        ('<tr>\n<th></th>\n<th class="h"><p></p></th>', '<tr>\n<td></td>\n<td class="h"></td>'),
        ("<thead></thead>", "<thead></thead>"),
        (ENTRY.format(' role="list"', ' role="doc-biblioentry"'), ENTRY.format("", "")),
        ("<style>a{}</style><p><style>a{}</style>", "<style>a{}</style><p>"),
        (FORMULA, f'<span class="formula-end">{FORMULA}</span>'),
        ('<div id="pst-primary-sidebar">', '<div id="pst-primary-sidebar" role="complementary">'),
    ],
)
def test_the_markup_of_others_is_mended(given, mended):
    assert tidy.tidy(given) == tidy.tidy(mended) == mended


def test_a_page_keeps_only_the_rules_and_scripts_that_it_needs():
    style = """.a{x:1} .b{x:2} .a.b,p .a>i{x:3} .a:not(.b){x:4} p{x:5}
        @media (min-width:1px){.b{x:6} .a{x:7}} @media print{.b{x:8}} @keyframes k{to{x:9}}"""
    left = weight.used_rules(style, {"a"})
    assert re.findall(r"x:(\d)", left) == ["1", "3", "4", "5", "7", "9"]
    assert weight.used_rules("p{--a:1;--b:2;c:3}", {"--a"}) == "p{--a:1;c:3}"
    tag = '<script src="../_static/design-tabs.js?v=1"></script>'
    assert weight.lighter(tag) == ""
    assert "design-tabs.js" in weight.lighter(tag + '<div class="sd-tab-set"></div>')


def test_a_picture_is_written_in_fewer_letters_and_shows_the_same():
    sides = "98.77534 12.978517 \nL 101.4799 12.978517 \nL 101.4799 15.6 \nL 98.77534 15.6"
    cell = f'<path d="M {sides} \nz\n"'
    page = (
        f'<p>1.23456</p><svg x="0.00123">\n <g transform="scale(0.015625)">\n  {cell}/></g></svg>'
    )
    assert tidy.tidy(page) == (
        '<p>1.23456</p><svg x="0"><g transform="scale(0.015625)">'
        '<path d="M98.78 12.98H101.48V15.6H98.78z"/></g></svg>'
    )

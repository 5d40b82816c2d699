r"""Which symbols a formula uses: ``x_t W^Q_h / \sqrt{D_{\text{head}}}`` has x, t, W^Q, h, D_head.

``tests/book/test_notation.py`` holds the chapters to ``book/notation.md`` with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.page.mathematics import as_mathml

# What is written with letters and is no symbol of the book: functions, the number e, a transpose.
KNOWN = (
    "Attention Concat GELU attention relu rowsum softmax max min exp log ln sin cos tanh lim e 𝖳"
)
SIGNS = {"msub": "_", "munder": "_", "msup": "^", "mover": "^", "msubsup": "_^", "munderover": "_^"}
GRADIENT = "d…"  # the d of dX
MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin).use(amsmath_plugin)


def formulas(text: str) -> Iterator[str]:
    """Give the formulas of a piece of Markdown, without the dollar signs; code has none."""
    for token in MARKDOWN.parse(text):
        for piece in (token, *(token.children or ())):
            if piece.type.startswith(("math_", "amsmath")):
                yield piece.content.strip()


def read(latex: str) -> list[tuple[str, str]]:
    r"""Give the symbols of a formula in order, each with where it stands.

    That is ``""`` for the line itself, and a sign for each index (``_``) or exponent (``^``) within
    which it is: ``s_{tj}`` has s, and t and j at ``_``. ``D_{\text{head}}``, ``W^Q`` and ``\bar x``
    are symbols of their own; ``X'`` is X, ``b^K`` is b, and ``dX`` is the symbol "d…", then X.
    Words are none, nor are the number e, the transpose, and what everybody knows.

    Parameters
    ----------
    latex : str, the formula without the dollar signs around it
    """
    return list(_symbols(ElementTree.fromstring(as_mathml(latex, block=False)), ""))


def _symbols(part: ElementTree.Element, within: str) -> Iterator[tuple[str, str]]:
    kind, text = _kind(part), "".join(part.itertext())
    if kind in ("mi", "mo") or (kind == "mover" and part.get("accent") and _kind(part[0]) == "mi"):
        if text[:1].isalpha() and text not in KNOWN.split():
            yield text, within
    elif kind in SIGNS:
        around: list[tuple[str, str]] = []
        found = list(_symbols(part[0], within))
        name = found[0][0] if len(found) == 1 and _kind(part[0]) in ("mi", "mo", "mover") else ""
        for sign, mark in zip(SIGNS[kind], part[1:], strict=True):
            inner = list(_symbols(mark, within + sign))
            capital = next((symbol for symbol, _ in inner if symbol.isupper()), "")
            if name and _kind(mark) == "mtext":  # a word is a part of the name
                found = [(found[0][0] + sign + "".join(mark.itertext()), within)]
            elif name == "W" and sign == "^" and capital:
                found = [(found[0][0] + sign + capital, within)]
            elif not (name == "b" and sign == "^" and capital):  # b^K: the bias of that projection
                around += inner
        yield from [*found, *around]
    elif kind != "mtext":
        for own, after in zip_longest(part, part[1:]):
            before_capital = after is not None and "".join(after.itertext())[:1].isupper()
            is_gradient = _kind(own) == "mi" and own.text == "d" and before_capital
            yield from [(GRADIENT, within)] if is_gradient else _symbols(own, within)


def _kind(part: ElementTree.Element) -> str:
    return part.tag.rpartition("}")[2]

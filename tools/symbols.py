r"""Which symbols a formula uses: ``x_t W^Q_h / \sqrt{D_{\text{head}}}`` has x, t, W^Q, h, D_head.

``tests/book/test_notation.py`` holds the chapters to ``book/notation.md`` with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

# What stands in a formula and is no symbol of the book: functions and signs that everybody knows.
FUNCTIONS = frozenset(("Attention", "Concat", "GELU", "attention", "relu", "rowsum", "softmax"))
KNOWN = frozenset(
    re.findall(
        r"\w+",
        """
        big Big bigg Bigg bigl bigr Bigl Bigr left right middle quad qquad displaystyle hline
        sqrt frac tfrac dfrac binom underbrace overbrace overline
        sum prod int partial max min exp log ln sin cos tanh lim
        cdot times odot circ pm le leq ge geq ne neq ll gg approx equiv propto sim in mid forall
        to leftarrow rightarrow Rightarrow mapsto infty dots cdots ldots vdots ddots
        lvert rvert lVert rVert vert Vert langle rangle lfloor rfloor lceil rceil
        """,
    )
)
WORDS = frozenset(("text", "mathrm", "textbf", "textit", "texttt"))
STYLES = frozenset(("mathbf", "mathcal", "mathbb", "mathsf", "mathit", "boldsymbol", "bm"))
ACCENTS = frozenset(("bar", "tilde", "hat", "vec", "dot", "widetilde", "widehat"))
GRADIENT = "d…"  # the d of dX
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}_^A-Za-z]|\d[\d.]*|\S")
MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin)


def formulas(text: str) -> Iterator[str]:
    """Give the formulas of a piece of Markdown, without the dollar signs; code has none."""
    for token in MARKDOWN.parse(text):
        for piece in (token, *(token.children or ())):
            if piece.type.startswith("math_"):
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
    return _Reader(TOKEN.findall(latex)).found


class _Reader:
    def __init__(self, tokens: list[str], within: str = "") -> None:
        self.tokens, self.within, self.place = tokens, within, 0
        self.found: list[tuple[str, str]] = []
        while self.peek():
            self.one()

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def argument(self) -> list[str]:
        """Give the tokens within the braces that come next, or the one thing that comes."""
        token = self.next()
        if token[1:] in WORDS | STYLES | ACCENTS:
            return [token, "{", *self.argument(), "}"]
        if token != "{":
            return [token]
        start, level = self.place, 1
        while level and self.peek():
            level += {"{": 1, "}": -1}.get(self.next(), 0)
        return self.tokens[start : self.place - 1]

    def one(self) -> None:
        """Read one token, and what belongs to it."""
        token = self.next()
        command = token[1:] if token.startswith("\\") else ""
        name = ""
        if command in ("begin", "end"):
            if "".join(self.argument()) == "array" and command == "begin":
                self.argument()  # its columns
        elif command in WORDS:
            self.argument()
        elif command == "operatorname":
            name = "".join(self.argument())
            name = "" if name in FUNCTIONS else name
        elif command in STYLES | ACCENTS:
            name = f"{command} {''.join(self.argument())}"
            name = "" if name == "mathsf T" else name
        elif command.isalpha():
            name = "" if command in KNOWN else command
        elif token == "d" and (self.peek().isupper() or self.peek()[1:] in ACCENTS):
            name = GRADIENT
        elif token.isalpha() and token != "e":
            name = token
        self.attach(name)

    def attach(self, name: str) -> None:
        """Add a symbol and what is below and above it; a word there is a part of the name."""
        around = []
        while self.peek() in ("_", "^", "'"):
            sign = self.next()
            inner = self.argument() if sign != "'" else []
            names = re.sub(r"\\mathsf \{ T \}|\\mathsf T", "", " ".join(inner))
            capital = next((one for one in names if one.isupper()), "")
            if inner and inner[0][1:] in WORDS and inner.index("}") == len(inner) - 1:
                name += sign + "".join(inner[2:-1]) if name else ""
            elif name == "W" and sign == "^" and capital:
                name += sign + capital
            elif not (name == "b" and sign == "^" and capital):  # b^K: the bias of that projection
                around += _Reader(inner, self.within + sign).found
        self.found += [(name, self.within)] if name else []
        self.found += around

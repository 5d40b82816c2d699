"""An interactive picture of attention: tokens left and right, and a line for each weight.

It is one piece of HTML with an inline SVG and a style, without script, library or network. So it
works in the book, in Jupyter and in Colab, where an output stands in a frame of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torch import Tensor

from utils.figures.palette import LINK

WIDTH, ROW, TOKEN = 360, 22, 112  # of the picture, of a row of it, of a column of tokens
LETTERS = 13  # of a token that fit into its column
FAINT = 0.02  # lines of less than this share of the largest weight are not drawn
STRONGEST = 3  # pairs named in words

# `display` stands in the elements as well, so that the mean is seen where styles are not applied.
STYLE = """
.head-view {box-sizing:border-box; max-width:34rem; padding:.75rem; border:1px solid #8888;
  border-radius:.5rem; background:Canvas; color:CanvasText; font:1rem/1.4 sans-serif}
.head-view fieldset {min-width:0; margin:.25rem 0; padding:0; border:0; display:flex;
  flex-wrap:wrap; gap:.25rem .75rem}
.head-view legend {float:left; width:auto; margin:0; padding:0; font:inherit}
.head-view label {white-space:nowrap; margin:0}
.head-view svg {display:block; width:100%; max-width:28rem; height:auto}
.head-view text {fill:currentColor; font:14px sans-serif}
.head-view .token {cursor:default; outline:none}
.head-view .token:is(:hover, :focus) text {font-weight:bold; text-decoration:underline}
.head-view .token:focus rect {stroke:currentColor}
.head-view ul {margin:0; padding-left:1.25rem}
.text_html:has(> .head-view) {background:none !important; padding:0 !important}
"""


class HeadView:
    """A choice of head, and lines between tokens that are the stronger the larger the weight.

    Put it at the end of a cell. Pointing at a token, or moving to it with the tab key, leaves only
    its lines. Equal inputs give equal bytes, and any number of views can stand on one page.

    Parameters
    ----------
    weights : Tensor of shape (H, T, S), none negative
    queries : T names, such as the tokens, shown on the left
    keys : S names, shown on the right
    title : str, what is shown

    Raises
    ------
    ValueError
        if the names do not fit the shape of the weights, or a weight is negative or not finite
    """

    def __init__(
        self, weights: Tensor, queries: Sequence[str], keys: Sequence[str], title: str
    ) -> None:
        weights = weights.detach().double().cpu()
        if weights.dim() != 3 or weights.shape[1:] != (len(queries), len(keys)):
            raise ValueError(
                f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
                f"{len(keys)} keys; expected (heads, {len(queries)}, {len(keys)})."
            )
        if not weights.numel() or not weights.isfinite().all() or (weights < 0).any():
            raise ValueError("the view needs weights, all of them finite and none negative.")
        self.queries, self.keys, self.title = list(queries), list(keys), title
        self.heads = {"mean": weights.mean(dim=0)}  # (T, S) each
        self.heads |= {f"head {h}": head for h, head in enumerate(weights)}

    def __repr__(self) -> str:
        """The view in words: the strongest pairs of each head."""
        return "\n".join([self.title, *self._strongest()])

    def _repr_html_(self) -> str:
        names = list(self.heads)
        choices = "".join(
            f'<label><input type="radio" name="head" class="c{n}"{" checked" * (n == 0)}> '
            f"{name.removeprefix('head ')}</label>"
            for n, name in enumerate(names)
        )
        rows = max(len(self.queries), len(self.keys))
        words = "".join(f"<li>{escape(line)}</li>" for line in self._strongest())
        largest = max(head.max().item() for head in self.heads.values())
        # A form keeps the choice of one view apart from that of another.
        return (
            f'<div class="head-view"><style>{STYLE}{self._rules()}</style>'
            f"<strong>{escape(self.title)}</strong>"
            f'<form method="dialog"><fieldset><legend>Head:&nbsp;</legend>{choices}</fieldset>'
            f'</form><svg viewBox="0 0 {WIDTH} {ROW * (rows + 1)}" role="group" '
            f'aria-label="{escape(self.title)}">{self._column_titles()}'
            + "".join(self._layer(n, name, largest) for n, name in enumerate(names))
            + f"</svg><div>Widest line: weight {largest:.2f}. Point at a token, or move to it with "
            f"the tab key, to see only its lines.</div><details><summary>The strongest pairs in "
            f"words</summary><ul>{words}</ul></details></div>"
        )

    def _rules(self) -> str:
        """The rules of the style that show the chosen head, and the lines of one token alone."""
        rules = [".head-view:has(input:checked) .layer {display:none}"]
        for n in range(len(self.heads)):
            rules.append(f".head-view:has(.c{n}:checked) .layer.h{n} {{display:inline}}")
        ends = [f"q{i}" for i in range(len(self.queries))] + [
            f"k{j}" for j in range(len(self.keys))
        ]
        for end in ends:
            pointed = f".head-view svg:has(.token.{end}:hover)"
            focused = f".head-view svg:has(.token.{end}:focus):not(:has(.token:hover))"
            rules.append(f":is({pointed}, {focused}) path:not(.{end}) {{display:none}}")
        return "\n".join(rules)

    def _column_titles(self) -> str:
        return (
            f'<text x="{TOKEN}" y="15" text-anchor="end" aria-hidden="true">query</text>'
            f'<text x="{WIDTH - TOKEN}" y="15" aria-hidden="true">key</text>'
        )

    def _layer(self, n: int, name: str, largest: float) -> str:
        """One head's lines and tokens, which say its weights to a screen reader."""
        head, shown = self.heads[name], "inline" if n == 0 else "none"
        lines = []
        for i, j in (head >= max(FAINT * largest, 1e-12)).nonzero().tolist():
            share = head[i, j].item() / largest
            ends = f"M{TOKEN + 6} {self._y('q', i)}L{WIDTH - TOKEN - 6} {self._y('k', j)}"
            lines.append(
                f'<path class="q{i} k{j}" d="{ends}" stroke-width="{0.5 + 5 * share:.1f}" '
                f'stroke-opacity="{0.1 + 0.9 * share:.2f}"/>'
            )
        tokens = [self._token("q", i, name, head[i], self.keys) for i in range(len(self.queries))]
        tokens += [
            self._token("k", j, name, head[:, j], self.queries) for j in range(len(self.keys))
        ]
        return (
            f'<g class="layer h{n}" display="{shown}"><g stroke="{LINK}" aria-hidden="true">'
            f"{''.join(lines)}</g>{''.join(tokens)}</g>"
        )

    def _token(self, side: str, i: int, name: str, weights: Tensor, others: list[str]) -> str:
        own, what = (self.queries, "query") if side == "q" else (self.keys, "key")
        best = weights.argsort(descending=True, stable=True)[:STRONGEST].tolist()
        most = ", ".join(f"{others[j]} {weights[j]:.2f}" for j in best)
        says = escape(f"{what} {own[i]}, {name}, {'to' if side == 'q' else 'from'}: {most}")
        y = self._y(side, i)
        x, anchor, left = (
            (TOKEN, "end", 1) if side == "q" else (WIDTH - TOKEN, "start", WIDTH - TOKEN - 1)
        )
        text = own[i] if len(own[i]) <= LETTERS else f"{own[i][: LETTERS - 1]}…"
        return (
            f'<g class="token {side}{i}" tabindex="0" role="img" aria-label="{says}">'
            f'<title>{says}</title><rect x="{left}" y="{y - ROW / 2 + 1}" width="{TOKEN}" '
            f'height="{ROW - 2}" rx="3" fill="transparent"/>'
            f'<text x="{x}" y="{y + 5}" text-anchor="{anchor}">{escape(text)}</text></g>'
        )

    def _y(self, side: str, i: int) -> float:
        """The middle of a token's row; the shorter column stands in the middle of the longer."""
        rows = max(len(self.queries), len(self.keys))
        gap = (rows - len(self.queries if side == "q" else self.keys)) / 2
        return ROW * (1.5 + gap + i)

    def _strongest(self) -> list[str]:
        """The strongest pairs of each head, in words."""
        S, found = len(self.keys), []
        for name, head in self.heads.items():
            best = head.flatten().argsort(descending=True, stable=True)[:STRONGEST].tolist()
            pairs = [
                f"{self.queries[p // S]} to {self.keys[p % S]} {head.flatten()[p]:.2f}"
                for p in best
            ]
            found.append(f"{name}: {', '.join(pairs)}")
        return found

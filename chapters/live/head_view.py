"""An interactive picture of attention: tokens left and right, and a line for each large weight.

It is one piece of HTML with an inline SVG and a style, without script, library or network. So it
works in the book, in Jupyter and in Colab, where an output stands in a frame of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import torch
from torch import Tensor

from utils.palette import FIGURE, LINK, NEUTRAL

WIDTH, ROW, TOKEN = 360, 22, 112  # of the picture, of a row of it, of a column of tokens
LETTERS = 13  # of a token that fit into its column
FAINT = 0.1  # lines of less than this share of the head's largest weight are not drawn
STRONGEST = 3  # pairs named in words

BLUE, SKY = FIGURE["0"]  # of a line, on a light ground and on a dark one
# `display` stands in the elements as well, so that one head is seen where styles are not applied.
STYLE = (
    """
.head-view {box-sizing:border-box; max-width:34rem; padding:.75rem; border:1px solid GREY;
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
.head-view path {stroke:BLUE}
.head-view .weight {display:none; font-size:12px; paint-order:stroke; stroke:Canvas;
  stroke-width:4px}
.head-view .weight.top {display:inline}
@media (prefers-color-scheme:dark) {.head-view path {stroke:SKY}}
html[data-theme=light] .head-view path {stroke:BLUE}
html[data-theme=dark] .head-view path {stroke:SKY}
.head-view ul {margin:0; padding-left:1.25rem}
.text_html:has(> .head-view) {background:none !important; padding:0 !important}
""".replace("BLUE", BLUE)
    .replace("SKY", SKY)
    .replace("GREY", NEUTRAL)
)


class HeadView:
    """A choice of head, and lines between tokens that are the wider the larger the weight.

    Put it at the end of a cell. It opens on the head that says most, unless ``opens_on`` names
    another: the one whose weights are furthest from even, that is, whose rows have the lowest mean
    entropy. The number stands by its strongest lines. Pointing at a token, or moving to it with the
    tab key, leaves only its lines, each with its number. A weight below a tenth of the head's
    largest has no line. Equal inputs give equal bytes, and any number of views can stand on one
    page.

    Parameters
    ----------
    weights : Tensor of shape (H, T, S), none negative
    queries : T names, such as the tokens, shown on the left
    keys : S names, shown on the right
    title : str, what is shown
    opens_on : int, the head that is seen first; None for the one that says most

    Raises
    ------
    ValueError
        if the names do not fit the shape of the weights, a weight is negative or not finite, or
        there is no head ``opens_on``
    """

    def __init__(
        self,
        weights: Tensor,
        queries: Sequence[str],
        keys: Sequence[str],
        title: str,
        opens_on: int | None = None,
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
        rows = weights / weights.sum(dim=-1, keepdim=True).clamp_min(1e-12)
        entropy = -torch.xlogy(rows, rows).sum(dim=-1).mean(dim=-1)  # (H,)
        if opens_on is not None and not 0 <= opens_on < len(weights):
            raise ValueError(f"opens_on is {opens_on}; there are heads 0 to {len(weights) - 1}.")
        says_most = int(entropy.argmin()) if opens_on is None else opens_on
        self.first = 1 + says_most  # among the choices, the first of which is the mean

    def __repr__(self) -> str:
        """The view in words: the strongest pairs of each head."""
        return "\n".join([self.title, *self._strongest()])

    def _repr_html_(self) -> str:
        names = list(self.heads)
        choices = "".join(
            f'<label><input type="radio" name="head" class="c{n}"{" checked" * (n == self.first)}> '
            f"{name.removeprefix('head ')}</label>"
            for n, name in enumerate(names)
        )
        rows = max(len(self.queries), len(self.keys))
        words = "".join(f"<li>{escape(line)}</li>" for line in self._strongest())
        # A form keeps the choice of one view apart from that of another.
        return (
            f'<div class="head-view"><style>{STYLE}{self._rules()}</style>'
            f"<strong>{escape(self.title)}</strong>"
            f'<form method="dialog"><fieldset><legend>Head:&nbsp;</legend>{choices}</fieldset>'
            f'</form><svg viewBox="0 0 {WIDTH} {ROW * (rows + 1)}" role="group" '
            f'aria-label="{escape(self.title)}">{self._column_titles()}'
            + "".join(self._layer(n, name) for n, name in enumerate(names))
            + '</svg><div class="no-print">Point at a token, or move to it with the tab key, to '
            "see only its lines and their weights.</div>"
            "<details><summary>The strongest pairs in words</summary>"
            f"<ul>{words}</ul></details></div>"
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
            rules.append(
                f":is({pointed}, {focused}) :is(path, .weight):not(.{end}) {{display:none}}"
            )
            rules.append(f":is({pointed}, {focused}) .weight.{end} {{display:inline}}")
        return "\n".join(rules)

    def _column_titles(self) -> str:
        return (
            f'<text x="{TOKEN}" y="15" text-anchor="end" aria-hidden="true">query</text>'
            f'<text x="{WIDTH - TOKEN}" y="15" aria-hidden="true">key</text>'
        )

    def _layer(self, n: int, name: str) -> str:
        """One head's lines and tokens, which say its weights to a screen reader."""
        head, shown = self.heads[name], "inline" if n == self.first else "none"
        largest = head.max().item()
        drawn = (head >= max(FAINT * largest, 1e-12)).nonzero().tolist()
        drawn.sort(key=lambda pair: -head[*pair].item())
        lines = "".join(self._line(head, largest, *pair) for pair in reversed(drawn))
        numbers = "".join(
            self._number(head, i, j, top=rank < STRONGEST) for rank, (i, j) in enumerate(drawn)
        )
        tokens = [self._token("q", i, name, head[i], self.keys) for i in range(len(self.queries))]
        tokens += [
            self._token("k", j, name, head[:, j], self.queries) for j in range(len(self.keys))
        ]
        widest = f'<text class="widest" x="{WIDTH / 2}" y="15" text-anchor="middle">'
        return (
            f'<g class="layer h{n}" display="{shown}">{widest}widest: {largest:.2f}</text>'
            f'<g stroke="{LINK}" aria-hidden="true">{lines}{numbers}</g>{"".join(tokens)}</g>'
        )

    def _line(self, head: Tensor, largest: float, i: int, j: int) -> str:
        """A line; a weak one is thin and somewhat lighter, though never hard to see."""
        share = head[i, j].item() / largest
        ends = f"M{TOKEN + 6} {self._y('q', i)}L{WIDTH - TOKEN - 6} {self._y('k', j)}"
        return (
            f'<path class="q{i} k{j}" d="{ends}" stroke-width="{0.5 + 5 * share:.1f}" '
            f'stroke-opacity="{0.8 + 0.2 * share:.2f}"/>'
        )

    def _number(self, head: Tensor, i: int, j: int, top: bool) -> str:
        """The weight, at its line near the key, where lines from one query have parted."""
        start, end = self._y("q", i), self._y("k", j)
        along = 0.75
        x = TOKEN + 6 + along * (WIDTH - 2 * TOKEN - 12)
        return (
            f'<text class="weight q{i} k{j}{" top" * top}" x="{x:.0f}" '
            f'y="{start + along * (end - start) + 4:.1f}" text-anchor="middle">'
            f"{head[i, j]:.2f}</text>"
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

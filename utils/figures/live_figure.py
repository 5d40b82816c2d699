"""Figures that a reader can touch: the layer itself, in the page.

A live figure is a described figure with a script. Where the script runs, controls stand in the
picture's place; on paper, in an e-book and without JavaScript, there is the picture. Scripts and
style lie in ``_static`` and are written into the figure, so it works on the page, in Colab and in
a file that was saved, and asks for nothing over a network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from utils.figures.drawings.canvas import Picture
from utils.figures.figure import DescribedFigure
from utils.figures.live_dates import draw_dates
from utils.figures.live_heads import draw_layer
from utils.figures.live_writer import draw_writer, model_in_halves
from utils.figures.palette import INK, NEUTRAL, PALETTE
from utils.figures.plots import heat_map

STATIC = Path(__file__).parent / "_static"
Given = dict[str, Any]  # what the script is given
LONGEST = 12  # tokens, keys: more cannot be touched on a phone


class LiveFigure(DescribedFigure):
    """A described figure that its script replaces where it can; made by ``live``."""

    def __init__(
        self,
        name: str,
        caption: str,
        given: Given,
        figure: Figure,
        alt: str,
        narrow: Figure | None = None,
    ) -> None:
        super().__init__(figure, alt, caption, narrow)
        self.name, self.given = name, given

    def _repr_html_(self) -> str:
        """The described figure, with style, script and what the script is given."""
        parts = "\n".join(map(_static, scripts(self.name)))
        script = f'(() => {{\n"use strict";\n{parts}begin({self.name});\n}})();'
        given = escape(json.dumps(self.given, ensure_ascii=False))
        head = f'<figure class="course-figure live" data-live="{self.name}" data-given="{given}">'
        still = super()._repr_html_().removeprefix('<figure class="course-figure">')
        own = [file for file in (f"{self.name}.css",) if (STATIC / file).is_file()]
        style = "".join(f"<style>{_static(file)}</style>" for file in ("live.css", *own))
        return f"{head}{style}{still.removesuffix('</figure>')}<script>{script}</script></figure>"


def live(name: str, caption: str, **given: Any) -> LiveFigure:
    """Make a figure that a reader can touch. Put it at the end of a cell.

    ``live("query", caption, keys=…)``
        a query among keys: drag it, or move its sliders; see scores, weights, output

        - keys : Tensor of shape (S, D), D at least 2; the last two numbers span the plane
        - names : S names
        - dims : D names, of the numbers of a query
        - start : Tensor of shape (D,), the query that the figure opens with
        - values : Tensor of shape (S, D_value), or None for the keys themselves
        - scale : float, what the scores are multiplied with at first
        - unit : str, stands behind each value

    ``live("mask", caption, tokens=…)``
        a mask to click, in either convention, and its weights

        - tokens : T names
        - x : Tensor of shape (T, D), queries, keys and values in one
        - length : int, tokens before the padding

    ``live("turn", caption, query=…)``
        products of a query and a key that move through a text, rotary and sinusoidal

        - query, key : Tensors of shape (D_head,), D_head even
        - places : int, how far both can move
        - furthest : int, how far the key can be from the query

    ``live("headline", caption, model=…)``
        a classifier that reads what is typed: probabilities, tokens, what each head reads, and
        what taking a word out does

        - model : ``TextClassifier``; it is kept in half precision
        - tokenizer : its tokenizer, of MiniLM's kind
        - classes : C names
        - text : str, what it reads first
        - still : ``Picture``, what stands there without a script

    ``live("writer", caption, writer=…)``
        a language model that goes on with what is typed, token by token. Its weights are not in
        the figure: the book has them, see ``tools.page.writer``

        - writer : ``Writer``, with its weights, vocabulary and recipe
        - text : str, the prompt that the figure opens with
        - written : str, how the model went on, for the picture

    ``live("heads", caption, filler=…)``
        the heads of one trained layer: where each looks for the tokens of a sentence that is typed

        - filler : ``KeptGapFiller``, with its weights, vocabulary and recipe
        - text : str, the sentence that the figure opens with

    ``live("dates", caption, model=…)``
        a translator that writes what is typed, letter by letter, and where it looks

        - model : ``Transformer`` with its norms first; it is kept in half precision
        - vocabulary : its ``CharacterVocabulary``
        - text : str, what it reads first
        - letters : int, how many of them it has written when the figure opens
        - head : int, whose lines it opens with; None for the mean of the heads
        - still : ``Picture``, what stands there without a script

    Parameters
    ----------
    name : str, which figure: "query", "mask", "turn", "headline", "heads", "dates" or "writer"
    caption : str, what the figure shows, the finding first

    Raises
    ------
    ValueError
        if there is no such figure, or what it is given does not fit together
    """
    if name not in KINDS:
        raise ValueError(f"there is no live figure {name!r}; there are {', '.join(KINDS)}.")
    return LiveFigure(name, caption, *KINDS[name](**given))


def _query(
    keys: Tensor,
    names: Sequence[str],
    dims: Sequence[str],
    start: Tensor,
    values: Tensor | None = None,
    scale: float = 1.0,
    unit: str = "",
) -> tuple[Given, Figure, str]:
    """The plane with its keys and the query, and the weights as bars."""
    S, D = _sizes("keys", keys, most=LONGEST)
    values = keys if values is None else values
    if D < 2 or (len(names), len(dims), len(values)) != (S, D, S) or start.shape != (D,):
        raise ValueError(
            f"{S} keys of {D} numbers need {S} names, {S} values, {D} names of numbers and a query "
            f"of {D} numbers, 2 at least; got {len(names)}, {len(values)}, {len(dims)} and "
            f"{tuple(start.shape)}."
        )
    _finite(keys, values, start)
    scores = scale * keys @ start  # (S,)
    weights = scores.softmax(dim=-1)  # (S,)
    output = (weights @ values).tolist()
    reach = round(1.25 * max(keys.abs().max().item(), start.abs().max().item(), 0.4) + 0.5)
    low = -float(reach) if min(keys.min(), start.min()) < 0 else 0.0
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    x, y = keys[:, -2].tolist(), keys[:, -1].tolist()
    sizes = (30 + 500 * weights).tolist()
    plane.scatter(x, y, s=sizes, color=PALETTE[1], alpha=0.75, clip_on=False)
    for at_x, at_y, name in zip(x, y, names, strict=True):
        plane.annotate(name, (at_x, at_y), xytext=(0, 8), textcoords="offset points", ha="center")
    arrow = {"arrowstyle": "-|>", "color": PALETTE[0], "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    plane.annotate("", start[-2:].tolist(), (0, 0), arrowprops=arrow)
    plane.set(xlim=(low, reach), ylim=(low, reach), aspect="equal")
    plane.set(xlabel=dims[-2], ylabel=dims[-1])
    bars.barh(range(S), weights.tolist(), color=PALETTE[0])
    for s, weight in enumerate(weights.tolist()):
        bars.text(weight + 0.02, s, f"{weight:.2f}", va="center")
    bars.set_yticks(range(S), names)
    bars.set(xlim=(0, 1.15), xlabel="weight")
    bars.invert_yaxis()
    told = ", ".join(f"{n} {w:.2f}" for n, w in zip(names, weights.tolist(), strict=True))
    answer = ", ".join(f"{number:.2f}" for number in output)
    asked = ", ".join(f"{d} {n:.2f}" for d, n in zip(dims, start.tolist(), strict=True))
    alt = f"A query among {S} keys: {asked}. Its weights: {told}. The output: {answer}{unit}."
    given = {"names": list(names), "dims": list(dims), "scale": scale, "unit": unit}
    given |= {"keys": keys.tolist(), "values": values.tolist(), "start": start.tolist()}
    return given | {"low": low, "high": reach}, figure, alt


def _mask(tokens: Sequence[str], x: Tensor, length: int) -> tuple[Given, Figure, str]:
    """The mask that is causal and knows the length, and the weights that it makes."""
    T, D = _sizes("x", x, most=LONGEST)
    if len(tokens) != T or not 0 <= length <= T:
        raise ValueError(f"{T} tokens need {T} names, {len(tokens)} given, and a length up to {T}.")
    _finite(x)
    places = torch.arange(T)
    allowed = (places <= places[:, None]) & (places < length)  # (T, S)
    scores = (x @ x.T * D**-0.5).masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(dim=-1).nan_to_num()  # (T, S)
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.9))
    heat_map(panels[0], 0.4 * allowed.double(), tokens, tokens, texts=allowed.numpy().astype(str))
    heat_map(panels[1], weights, tokens, tokens)
    for axes, title in zip(panels, ("the mask, True = may attend", "its weights"), strict=True):
        axes.set(title=title, xlabel="key", ylabel="query")
        axes.tick_params(axis="x", rotation=90)
    rows = zip(tokens, weights.tolist(), strict=True)
    told = "; ".join(f"{token}: {', '.join(f'{w:.2f}' for w in row)}" for token, row in rows)
    alt = f"A causal mask for a text of {length} of {T} tokens, and its weights. {told}."
    return {"tokens": list(tokens), "x": x.tolist(), "length": length}, figure, alt


def _turn(
    query: Tensor, key: Tensor, places: int = 32, furthest: int = 8
) -> tuple[Given, Figure, str]:
    """The three products along the places, for a key that stands two places after the query."""
    D = query.numel()
    if query.shape != (D,) or key.shape != (D,) or not D or D % 2:
        raise ValueError(
            f"query {tuple(query.shape)} and key {tuple(key.shape)} need one length, an even one."
        )
    if places < 1 or furthest < 2:
        raise ValueError(f"places is {places} and furthest {furthest}; at least 1 and 2.")
    _finite(query, key)
    frequencies = 10_000 ** (-torch.arange(0, D, 2) / D)  # (D / 2,)
    t = torch.arange(furthest, furthest + places + 1).unsqueeze(-1)  # (T, 1)

    def turned(x: Tensor, angles: Tensor) -> Tensor:
        (first, second), cos, sin = x.chunk(2), angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def clock(angles: Tensor) -> Tensor:
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    here, there = t * frequencies, (t + 2) * frequencies  # (T, D / 2)
    products = {
        "rotary": turned(query, here) * turned(key, there),
        "sinusoidal, places alone": clock(here) * clock(there),
        "sinusoidal, added to tokens": (query + clock(here)) * (key + clock(there)),
    }
    figure, axes = plt.subplots(figsize=(7.4, 3.4))
    axes.axhline(0, color=NEUTRAL, linewidth=1)
    told = []
    for (name, terms), n, style in zip(products.items(), (0, 2, 1), ("-", "--", ":"), strict=True):
        along = terms.sum(dim=-1)  # (T,)
        axes.plot(t[:, 0], along, style, color=PALETTE[n], linewidth=2.5, label=name)
        told.append(f"{name} {along.min():.2f} to {along.max():.2f}")
    axes.set(xlabel="place of the query, the key stands two after it", ylabel="product")
    figure.legend(loc="outside upper left", ncols=1, labelcolor=INK)
    alt = f"Products of a query and a key two places after it, at all places: {'; '.join(told)}."
    given = {"query": query.tolist(), "key": key.tolist()}
    return given | {"places": places, "furthest": furthest}, figure, alt


def _headline(
    model: Any, tokenizer: Any, classes: Sequence[str], text: str, still: Picture
) -> tuple[Given, Figure, str, Figure]:
    """The classifier in half precision; what stands in its place is drawn by the caller."""
    given = {"text": text, "classes": list(classes), "state": model_in_halves(model)}
    given |= {"width": model.mha.embed_dim, "numHeads": model.mha.num_heads}
    given["vocabulary"] = " ".join(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    return given, still.wide, still.alt, still.narrow


KINDS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "query": _query,
    "mask": _mask,
    "turn": _turn,
    "headline": _headline,
    "writer": draw_writer,
    "dates": draw_dates,
    "heads": draw_layer,
}
OF_BYTE_PAIRS = ("heads", "writer")  # what reads and writes English


def scripts(name: str) -> list[str]:
    """Give the scripts of a figure, in their order."""
    shared = ["byte_pairs.js"] if name in OF_BYTE_PAIRS else []
    return ["attention.js", "live.js", *shared, f"{name}.js"]


def _sizes(name: str, x: Tensor, most: int) -> tuple[int, int]:
    if x.dim() != 2 or not 1 <= len(x) <= most:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; expected (1 to {most}, width).")
    return x.shape[0], x.shape[1]


def _finite(*tensors: Tensor) -> None:
    if not all(x.isfinite().all() for x in tensors):
        raise ValueError("a live figure needs finite numbers.")


def _static(file: str) -> str:
    return (STATIC / file).read_text(encoding="utf-8")

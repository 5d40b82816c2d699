"""The picture of the landing page: two heads of a published model read *can you can that*.

The weights are the model's own, computed through the course's layers. They are kept beside this
module, so that building the book loads no model; ``python -m tools.page`` makes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SENTENCE = "can you can that"
BLOCK, HEADS = 1, (8, 6)  # drawn above the words, and below them
KEPT = Path(__file__).with_name("hero.json")

# In units of the picture. A phone shows two thirds of a pixel for each.
WIDTH, HEIGHT = 560, 300
PLACES = (34, 140, 246, 352, 458, 531)  # the middle of each token
ABOVE, BELOW = 134, 182  # where the lines of the two heads meet the words
FAINTEST = 0.05  # of a query's weight: what is less is not drawn
TOLD = {(0, 1, 2), (0, 3, 4), (1, 3, 2)}  # (row of heads, query, key): with its number


@dataclass(frozen=True)
class Arc:
    """A line from a query to a key, as a cubic curve, with the arrow at its end."""

    row: int
    query: int
    key: int
    weight: float
    points: tuple[tuple[float, float], ...]  # start, two controls, end: the arrow's foot
    arrow: tuple[tuple[float, float], ...]
    label: tuple[float, float]

    @property
    def width(self) -> float:
        """Thickness of the line."""
        return 1 + 11 * self.weight

    @property
    def number(self) -> str:
        """The weight where it is told, or nothing."""
        told = (self.row, self.query, self.key) in TOLD
        return f"{self.weight:.2f}" if told else ""


def compute() -> dict[str, Any]:
    """Run the model on the sentence: its tokens, and the weights of the two heads."""
    import torch

    from utils.minilm import load_minilm
    from utils.text import minilm_tokenizer

    tokenizer = minilm_tokenizer()
    ids = torch.tensor([tokenizer(SENTENCE)["input_ids"]])  # (1, T)
    with torch.inference_mode():
        blocks = [w for _, w in load_minilm().layers(ids) if w is not None]
    weights = blocks[BLOCK][0]  # (H, T, T)
    return {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "tokens": tokenizer.convert_ids_to_tokens(ids[0].tolist()),
        "weights": {
            str(head): [[round(x, 4) for x in row] for row in weights[head].tolist()]
            for head in HEADS
        },
    }


def keep() -> None:
    """Compute the weights and write them beside this module."""
    KEPT.write_text(json.dumps(compute()) + "\n", encoding="utf-8")


def read() -> dict[str, Any]:
    """Read the kept tokens and weights."""
    return json.loads(KEPT.read_text(encoding="utf-8"))


def arcs(kept: dict[str, Any]) -> Iterator[Arc]:
    """Give the lines of the words: first those to the two marks, which only answer."""
    for row, head in enumerate(HEADS):
        up, foot = (-1, ABOVE) if row == 0 else (1, BELOW)
        found = [
            (weight, query, key)
            for query, line in enumerate(kept["weights"][str(head)][1:-1], 1)
            for key, weight in enumerate(line)
            if weight >= FAINTEST and key != query
        ]
        for weight, query, key in sorted(found, key=lambda line: (1 <= line[2] <= 4, line[0])):
            way = 1 if key > query else -1
            start, end = PLACES[query] + 9 * way, PLACES[key] - 9 * way
            half, tip = 4 + 5 * weight, foot
            base = tip + up * (8 + 6 * weight)
            # A cubic reaches three quarters of the way to its controls.
            reach = 25 + 0.19 * abs(end - start)
            control = foot + up * reach / 0.75
            yield Arc(
                row,
                query,
                key,
                weight,
                ((start, foot), (start, control), (end, control), (end, base)),
                ((end - half, base), (end + half, base), (end, tip)),
                ((start + end) / 2, foot + up * (reach + 11 + 5 * weight)),
            )


def told(kept: dict[str, Any]) -> str:
    """Say what the picture shows, with its numbers."""

    def name(token: int) -> str:
        return {1: "the first can", 3: "the second can"}.get(token, kept["tokens"][token])

    largest = (
        f"head {head}, {name(query)} to {name(key)} {line[key]:.2f}"
        for head in HEADS
        for query, line in enumerate(kept["weights"][str(head)][1:-1], 1)
        for key in [max(range(len(line)), key=line.__getitem__)]
    )
    return f"Two heads of one block read: {SENTENCE}. Largest weights: {'; '.join(largest)}."


def svg() -> str:
    """Draw the picture as SVG; its colours are the page's."""
    kept = read()
    drawn = []
    for arc in arcs(kept):
        word = 1 <= arc.key <= 4
        (x, y), *others = arc.points
        curve = f"M{x:g} {y:g}C" + " ".join(f"{a:.1f} {b:.1f}" for a, b in others)
        tip = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in arc.arrow) + "Z"
        strong = "strong" if arc.number else "word" if word else "edge"
        drawn.append(
            f'<g class="head-{arc.row} {strong}"><path class="line" d="{curve}" '
            f'stroke-width="{arc.width:.1f}"/><path class="tip" d="{tip}"/></g>'
        )
        if arc.number:
            a, b = arc.label
            drawn.append(
                f'<text class="head-{arc.row} number" x="{a:.1f}" y="{b + 6:.1f}">'
                f"{arc.number}</text>"
            )
    for i, (x, token) in enumerate(zip(PLACES, kept["tokens"], strict=True)):
        kind, y = ("token", 168) if 1 <= i <= 4 else ("edge", 164)
        drawn.append(f'<text class="{kind}" x="{x}" y="{y}">{token}</text>')
    for row, (head, y) in enumerate(zip(HEADS, (22, HEIGHT - 8), strict=True)):
        drawn.append(f'<text class="head-{row} name" x="{WIDTH - 4}" y="{y}">head {head}</text>')
    return (
        f'<svg class="hero-picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{told(kept)}">{"".join(drawn)}</svg>'
    )

"""A live figure: three heads of a published model, which read two sentences in whole words."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.attention import MultiHeadAttention
from utils.figures import DescribedFigure
from utils.palette import INK, NEUTRAL, PALETTE

OWN = ("heads.js", "heads.css")
SCRIPT = Path(__file__).parents[2] / "book" / "_static" / "heads-weights.js"
GIVES = "globalThis.courseHeads = "  # before the weights: ``python -m benchmarks.named_heads``
HEADS = (2, 10, 0)  # of block 0: ``benchmarks.named_heads`` measures what they do
TITLES = {10: "Head 10", 0: "Head 0", 2: "Head 2: the word before"}  # from above
COLOURS = (2, 0, 1)  # of the heads, as in heads.css
TOLD, FOUND = 0.1, 0.25  # weights from which a number is shown, a word is found; as in heads.js
OFFERED = ("plant", "apple", "star", "bank")
PAIRS = {  # the word stands at the same place in both, so its query is the same
    "bank": ("he sat on the bank near the river", "she went to the bank for her money"),
    "star": ("a bright star above the planet", "the famous star of the film"),
    "plant": ("the plant grew in the garden", "the plant made steel and cars"),
    "apple": ("the apple fell from the tree", "the apple company made a computer"),
}


def kept() -> dict[str, Any]:
    """Give what the page fetches: words, and the weights of the heads in 8 bits."""
    return json.loads(SCRIPT.read_text("utf-8").removeprefix(GIVES).rstrip(";\n"))


def numbers(given: dict[str, str], width: int) -> Tensor:
    """Give rows of numbers: of float16, or of 8 bits with a scale for each row."""
    data = base64.b64decode(given["numbers"])
    if "scales" not in given:
        return torch.from_numpy(np.frombuffer(data, "<f2").astype("float32")).view(-1, width)
    scales = np.frombuffer(base64.b64decode(given["scales"]), "<f2").astype("float32")
    return torch.from_numpy(np.frombuffer(data, "i1").reshape(-1, width) * scales[:, None])


class Reader:
    """The named heads in the layer of the course, with the weights that ``kept`` gives."""

    def __init__(self, given: dict[str, Any]) -> None:
        D = given["width"]
        self.words = given["words"].split()
        self.vectors, self.places = (numbers(given[name], D) for name in ("vectors", "places"))
        self.scale, self.shift = numbers(given["norm"], D)
        self.layer = MultiHeadAttention(D, len(HEADS), head_dim=D // given["numHeads"])
        state = {f"{name}.weight": numbers(given[name], D) for name in ("q_proj", "k_proj")}
        state |= {name: numbers(given[name], 1)[:, 0] for name in ("q_proj.bias", "k_proj.bias")}
        self.layer.load_state_dict(state, strict=False)  # what it gives is not asked for

    @torch.no_grad()
    def weights(self, words: Sequence[str]) -> Tensor:
        """Give the weights of the heads, (heads, T, T), for words between the two marks."""
        tokens = [self.words.index(word) for word in ("[CLS]", *words, "[SEP]")]
        x = self.vectors[tokens] + self.places[: len(tokens)]  # (T, D)
        x = F.layer_norm(x, x.shape[1:], self.scale, self.shift, eps=1e-12)
        _, weights = self.layer(x, x, x, average_attn_weights=False)
        assert weights is not None
        return weights


def strip(tokens: Sequence[str], row: Sequence[float], asks: int, colour: int, room: float) -> str:
    """Draw words beside each other, the darker the more weight, and that which asks in a frame."""
    natural = [max(28.0, 6.2 * len(token) + 8) for token in tokens]
    drawn, x, scale = [], 0.0, min(1.0, room / sum(natural))
    grey = f"var(--fig-neutral,{NEUTRAL})"
    for t, (token, weight) in enumerate(zip(tokens, row, strict=True)):
        width, edge = scale * natural[t], t in (0, len(tokens) - 1)
        ground = grey if edge else f"var(--fig-{colour},{PALETTE[colour]})"
        look = f'fill="{ground}" fill-opacity="{0.48 * weight**0.7:.2f}"'
        if t == asks:
            look = f'stroke="{grey}" stroke-dasharray="3 2" {look}'
        size = f'width="{width - 2:.1f}" height="33" rx="4"'
        drawn.append(f'<rect x="{x + 1:.1f}" y="1" {size} {look}/>')
        slant = ' font-style="italic"' if edge else ""
        drawn.append(f'<text x="{x + width / 2:.1f}" y="15"{slant}>{token}</text>')
        if weight >= TOLD:
            drawn.append(f'<text x="{x + width / 2:.1f}" y="29">{weight:.2f}</text>')
        x += width
    return "".join(drawn)


def says(tokens: Sequence[str], row: Sequence[float], asks: int) -> str:
    """Say what a head finds for a word, as heads.js does."""
    most = max(range(len(row)), key=row.__getitem__)
    if most in (0, len(row) - 1):
        return f"finds nothing, rests on {tokens[most]}"
    if most == asks:
        return "finds nothing, stays with itself"
    if round(row[most], 2) < FOUND:
        return f"finds nothing: no word gets {FOUND}"
    return f"finds “{tokens[most]}”"


def picture(shown: dict[str, Tensor], word: str, wide: bool) -> str:
    """Draw what each head gives to the word in two sentences, beside or below each other."""
    room, drawn = 303 if wide else 327, []
    for side, (sentence, weights) in enumerate(shown.items()):
        tokens = ["[CLS]", *sentence.split(), "[SEP]"]
        asks, x = tokens.index(word), side * (619 - room) if wide else 2
        for n, (head, title) in enumerate(TITLES.items()):
            of = list(HEADS).index(head)
            row, y = weights[of].tolist(), 14 + 62 * n + (0 if wide else 200 * side)
            name = f'<tspan font-weight="600">{title}</tspan>'
            drawn.append(f'<text x="{x + 2}" y="{y}" text-anchor="start">{name}</text>')
            drawn.append(f'<text x="{x + room}" y="{y}" text-anchor="end">')
            drawn.append(f"{says(tokens, row, asks)}</text>")
            own = strip(tokens, row, asks, COLOURS[of], room)
            drawn.append(f'<g transform="translate({x} {y + 6})">{own}</g>')
    size = f'<svg class="w" viewBox="0 0 {"619 188" if wide else "331 384"}"'
    font = 'font-family="Inter, \'Helvetica Neue\', Arial, sans-serif" font-size="11"'
    style = f'{font} text-anchor="middle" fill="var(--fig-ink,{INK})"'
    return f"{size} {style}>{''.join(drawn)}</svg>"


def live_heads() -> LiveFigure:
    """Make the figure of the landing page."""
    model = kept()
    reader, measured, word = Reader(model), model["measured"], OFFERED[0]
    shown, told, rows = {}, [], list(HEADS)
    for sentence in PAIRS[word]:
        tokens = ["[CLS]", *sentence.split(), "[SEP]"]
        asks = tokens.index(word)
        weights = shown[sentence] = reader.weights(tokens[1:-1])[:, asks]  # (heads, T)
        found = (
            f"head {head} {says(tokens, row, asks)}, {max(row):.2f}"
            for head in TITLES
            for row in [weights[rows.index(head)].tolist()]
        )
        told.append(f"“{sentence}”, asked by “{word}”: {'; '.join(found)}.")
    caption = f"""“{word}” finds the garden with one head and the steel with another. It stands at
the same place in both sentences, so a head asks the same for it in both; only its neighbours
differ. The framed word spreads a weight of 1: the stronger a colour, the larger its share. A head
that finds nothing mostly rests on [CLS] or [SEP], the tokens at the two ends. Three of the twelve
heads of the first block of all-MiniLM-L6-v2; the weights are right to within about
{measured["gap"]:.2f}."""
    given = {
        "pairs": {word: PAIRS[word] for word in OFFERED},
        "heads": [{"number": n, "title": t, "row": rows.index(n)} for n, t in TITLES.items()],
        "often": [measured["nature"], measured["people"]],
        "megabytes": round(SCRIPT.stat().st_size / 1e6, 1),
        "version": model["version"],
        "count": len(reader.words),
    }
    wide, narrow = (picture(shown, word, wide) for wide in (True, False))
    still = DescribedFigure(wide, " ".join(told), caption, narrow)
    return LiveFigure(__file__, OWN, given, still)

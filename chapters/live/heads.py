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
HEADS = {  # of block 0: what each measurably does, as ``benchmarks.named_heads`` says
    2: ("the word before", "It gets {before:.2f} of a word’s weight, the mean of 400 sentences."),
    10: (
        "neighbours from nature",
        "It was named after bank and star. Of 20 other words with two senses, {nature} look more "
        "at such neighbours (cloud: sky, rain) than at the other sense’s (data, network).",
    ),
    0: (
        "neighbours from people’s world",
        "{people} of the same 20 words look more at such neighbours (cloud: data, network).",
    ),
}
COLOURS = (2, 0, 1)  # of the heads, as in heads.css
TOLD = 0.1  # a weight from which its number is shown, as in heads.js
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
    ground = f"var(--fig-{colour},{PALETTE[colour]})"
    for t, (token, weight) in enumerate(zip(tokens, row, strict=True)):
        width = scale * natural[t]
        look = f'fill="{ground}" fill-opacity="{0.48 * weight**0.7:.2f}"'
        if t == asks:
            look = f'stroke="var(--fig-neutral,{NEUTRAL})" stroke-dasharray="3 2" {look}'
        size = f'width="{width - 2:.1f}" height="33" rx="4"'
        drawn.append(f'<rect x="{x + 1:.1f}" y="1" {size} {look}/>')
        edge = ' font-style="italic"' if t in (0, len(tokens) - 1) else ""
        drawn.append(f'<text x="{x + width / 2:.1f}" y="15"{edge}>{token}</text>')
        if weight >= TOLD:
            drawn.append(f'<text x="{x + width / 2:.1f}" y="29">{weight:.2f}</text>')
        x += width
    return "".join(drawn)


def picture(shown: dict[str, Tensor], word: str, wide: bool) -> str:
    """Draw what each head gives to the word in two sentences, beside or below each other."""
    room, drawn, y = 303 if wide else 327, [], 14
    for n, (head, (name, _)) in enumerate(HEADS.items()):
        drawn.append(f'<text x="2" y="{y}" text-anchor="start" font-weight="600">')
        drawn.append(f"Head {head}: {name}</text>")
        y += 6
        for side, (sentence, weights) in enumerate(shown.items()):
            tokens = ["[CLS]", *sentence.split(), "[SEP]"]
            x = side * (619 - room) if wide else 2
            own = strip(tokens, weights[n].tolist(), tokens.index(word), COLOURS[n], room)
            drawn.append(f'<g transform="translate({x} {y})">{own}</g>')
            y += 0 if wide and not side else 38
        y += 20
    size = f'<svg class="w" viewBox="0 0 {619 if wide else 331} {y - 18}"'
    font = 'font-family="Inter, \'Helvetica Neue\', Arial, sans-serif" font-size="11"'
    style = f'{font} text-anchor="middle" fill="var(--fig-ink,{INK})"'
    return f"{size} {style}>{''.join(drawn)}</svg>"


def live_heads() -> LiveFigure:
    """Make the figure of the landing page."""
    model = kept()
    reader, measured = Reader(model), model["measured"]
    word, pair = next(iter(PAIRS.items()))
    shown, told = {}, []
    for sentence in pair:
        tokens = ["[CLS]", *sentence.split(), "[SEP]"]
        rows = shown[sentence] = reader.weights(tokens[1:-1])[:, tokens.index(word)]  # (heads, T)
        most = (
            f"head {head} ({name}) {tokens[int(row.argmax())]} {row.max():.2f}"
            for row, (head, (name, _)) in zip(rows, HEADS.items(), strict=True)
        )
        told.append(f"“{sentence}”: “{word}” looks most at: {', '.join(most)}.")
    caption = f"""“{word}” finds the river with one head and the money with another. It stands at
the same place in both sentences, so a head asks the same for it in both; only its neighbours
differ. The stronger a word’s colour, the more weight the framed one gives it. A head that finds
nothing rests on the marks [CLS] and [SEP]. Three of the twelve heads of the first block of
all-MiniLM-L6-v2, in 8 bits: in 400 sentences that moves no weight by more than
{measured["gap"]:.3f}."""
    given = {
        "pairs": PAIRS,
        "heads": [
            {"number": head, "name": name, "habit": habit.format(**measured)}
            for head, (name, habit) in HEADS.items()
        ],
        "megabytes": round(SCRIPT.stat().st_size / 1e6, 1),
        "version": model["version"],
        "count": len(reader.words),
    }
    wide, narrow = (picture(shown, word, wide) for wide in (True, False))
    still = DescribedFigure(wide, " ".join(told), caption, narrow)
    return LiveFigure(__file__, OWN, given, still)

"""A live figure: the heads of a block of a published model read two sentences in whole words."""

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
from utils.palette import FIGURE, INK, NEUTRAL

OWN = ("heads.js", "heads.css")
SCRIPT = Path(__file__).parents[2] / "book" / "_static" / "heads-weights.js"
GIVES = "globalThis.courseHeads = "  # before the weights: ``python -m benchmarks.named_heads``
MOST, ZERO = 46, 79  # the largest step of a number, and the character that means 0
BEFORE = 2  # the head that looks at the word before: ``benchmarks.named_heads`` measures it
LARGE = 3  # heads are drawn large
TOLD = 0.1  # a weight from which a number is shown
PAIRS = {  # the word stands at the same place in both, so its query is the same
    "plant": ("the plant grew in the garden", "the plant made steel and cars"),
    "trunk": ("the trunk of the elephant is grey", "the trunk of the car was open"),
    "ring": ("the ring for her wedding was gold", "the ring of the phone woke her"),
    "jam": ("we ate bread and jam", "stuck in a traffic jam"),
}
# Words without content, beside what has one letter.
SMALL = """about after all also am an and any are as at be been but by could did do does for
 from had has have he her here him his how if in into is it its just me my near no not of off on
 onto or our out over own she should so some such than that the their them then there these they
 this those to too under up upon us very was we were what when where which while who whose why
 will with would you your"""
Asked = tuple[list[str], int, Tensor]  # tokens, the place of one, and weights, (H, T)


def kept() -> dict[str, Any]:
    """Give what the page fetches: words, and the weights of the heads in 8 bits."""
    return json.loads(SCRIPT.read_text("utf-8").removeprefix(GIVES).rstrip(";\n"))


def numbers(given: dict[str, str], width: int) -> Tensor:
    """Give rows of numbers: of float16, or of steps with a scale for each row."""
    data = base64.b64decode(given["scales" if "scales" in given else "halves"])
    halves = torch.from_numpy(np.frombuffer(data, "<f2").astype("float32"))
    if "scales" not in given:
        return halves.view(-1, width)
    steps = torch.tensor(list(given["steps"].encode())).view(-1, width) - ZERO
    return steps * halves[:, None]


class Reader:
    """The heads of a block in the layer of the course, with the weights that ``kept`` gives."""

    def __init__(self, given: dict[str, Any]) -> None:
        D = given["width"]
        self.ids = {word: i for i, word in enumerate(given["words"].split())}
        self.vectors, self.places = (numbers(given[name], D) for name in ("vectors", "places"))
        self.vectors *= numbers(given["columns"], D)
        self.scale, self.shift = numbers(given["norm"], D)
        self.layer = MultiHeadAttention(D, given["numHeads"])
        state = {f"{name}.weight": numbers(given[name], D) for name in ("q_proj", "k_proj")}
        state |= {name: numbers(given[name], 1)[:, 0] for name in ("q_proj.bias", "k_proj.bias")}
        self.layer.load_state_dict(state, strict=False)  # what it gives is not asked for

    @torch.no_grad()
    def weights(self, words: Sequence[str]) -> Tensor:
        """Give the weights of the heads, (H, T, T), for words between the two marks."""
        ids = [self.ids[word] for word in ("[CLS]", *words, "[SEP]")]
        x = self.vectors[ids] + self.places[: len(ids)]
        x = F.layer_norm(x, x.shape[1:], self.scale, self.shift, eps=1e-12)
        _, weights = self.layer(x, x, x, average_attn_weights=False)
        assert weights is not None
        return weights

    def ask(self, word: str, sentence: str) -> Asked:
        """Give the tokens of a sentence, where the word stands, and what each head gives it."""
        tokens = ["[CLS]", *sentence.split(), "[SEP]"]
        at = tokens.index(word)
        return tokens, at, self.weights(tokens[1:-1])[:, at]


def content(tokens: Sequence[str], at: int) -> list[int]:
    """Give the places of the other words with content."""
    no = [tokens[at], "[CLS]", "[SEP]", *SMALL.split()]
    return [t for t, word in enumerate(tokens) if len(word) > 1 and word not in no]


def told(asked: Asked, head: int) -> str:
    """Say where most of a word's weight goes, and most of what other words with content get."""
    tokens, at, weights = asked
    row = weights[head].tolist()
    first = row.index(max(row))
    second = max(content(tokens, at), key=row.__getitem__, default=first)
    name = tokens[first] if first in (0, len(tokens) - 1) else f"“{tokens[first]}”"
    line = f"most on {name}{' itself' if first == at else ''}, {row[first]:.2f}"
    also = second != first and row[second] >= max(TOLD, 1 / len(tokens))
    return f"{line}; “{tokens[second]}” gets {row[second]:.2f}" if also else line


def strip(asked: Asked, head: int, room: float) -> str:
    """Draw words beside each other, the darker the more weight, and that which asks in a frame."""
    tokens, at, weights = asked
    natural = [max(28.0, 6.2 * len(token) + 8) for token in tokens]
    drawn, x, scale = [], 0.0, min(1.0, room / sum(natural))
    grey = f"var(--fig-neutral,{NEUTRAL})"
    for t, (token, weight) in enumerate(zip(tokens, weights[head].tolist(), strict=True)):
        width, edge = scale * natural[t], t in (0, len(tokens) - 1)
        ground = grey if edge else f"var(--fig-heat,{FIGURE['heat'][0]})"
        look = f'fill="{ground}" fill-opacity="{0.6 * weight**0.7:.2f}"'
        if t == at:
            look = f'stroke="{grey}" stroke-dasharray="3 2" {look}'
        size = f'width="{width - 2:.1f}" height="33" rx="4"'
        drawn.append(f'<rect x="{x + 1:.1f}" y="1" {size} {look}/>')
        slant = ' font-style="italic"' if edge else ""
        drawn.append(f'<text x="{x + width / 2:.1f}" y="15"{slant}>{token}</text>')
        if weight >= TOLD:
            drawn.append(f'<text x="{x + width / 2:.1f}" y="29">{weight:.2f}</text>')
        x += width
    return "".join(drawn)


def largest(asked: Sequence[Asked]) -> list[int]:
    """Give the heads that give most to another word with content, in any of the sentences."""
    most = torch.cat([weights[:, content(tokens, at)] for tokens, at, weights in asked], dim=1)
    order = most.amax(1).argsort(descending=True).tolist()
    return [head for head in order if head != BEFORE][:LARGE]


def picture(word: str, both: Sequence[Asked], wide: bool) -> str:
    """Draw what heads give to a word in two sentences, beside or below each other."""
    room, high, drawn = 303 if wide else 327, 78 if wide else 134, []
    for n, head in enumerate(largest(both)):
        name = f'font-weight="600">Head {head} for “{word}”</text>'
        drawn.append(f'<text x="2" y="{14 + high * n}" text-anchor="start" {name}')
        for side, asked in enumerate(both):
            x, y = side * (619 - room) if wide else 2, 30 + high * n + (0 if wide else 56 * side)
            drawn.append(f'<text x="{x}" y="{y}" text-anchor="start">{told(asked, head)}</text>')
            drawn.append(f'<g transform="translate({x} {y + 4})">{strip(asked, head, room)}</g>')
    size = f'<svg class="w" viewBox="0 0 {619 if wide else 331} {high * LARGE - 8}"'
    font = 'font-family="Inter, \'Helvetica Neue\', Arial, sans-serif" font-size="11"'
    style = f'{font} text-anchor="middle" fill="var(--fig-ink,{INK})"'
    return f"{size} {style}>{''.join(drawn)}</svg>"


def live_heads() -> LiveFigure:
    """Make the figure of the landing page."""
    model = kept()
    reader, (word, pair) = Reader(model), next(iter(PAIRS.items()))
    both = [reader.ask(word, sentence) for sentence in pair]
    texts = []
    for sentence, asked in zip(pair, both, strict=True):
        lines = "; ".join(f"head {head} {told(asked, head)}" for head in largest(both))
        texts.append(f"“{sentence}”, asked by “{word}”: {lines}.")
    caption = f"""The framed word asks. Each head shares out a weight of 1 for it: the stronger the
colour, the larger the share. Below a head’s number stands where most goes; where that is no content
word (but “the”, say), also which content word gets most, if that is more than an equal share and at
least {TOLD:.2f}. The three heads that give one such word most stand first. [CLS] and [SEP], the
tokens at the two ends, take what must go somewhere when a head meets nothing that it looks for.
Heads: the twelve of the first block of all-MiniLM-L6-v2, rounded, which moved no weight in 400
sentences by more than {model["measured"]["gap"]:.2f}."""
    given = {
        "pairs": PAIRS,
        "small": SMALL,
        "before": BEFORE,
        "least": TOLD,
        "count": LARGE,
        "megabytes": round(SCRIPT.stat().st_size / 1e6, 1),
        "version": model["version"],
    }
    wide, narrow = (picture(word, both, wide) for wide in (True, False))
    still = DescribedFigure(wide, " ".join(texts), caption, narrow)
    return LiveFigure(__file__, OWN, given, still)

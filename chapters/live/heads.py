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
from utils.palette import INK, NEUTRAL, PALETTE

OWN = ("heads.js", "heads.css")
SCRIPT = Path(__file__).parents[2] / "book" / "_static" / "heads-weights.js"
GIVES = "globalThis.courseHeads = "  # before the weights: ``python -m benchmarks.named_heads``
MOST, ZERO = 46, 79  # the largest step of a number, and the character that means 0
BEFORE = 2  # the head that looks at the word before: ``benchmarks.named_heads`` measures it
HEADS = (10, 0)  # of the picture: what finds the neighbours of the first word offered
TOLD, FAVOURITES = 0.1, 200  # weights from which a number is shown; how many words are favourites
ASKER, ASKED = 4, 6  # the places of the words in that order of favourites
PAIRS = {  # the word stands at the same place in both, so its query is the same
    "plant": ("the plant grew in the garden", "the plant made steel and cars"),
    "trunk": ("the trunk of the elephant is grey", "the trunk of the car was open"),
    "ring": ("the ring for her wedding was gold", "the ring of the phone woke her"),
    "jam": ("we ate bread and jam", "stuck in a traffic jam"),
}
# Words that are no favourites, and no finds; nor is what has one letter.
SMALL = """about after all also am an and any are as at be been but by can could did do does for
 from had has have he her here him his how if in into is it its just me my near no not of off on
 onto or our out over own she should so some such than that the their them then there these they
 this those to too under up upon us very was we were what when where which while who whose why
 will with would you your"""


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
        self.words, self.everyday = given["words"].split(), given["everyday"]
        self.vectors, self.places = (numbers(given[name], D) for name in ("vectors", "places"))
        self.vectors *= numbers(given["columns"], D)
        self.scale, self.shift = numbers(given["norm"], D)
        self.layer = MultiHeadAttention(D, given["numHeads"])
        state = {f"{name}.weight": numbers(given[name], D) for name in ("q_proj", "k_proj")}
        state |= {name: numbers(given[name], 1)[:, 0] for name in ("q_proj.bias", "k_proj.bias")}
        self.layer.load_state_dict(state, strict=False)  # what it gives is not asked for
        small = SMALL.split()
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.content = [len(w) > 1 and w[0] != "[" and w not in small for w in self.words]
        self.kept: dict[str, Tensor] = {}
        with torch.no_grad():
            keys = self.layer.k_proj(self.embed(self.words, [ASKED] * len(self.words))[None])
            self.keys = self.layer.split_heads(keys)  # of all words in one place

    def embed(self, words: Sequence[str], places: Sequence[int]) -> Tensor:
        """Give what goes into the layer, (T, D)."""
        x = self.vectors[[self.ids[word] for word in words]] + self.places[places]
        return F.layer_norm(x, x.shape[1:], self.scale, self.shift, eps=1e-12)

    @torch.no_grad()
    def weights(self, words: Sequence[str]) -> Tensor:
        """Give the weights of the heads, (H, T, T), for words between the two marks."""
        x = self.embed(["[CLS]", *words, "[SEP]"], range(len(words) + 2))
        _, weights = self.layer(x, x, x, average_attn_weights=False)
        assert weights is not None
        return weights

    @torch.no_grad()
    def ranks(self, word: str) -> Tensor:
        """Give the rank of each word among a head's favourites for this one, (H, words), from 0."""
        if word not in self.kept:
            q = self.layer.split_heads(self.layer.q_proj(self.embed([word], [ASKER])[None]))
            scores = (q @ self.keys.mT)[0, :, 0]  # (H, words)
            scores[:, [not own for own in self.content]] = -torch.inf
            scores[:, self.ids[word]] = -torch.inf
            self.kept[word] = scores.argsort(descending=True).argsort()
        return self.kept[word]

    def favourites(self, word: str, head: int, count: int) -> list[str]:
        """Give the everyday words to which a head gives the highest scores."""
        order = self.ranks(word)[head].argsort()
        return [self.words[i] for i in order[order < self.everyday][:count]]

    def finds(self, words: Sequence[str], at: int) -> list[tuple[int, int, int]]:
        """Say which heads find which favourites of the word at a place: ranks, heads, places."""
        ranks, weights, found = self.ranks(words[at]), self.weights(words), []
        for t, word in enumerate(words):
            i = self.ids[word]
            for head in range(len(ranks)):
                fits = ranks[head, i] < FAVOURITES and weights[head, at + 1, t + 1] >= TOLD
                if fits and word != words[at] and self.content[i] and head != BEFORE:
                    found.append((int(ranks[head, i]), head, t))
        return sorted(found)


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


def says(reader: Reader, words: list[str], at: int, head: int) -> str:
    """Say what a head finds for a word, as heads.js does where it finds anything."""
    found = [one for one in reader.finds(words, at) if one[1] == head]
    if not found:
        return "finds nothing"
    rank, _, place = found[0]
    ending = {0: "st", 1: "nd", 2: "rd"}.get(rank, "th")
    assert rank < 20
    return f"finds “{words[place]}”, the {rank + 1}{ending} favourite"


def picture(reader: Reader, word: str, wide: bool) -> str:
    """Draw what each head gives to the word in two sentences, beside or below each other."""
    room, high, drawn = 303 if wide else 327, 80 if wide else 136, []
    for n, head in enumerate(HEADS):
        likes = ", ".join(reader.favourites(word, head, 4))
        name = f'<tspan font-weight="600">Head {head}, favourites of “{word}”:</tspan> {likes}'
        drawn.append(f'<text x="2" y="{14 + high * n}" text-anchor="start">{name}</text>')
        for side, sentence in enumerate(PAIRS[word]):
            words = sentence.split()
            at = words.index(word)
            x, y = side * (619 - room) if wide else 2, 31 + high * n + (0 if wide else 56 * side)
            said = says(reader, words, at, head)
            drawn.append(f'<text x="{x + 2}" y="{y}" text-anchor="start">{said}</text>')
            row = reader.weights(words)[head, at + 1].tolist()
            own = strip(["[CLS]", *words, "[SEP]"], row, at + 1, n, room)
            drawn.append(f'<g transform="translate({x} {y + 4})">{own}</g>')
    size = f'<svg class="w" viewBox="0 0 {"619 152" if wide else "331 264"}"'
    font = 'font-family="Inter, \'Helvetica Neue\', Arial, sans-serif" font-size="11"'
    style = f'{font} text-anchor="middle" fill="var(--fig-ink,{INK})"'
    return f"{size} {style}>{''.join(drawn)}</svg>"


def live_heads() -> LiveFigure:
    """Make the figure of the landing page."""
    model = kept()
    reader, measured, word = Reader(model), model["measured"], next(iter(PAIRS))
    told = []
    for sentence in PAIRS[word]:
        words = sentence.split()
        at = words.index(word)
        rows = reader.weights(words)[:, at + 1]
        all_said = (f"head {h} {says(reader, words, at, h)}, {rows[h].max():.2f}" for h in HEADS)
        told.append(f"“{sentence}”, asked by “{word}”: {'; '.join(all_said)}.")
    times, found, luck = (round(measured[name]) for name in ("sentences", "found", "luck"))
    caption = f"""“{word}” finds the garden with one head and the steel with another. It stands at
the same place in both sentences, so a head asks the same for it in both; only its neighbours
differ. The framed word spreads a weight of 1: the stronger a colour, the larger its share; what
finds nothing mostly rests on [CLS] or [SEP], the tokens at the two ends. A head’s favourites for a
word are all other words, in the order of the scores that it gives them wherever they stand. A head
finds a word that is among the first {FAVOURITES} of {len(reader.words):,} and gets at least
{TOLD:.2f}. Could that be luck? In {times} sentences written beforehand, for {times // 2} words with
two senses, some head finds the neighbour that tells the sense in {found}; a random word in its
place, in {luck}. Heads: the twelve of the first block of all-MiniLM-L6-v2, rounded; the weights are
right to within about {measured["gap"]:.2f}."""
    given = {
        "pairs": PAIRS,
        "small": SMALL,
        "before": BEFORE,
        "most": FAVOURITES,
        "megabytes": round(SCRIPT.stat().st_size / 1e6, 1),
        "version": model["version"],
    }
    wide, narrow = (picture(reader, word, wide) for wide in (True, False))
    still = DescribedFigure(wide, " ".join(told), caption, narrow)
    return LiveFigure(__file__, OWN, given, still)

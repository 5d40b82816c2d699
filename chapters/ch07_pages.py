"""Pages of four passages, the second task of chapter 7: at which place is the topic asked for."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from utils.figures import NARROW, SIZE, WIDE, DescribedFigure, box, draw_twice, text_width, write
from utils.models import recorded_weights
from utils.palette import PALETTE

if TYPE_CHECKING:
    from datasets import Dataset
    from matplotlib.axes import Axes

PLACES, LENGTH = 4, 20  # passages on a page, and words in a passage
PADDING, OTHER = 0, 1  # ids; then the topics, then the words
LEAST = 5  # times that a word stands in the texts

OWN = """the bank raised its rates again as oil prices climbed and shares in the largest retailers
fell for a third the captain scored twice before half time and her coach said an injured striker
will probably miss the cup final ministers will vote on the new bill next week although the
opposition says the government has not listened to anyone a free program lets people send pictures
from one phone to another and keeps the spam out of their mail"""


def written(topic: str, answer: int) -> str:
    """Give our own page as text: what it is asked, its passages with their places, the answer."""
    words, margin = OWN.split(), 3 * " "
    lines = [f"{topic}?"]
    for place in range(PLACES):
        passage = " ".join(words[LENGTH * place :][:LENGTH])
        lines.append(
            textwrap.fill(passage, 60, initial_indent=f"{place}  ", subsequent_indent=margin)
        )
    return "\n".join([*lines, f"answer: {answer}"])


def words_in(text: str) -> list[str]:
    """Give the words of a text in small letters."""
    return re.findall(r"\w+", text.lower())


class Pages:
    """Pages made of the passages of texts.

    Parameters
    ----------
    documents : Dataset with the columns ``text`` and ``label``, from which the words are learnt
    num_topics : int, how many labels there are

    Attributes
    ----------
    vocab_size : int, ids of padding, other words, topics and words
    """

    def __init__(self, documents: Dataset, num_topics: int) -> None:
        self.num_topics, self.first = num_topics, OTHER + 1 + num_topics
        seen = Counter(word for text in documents["text"][:] for word in words_in(text))
        often = [word for word, times in seen.items() if times >= LEAST]
        self.ids = {word: i for i, word in enumerate(often, start=self.first)}
        self.vocab_size = self.first + len(often)
        self.passages = self.cut(documents)

    def encode(self, topic: int, text: str) -> Tensor:
        """Give the ids of one page and what it is asked: (1, 1 + words)."""
        words = [self.ids.get(word, OTHER) for word in words_in(text)]
        return torch.tensor([[OTHER + 1 + topic, *words]])

    def cut(self, documents: Dataset) -> list[Tensor]:
        """Give all passages of each topic, (N, 20): any words of a text that stand together."""
        found: list[list[Tensor]] = [[] for _ in range(self.num_topics)]
        for text, label in zip(documents["text"][:], documents["label"][:], strict=True):
            ids = self.encode(0, text)[0, 1:]  # (T,)
            if len(ids) >= LENGTH:
                found[label].append(ids.unfold(0, LENGTH, 1))
        return [torch.cat(each) for each in found]

    def draw(
        self, n: int, generator: torch.Generator, passages: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw ``n`` pages, each asked for its four topics: ids (4 * n, 81), places (4 * n,)."""
        order = torch.rand(n, self.num_topics, generator=generator).argsort(dim=1)
        topics, words = order[:, :PLACES], torch.empty(n, PLACES, LENGTH, dtype=torch.long)
        for topic, each in enumerate(passages or self.passages):
            here = topics == topic  # (n, 4)
            words[here] = each[torch.randint(len(each), (int(here.sum()),), generator=generator)]
        page = words.flatten(1).repeat_interleave(PLACES, dim=0)  # (4 * n, 80)
        asked = OTHER + 1 + topics.reshape(-1, 1)  # (4 * n, 1)
        return torch.cat([asked, page], dim=1), torch.arange(PLACES).repeat(n)


class Placed(nn.Embedding):
    """Embed ids (B, 81) into (B, 81, 64), and add a learnt vector for each position."""

    def __init__(self, vocab_size: int, start: float = 0.3) -> None:
        super().__init__(vocab_size, 64)
        nn.init.normal_(self.weight, std=start)
        self.positions = nn.Parameter(start * torch.randn(1 + PLACES * LENGTH, 64))

    def forward(self, ids: Tensor) -> Tensor:
        """Embed ids (B, T) into (B, T, D)."""
        return super().forward(ids) + self.positions


@torch.no_grad()
def looked(finder: nn.Module, pages: Sequence[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Note how often a finder is right, and the mean weight of each of four heads on the answer."""
    (ids, places), *_ = pages
    with recorded_weights(finder) as records:
        right = finder(ids).argmax(dim=-1) == places  # (N,)
    weights = records[0][0][:, :, 0, 1:].unflatten(-1, (PLACES, LENGTH)).sum(dim=-1)  # (N, H, 4)
    asked = weights[torch.arange(len(ids)), :, places].mean(dim=0).tolist()  # H numbers
    heads = {f"head {h}": asked[h] if h < len(asked) else 0.0 for h in range(4)}
    return {"found": right.double().mean().item(), **heads}


class Told(nn.Module):
    """Count by passage: a score for each topic and word, added up where it is told to."""

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self.vocab_size = pages.vocab_size
        self.scores = nn.Embedding(pages.num_topics * pages.vocab_size, 1)
        nn.init.zeros_(self.scores.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Give the sum of each passage, (B, 4), of ids (B, 81)."""
        topics = ids[:, :1] - (OTHER + 1)  # (B, 1)
        scores = self.scores(topics * self.vocab_size + ids[:, 1:])  # (B, 80, 1)
        return scores.view(-1, PLACES, LENGTH).sum(dim=-1)


@torch.no_grad()
def draw_looks(
    finders: Mapping[int, nn.Module], pages: Pages, topic: int, caption: str
) -> DescribedFigure:
    """Draw our own page for each seed: the darker a word, the more its finder looks at it."""
    words, blocks, told = OWN.split(), [], []
    for seed, finder in finders.items():
        with recorded_weights(finder) as records:
            place = int(finder(pages.encode(topic, OWN)).argmax())
        weights = records[0][0][0].mean(dim=0)[0, 1:]  # (1, H, 1, 81) -> (80,)
        blocks.append((f"seed {seed}", weights.tolist()))
        top = weights.argsort(descending=True)[:5].tolist()
        most = ", ".join(words[i] for i in top)
        told.append(f"Seed {seed} names place {place} and looks the most at {most}")

    def draw(axes: Axes, narrow: bool) -> None:
        x, y, right = 4.0, 0.0, 72 * (NARROW if narrow else WIDE) - 4
        for title, weights in blocks:
            write(axes, (4, y + 9), title, bold=True, align="left")
            for i, (word, weight) in enumerate(zip(words, weights, strict=True)):
                width = text_width(word, SIZE) / 1.1 + 5
                if i % LENGTH == 0 or x + width > right:
                    y += 24 if i % LENGTH == 0 else 19
                    x = 4.0
                place = x, y, x + width, y + 17
                box(axes, place, word, colour=PALETTE[2], alpha=weight / max(weights) / 2, radius=3)
                x += width
            y += 36

    return draw_twice(
        draw, "Two heads on one page of four passages. " + ". ".join(told) + ".", caption
    )

"""What chapters 14 and 20 train: two tasks, recall and text as bytes, and a model for both."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention, causal_mask
from utils.docstrings import writer_texts

KEYS, VALUES, QUESTIONS = 64, 64, 16


def examples(
    draw: torch.Generator,
    n: int,
    B: int = 16,
    unknown: float = 0.0,
    keys: int = 0,
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor, Tensor]:
    """Draw texts of a first token, ``n`` pairs of key and value, and questions for keys.

    A share ``unknown`` of the questions asks for a key that was not shown; the right answer is
    then the key. All keys of a text are different, or each is one of the first ``keys`` and comes
    again; then its last value counts.
    Give what a model takes, ``blocked`` (T, T) and keys and values (B, T), 0 for none; and the
    right answers and whether a question's key is new, both (B, QUESTIONS).
    """
    order = torch.rand(B, KEYS, generator=draw).argsort(dim=1)  # all keys, shuffled
    slots = torch.arange(n).expand(B, n)
    if keys:
        order = torch.arange(KEYS).expand(B, KEYS)
        slots = torch.randint(keys, (B, n), generator=draw)
    values = torch.randint(VALUES, (B, n), generator=draw)
    asked = slots.gather(1, torch.randint(n, (B, QUESTIONS), generator=draw))
    last = ((asked[..., None] == slots[:, None]) * torch.arange(n)).argmax(2)
    is_new = torch.rand(B, QUESTIONS, generator=draw) < unknown
    others = torch.randint(keys or n, KEYS, (B, QUESTIONS), generator=draw)
    asked = order.gather(1, torch.where(is_new, others, asked))
    right = torch.where(is_new, asked, values.gather(1, last))
    ids = F.pad(torch.cat([order.gather(1, slots), asked], 1) + 1, (1, 0))
    blocked = ~causal_mask(ids.shape[1], ids.shape[1])
    blocked[:, -QUESTIONS:] = True  # nobody reads a question
    values = F.pad(values + 1, (1, QUESTIONS))
    return (blocked, ids, values), right, is_new


@cache
def text() -> tuple[Tensor, Tensor]:
    """Give docstrings as bytes: those to learn from, and those of other packages."""
    learnt, unseen = (
        torch.tensor([*"\n\n".join(each).encode()]) for each in writer_texts().values()
    )
    return learnt, unseen


class Model(nn.Module):
    """Pre-norm blocks, each with one of the layers given and a feed-forward network.

    ``forward`` takes ``blocked`` (T, T) and ids (B, T), a tensor for each of ``sizes``; a token is
    the sum of its embeddings. It gives the logits from place ``start`` on, and the weights of its
    layer, (B, H, T, T), if it has a single one (None otherwise).
    """

    def __init__(
        self,
        *mhas: MultiHeadAttention,
        sizes: tuple[int, ...] = (KEYS + 1, VALUES + 1),
        answers: int = VALUES,
        start: int = -QUESTIONS,
    ) -> None:
        super().__init__()
        D, norms = mhas[0].embed_dim, 2 * len(mhas) + 1
        self.mhas, self.start = nn.ModuleList(mhas), start
        self.embed = nn.ModuleList(nn.Embedding(n, D) for n in sizes)
        self.ffs = nn.ModuleList(
            nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D)) for _ in mhas
        )
        self.norms = nn.ModuleList(nn.LayerNorm(D) for _ in range(norms))
        self.answer = nn.Linear(D, answers)

    def forward(self, blocked: Tensor, *ids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Answer from place ``start`` on."""
        x = sum(embed(i) for embed, i in zip(self.embed, ids, strict=True))
        norms, weights, one = iter(self.norms), None, len(self.mhas) == 1
        for mha, ff in zip(self.mhas, self.ffs, strict=True):
            y = next(norms)(x)  # (B, T, D)
            y, weights = mha(
                y, y, y, attn_mask=blocked, need_weights=one, average_attn_weights=False
            )
            x = x + y
            x = x + ff(next(norms)(x))
        return self.answer(next(norms)(x[:, self.start :])), weights

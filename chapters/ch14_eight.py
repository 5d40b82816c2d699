"""Eight models of one shape, trained and read at once, so that eight seeds keep a GPU busy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from chapters.ch14_tasks import examples
from utils.attention import causal_mask

PART = 2**13  # bytes read at once


class Eight(nn.Module):
    """Models with stacked weights; each reads its own share of the batch, in their order.

    The mean loss is that of all, so each gets its own gradient times a constant; Adam does not
    mind. Give ``forward`` what a model takes, ``blocked`` and tensors of ids (models * B, T); it
    returns answers for all, and None for the weights.
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        weights, _ = stack_module_state(list(models))
        self.one, self.names = [models[0]], list(weights)  # in a list, so it is no child
        self.weights = nn.ParameterList(weights.values())
        self.number = len(models)

    def forward(self, blocked: Tensor, *ids: Tensor) -> tuple[Tensor, None]:
        """Answer with each model to its share."""

        def each(weights: list[Tensor], *ids: Tensor) -> Tensor:
            named = dict(zip(self.names, weights, strict=True))
            return functional_call(self.one[0], named, (blocked, *ids))[0]

        shares = [x.unflatten(0, (self.number, -1)) for x in ids]  # (models, B, T)
        with sdpa_kernel(SDPBackend.MATH):  # the fused kernels on a GPU refuse a mask under vmap
            return vmap(each)(list(self.weights), *shares).flatten(0, 1), None

    def read_by(self, other: nn.Module) -> Eight:
        """Give the weights to models like ``other``, whose parameters have the same names."""
        again = copy(self)
        again.one = [other]
        return again


def joined(batches: Sequence[Any], device: str | torch.device) -> tuple[tuple[Tensor, ...], Tensor]:
    """Make one batch of one for each model: what they take, and the right answers."""
    inputs, right, *_ = zip(*batches, strict=True)
    blocked, *ids = zip(*inputs, strict=True)
    together = [blocked[0], *map(torch.cat, ids)]
    return tuple(x.to(device) for x in together), torch.cat(right).to(device)


@torch.no_grad()
def losses(models: Eight, ids: Tensor, length: int) -> list[float]:
    """Give each model's mean loss on pieces of ``length``.

    ``ids`` are bytes in a row, a multiple of ``PART`` and one more.
    """
    device = models.weights[0].device
    blocked, parts = ~causal_mask(length, length, device), len(ids) // PART
    total = torch.zeros(models.number, device=device)
    for part in ids.unfold(0, PART + 1, PART):
        read, right = (
            each.view(-1, length).repeat(models.number, 1).to(device)
            for each in (part[:-1], part[1:])
        )
        answers, _ = models(blocked, read)
        each = F.cross_entropy(answers.mT, right, reduction="none")
        total += each.unflatten(0, (models.number, -1)).mean((1, 2)) / parts
    return total.tolist()


@torch.no_grad()
def recalls(models: Eight, n: int) -> list[float]:
    """Give the share of each model's answers that are right, on the same 1,024 texts."""
    device, draw = models.weights[0].device, torch.Generator().manual_seed(10**6)
    total = torch.zeros(models.number, device=device)
    for _ in range(4):
        batch = examples(draw, n, B=256, again=True)
        inputs, right = joined([batch] * models.number, device)
        found = (models(*inputs)[0].argmax(dim=-1) == right).float()
        total += found.unflatten(0, (models.number, -1)).mean((1, 2)) / 4
    return total.tolist()

"""Low-rank adapters: leave a weight as it is, and learn a small product that is added to it.

W + (alpha / r) B A, with A (r, in) and B (out, r), has r (in + out) numbers to learn, not in * out.
The adapter is a parametrisation of the weight: whoever reads ``linear.weight`` reads the sum.

Source: Hu and others 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


class LowRank(nn.Module):
    """Add (alpha / rank) B A to a weight. B starts at zero, so that at first nothing changes.

    Parameters
    ----------
    weight : Tensor of shape (out, in), for its shape, dtype and device
    rank : int, r, from 1 to the smaller side of the weight
    alpha : float, what the product is scaled with, before it is divided by the rank
    """

    def __init__(self, weight: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        if weight.dim() != 2 or not 1 <= rank <= min(weight.shape):
            raise ValueError(
                f"a weight of shape {tuple(weight.shape)} has no adapter of rank {rank}; the rank "
                "must be from 1 to the smaller side of a matrix."
            )
        self.scale = alpha / rank
        self.A = nn.Parameter(weight.new_empty(rank, weight.shape[1]))
        self.B = nn.Parameter(weight.new_zeros(weight.shape[0], rank))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))

    def forward(self, weight: Tensor) -> Tensor:
        """Give the weight with the product added, (out, in)."""
        return torch.addmm(weight, self.B, self.A, alpha=self.scale)


def add_adapters(
    model: nn.Module, names: Sequence[str] = ("q_proj", "v_proj"), rank: int = 8, alpha: float = 16
) -> list[nn.Parameter]:
    """Freeze the model and give an adapter to each linear map whose own name is in ``names``.

    Returns
    -------
    list of the adapters' parameters, A and B of each in turn: what is to be trained

    Raises
    ------
    ValueError
        if no linear map has such a name, one has an adapter already, or the rank does not fit
    """
    chosen = [
        module
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear) and path.rpartition(".")[2] in names
    ]
    if not chosen or any(parametrize.is_parametrized(linear) for linear in chosen):
        found = f"found {len(chosen)}" if chosen else "found none"
        raise ValueError(
            f"expected linear maps called {', '.join(names)}, none with an adapter yet; {found}."
        )
    adapters = [LowRank(linear.weight, rank, alpha) for linear in chosen]
    model.requires_grad_(False)
    for linear, adapter in zip(chosen, adapters, strict=True):
        parametrize.register_parametrization(linear, "weight", adapter)
    return [parameter for adapter in adapters for parameter in adapter.parameters()]

"""A model of two attention layers, and batches for it."""

import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention

B, T, D, H = 3, 4, 12, 4


class TwoLayers(nn.Module):
    """Embedding, two layers of self-attention, classes; the padding is token 0."""

    def __init__(self, kind=MultiHeadAttention, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(9, D)
        self.layers = nn.ModuleList(kind(D, H, dropout) for _ in range(2))
        self.output = nn.Linear(D, 3)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer(x, x, x, key_padding_mask=ids == 0, need_weights=False)[0]
        return self.output(x[:, 0])


@pytest.fixture
def two_layers():
    def make(**options):
        torch.manual_seed(0)
        return TwoLayers(**options).double().eval()

    return make


@pytest.fixture
def batches():
    def make(count=2, seed=0):
        draw = torch.Generator().manual_seed(seed)
        pairs = []
        for _ in range(count):
            ids = torch.randint(1, 9, (B, T + 1), generator=draw)
            ids[1, 3:] = 0
            pairs.append((ids, torch.randint(3, (B,), generator=draw)))
        return pairs

    return make


@pytest.fixture
def state_of():
    """What must be as before: modes and gradients."""

    def state(model):
        modes = [module.training for module in model.modules()]
        return modes + [parameter.grad is None for parameter in model.parameters()]

    return state

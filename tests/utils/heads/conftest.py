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
    return lambda **options: TwoLayers(**options).double().eval()


@pytest.fixture
def batches():
    pairs = []
    for _ in range(2):
        ids = torch.randint(1, 9, (B, T + 1))
        ids[1, 3:] = 0
        pairs.append((ids, torch.randint(3, (B,))))
    return pairs


@pytest.fixture
def state_of():
    """What must be as before: modes and gradients."""

    def state(model):
        modes = [module.training for module in model.modules()]
        return modes + [parameter.grad is None for parameter in model.parameters()]

    return state

"""Layers with large weights, inputs for them, and masks."""

import pytest
import torch
from torch import nn

B, D, H = 2, 12, 3


@pytest.fixture
def make():
    def make(layer_class, **options):
        torch.manual_seed(0)
        layer = layer_class(D, H, **options).double()
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.5)
        return layer

    return make


@pytest.fixture
def inputs():
    def inputs(queries, keys, batch=(B,)):
        torch.manual_seed(1)
        query = torch.randn(*batch, queries, D, dtype=torch.float64)
        x = torch.randn(*batch, keys, D, dtype=torch.float64)
        return query, x, x

    return inputs


@pytest.fixture
def masks_of():
    def masks_of(kind, queries, keys):
        torch.manual_seed(2)
        padding = torch.rand(B, keys) < 0.3
        padding[:, 0] = False
        return {
            "none": {},
            "padding": {"key_padding_mask": padding},
            "float": {"attn_mask": torch.randn(queries, keys, dtype=torch.float64)},
            "causal": {"is_causal": True},
        }[kind]

    return masks_of


@pytest.fixture
def close():
    def close(got, expected):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-11)

    return close

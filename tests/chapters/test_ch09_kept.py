"""What autograd keeps of a call is what its own hooks see."""

import pytest
import torch
from torch import nn

from chapters.ch09_kept import kept_bytes
from utils.attention import MultiHeadAttention


def dropped(x):
    x.sin().exp()
    return x.cos()


LAYER = nn.Linear(4, 5)


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda x: x.exp(), 12),
        (lambda x: x @ torch.ones(4, 5, requires_grad=True), 12 + 20),
        (LAYER, 12),  # parameters do not count
        (lambda x: LAYER(x).square(), 12 + 15),
        (lambda x: x @ (2 * LAYER.weight).T, 12 + 20),  # but copies of them do
        (lambda x: [x * x, (x.exp(), {"x": x * x})], 12 + 12),  # each piece of memory once
        (lambda x: (x[:2].square(), x[2:].square()), 12),
        (lambda x: x.exp().sum().backward(), 0),  # and only while it is kept
        (dropped, 12),
    ],
)
def test_kept_bytes_are_those_of_what_leads_to_the_output(function, numbers):
    x = torch.randn(3, 4, requires_grad=True)
    assert kept_bytes(lambda: function(x)) == 4 * numbers


def test_kept_bytes_of_a_layer_are_those_of_chapter_9():
    B, T, D, H = 2, 7, 8, 4
    layer, x = MultiHeadAttention(D, H), torch.randn(B, T, D, requires_grad=True)
    for need_weights, matrix in ((True, B * H * T * T), (False, B * H * T)):
        kept = kept_bytes(lambda: layer(x, x, x, need_weights=need_weights))  # noqa: B023
        assert kept == 4 * (5 * B * T * D + matrix)

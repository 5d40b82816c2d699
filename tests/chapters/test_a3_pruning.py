"""A pruned layer is the whole one with the other heads at zero."""

import copy
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from chapters.a3_importance import scaled_heads
from chapters.a3_pruning import prune_heads
from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.naive import NaiveMultiHeadAttention

B, T, S, D, H = 3, 4, 5, 12, 4


@settings(max_examples=40)
@given(
    keep=st.permutations(range(H)).flatmap(
        lambda order: st.integers(1, H).map(lambda count: order[:count])
    ),
    bias=st.booleans(),
    widths=st.sampled_from([(None, None, None), (7, 9, None), (None, 5, 6), (None, None, 2)]),
    need_weights=st.booleans(),
    queries=st.sampled_from([1, T]),
    is_causal=st.booleans(),
    kind=st.sampled_from([MultiHeadAttention, FastMultiHeadAttention]),
)
def test_the_pruned_layer_is_the_masked_one(
    keep, bias, widths, need_weights, queries, is_causal, kind
):
    kdim, vdim, head_dim = widths
    layer = kind(D, H, 0.0, bias, kdim, vdim, head_dim=head_dim, scale=0.6).double()
    inputs = [
        torch.randn(B, n, width, dtype=torch.double, requires_grad=True)
        for n, width in ((queries, D), (S, kdim or D), (S, vdim or D))
    ]
    with torch.no_grad():
        for parameter in layer.parameters():  # the biases are zero at first
            parameter.normal_()
    blocked = torch.rand(B, S) < 0.3
    pruned = prune_heads(layer, keep)
    assert type(pruned) is kind
    scale = torch.zeros(1, H, dtype=torch.double)
    scale[0, keep] = 1.0
    options = {"key_padding_mask": blocked, "need_weights": need_weights, "is_causal": is_causal}
    with scaled_heads(layer, scale):
        expected, weights = layer(*inputs, average_attn_weights=False, **options)
    output, fewer = pruned(*inputs, average_attn_weights=False, **options)
    torch.testing.assert_close(output, expected)
    if need_weights:
        torch.testing.assert_close(fewer, weights[:, sorted(keep)])
    direction = torch.randn_like(output)
    gradients = torch.autograd.grad((output * direction).sum(), inputs)
    torch.testing.assert_close(gradients, torch.autograd.grad((expected * direction).sum(), inputs))


def test_the_pruned_layer_is_smaller_and_shares_nothing():
    layer = MultiHeadAttention(D, H, 0.1, kdim=7).double().eval()
    layer.q_proj.requires_grad_(False)
    state = torch.get_rng_state()
    pruned = prune_heads(layer, [3, 1])
    assert torch.equal(torch.get_rng_state(), state), "pruning draws no random numbers"
    assert (pruned.num_heads, pruned.head_dim, pruned.embed_dim) == (2, D // H, D)
    assert (pruned.dropout, pruned.kdim, pruned.training) == (0.1, 7, False)
    assert {parameter.dtype for parameter in pruned.parameters()} == {torch.double}
    assert pruned.q_proj.weight.shape == (D // 2, D)
    assert pruned.out_proj.weight.shape == (D, D // 2)
    frozen = [name for name, p in pruned.named_parameters() if not p.requires_grad]
    assert frozen == ["q_proj.weight", "q_proj.bias"]
    before = copy.deepcopy(layer.state_dict())
    with torch.no_grad():
        for parameter in pruned.parameters():
            parameter.fill_(1.0)
    torch.testing.assert_close(layer.state_dict(), before)


def test_all_heads_kept_is_a_copy_and_pruning_can_be_repeated():
    layer = MultiHeadAttention(D, H)
    torch.testing.assert_close(prune_heads(layer, range(H)).state_dict(), layer.state_dict())
    expected = prune_heads(layer, [2, 3]).state_dict()
    twice = prune_heads(prune_heads(layer, np.array([0, 2, 3])), torch.tensor([1, 2]))
    torch.testing.assert_close(twice.state_dict(), expected)


@pytest.mark.parametrize(
    ("layer", "keep", "error", "word"),
    [
        *[(MultiHeadAttention, k, ValueError, "one of") for k in ([], [0, 0], [H], [-1], [0.5])],
        (MultiHeadAttention, [1, np.True_], TypeError, "numbers"),
        (MultiHeadAttention, torch.ones(H).bool(), TypeError, "numbers"),
        (NaiveMultiHeadAttention, [0], ValueError, "cannot be cut"),
        (partial(MultiHeadAttention, positions=nn.Identity()), [0], ValueError, "positions"),
        (partial(MultiHeadAttention, num_kv_heads=1), [0], ValueError, "share"),
        (nn.MultiheadAttention, [0], TypeError, "MultiheadAttention"),
    ],
)
def test_what_cannot_be_cut_is_refused(layer, keep, error, word):
    with pytest.raises(error, match=word):
        prune_heads(layer(D, H), keep)


def test_wide_heads_are_cut_too():
    layer, x = MultiHeadAttention(D, H, head_dim=D), torch.randn(B, T, D)
    with scaled_heads(layer, torch.tensor([[0.0, 1.0, 0.0, 1.0]])):
        expected, _ = layer(x, x, x)
    torch.testing.assert_close(prune_heads(layer, [1, 3])(x, x, x)[0], expected)

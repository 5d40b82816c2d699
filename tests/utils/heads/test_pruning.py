"""A pruned layer is the whole one with the other heads at zero."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import (
    ConvMultiHeadAttention,
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
    WideMultiHeadAttention,
)
from utils.heads import prune_heads, scaled_heads

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
    layer_class=st.sampled_from([MultiHeadAttention, FastMultiHeadAttention]),
)
def test_the_pruned_layer_is_the_masked_one(
    keep, bias, widths, need_weights, queries, is_causal, layer_class
):
    torch.manual_seed(sum(keep))
    kdim, vdim, head_dim = widths
    layer = layer_class(D, H, 0.0, bias, kdim, vdim, head_dim=head_dim, scale=0.6).double()
    inputs = [
        torch.randn(B, n, width, dtype=torch.double, requires_grad=True)
        for n, width in ((queries, D), (S, kdim or D), (S, vdim or D))
    ]
    with torch.no_grad():
        for parameter in layer.parameters():  # the biases are zero at first
            parameter.normal_()
    blocked = torch.rand(B, S) < 0.3
    pruned = prune_heads(layer, keep)
    assert type(pruned) is layer_class
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
    pruned = prune_heads(layer, [3, 1])
    assert (pruned.num_heads, pruned.head_dim, pruned.embed_dim) == (2, D // H, D)
    assert (pruned.dropout, pruned.kdim, pruned.training) == (0.1, 7, False)
    assert {parameter.dtype for parameter in pruned.parameters()} == {torch.double}
    assert pruned.q_proj.weight.shape == (D // 2, D)
    assert pruned.out_proj.weight.shape == (D, D // 2)
    assert all(parameter.is_leaf and parameter.requires_grad for parameter in pruned.parameters())
    before = copy.deepcopy(layer.state_dict())
    with torch.no_grad():
        for parameter in pruned.parameters():
            parameter.fill_(1.0)
    torch.testing.assert_close(layer.state_dict(), before)


def test_all_heads_kept_is_a_copy_and_pruning_can_be_repeated():
    layer = MultiHeadAttention(D, H)
    torch.testing.assert_close(prune_heads(layer, range(H)).state_dict(), layer.state_dict())
    twice = prune_heads(prune_heads(layer, [0, 2, 3]), [1, 2])
    torch.testing.assert_close(twice.state_dict(), prune_heads(layer, [2, 3]).state_dict())


def test_pruning_draws_no_random_numbers():
    layer, state = MultiHeadAttention(D, H), torch.get_rng_state()
    prune_heads(layer, [0])
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("keep", [[], [0, 0], [H], [-1], [0, 1, 2, 3, 4], [0.5]])
def test_impossible_heads_are_refused(keep):
    with pytest.raises(ValueError, match="at least one"):
        prune_heads(MultiHeadAttention(D, H), keep)


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_heads_may_be_named_by_an_array(kind):
    layer = MultiHeadAttention(D, H)
    expected = prune_heads(layer, [0, 2]).state_dict()
    torch.testing.assert_close(prune_heads(layer, kind([0, 2])).state_dict(), expected)


@pytest.mark.parametrize(
    "keep",
    [[True, False, True, False], [1, np.True_], np.array([True] * H), torch.ones(H).bool()],
)
def test_a_mask_of_heads_is_refused(keep):
    with pytest.raises(TypeError, match="numbers"):
        prune_heads(MultiHeadAttention(D, H), keep)


@pytest.mark.parametrize(
    ("layer", "error", "message"),
    [
        (NaiveMultiHeadAttention(D, H), ValueError, "cannot be cut"),
        (ConvMultiHeadAttention(D, H), ValueError, "convolution"),
        (MultiHeadAttention(D, H, positions=nn.Identity()), ValueError, "positions"),
        (MultiHeadAttention(D, H, num_kv_heads=1), ValueError, "share"),
        (nn.MultiheadAttention(D, H), TypeError, "MultiheadAttention"),
    ],
)
def test_what_cannot_be_cut_is_refused_and_left_as_it_was(layer, error, message):
    before = copy.deepcopy(layer.state_dict())
    with pytest.raises(error, match=message):
        prune_heads(layer, [0])
    torch.testing.assert_close(layer.state_dict(), before, atol=0, rtol=0)


def test_wide_heads_are_cut_too():
    layer, x = WideMultiHeadAttention(D, H), torch.randn(B, T, D)
    with scaled_heads(layer, torch.tensor([[0.0, 1.0, 0.0, 1.0]])):
        expected, _ = layer(x, x, x)
    torch.testing.assert_close(prune_heads(layer, [1, 3])(x, x, x)[0], expected)


def test_what_is_frozen_stays_frozen():
    layer = MultiHeadAttention(D, H)
    layer.q_proj.requires_grad_(False)
    pruned = prune_heads(layer, [1])
    assert not pruned.q_proj.weight.requires_grad
    assert pruned.k_proj.bias.requires_grad

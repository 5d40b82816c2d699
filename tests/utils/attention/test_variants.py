"""Wide heads, and wide heads reduced by a convolution: against plain loops, and at their edges."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from chapters.ch14_variants import ConvMultiHeadAttention, WideMultiHeadAttention
from utils.attention import MultiHeadAttention


def build(kernel_size=None, D=6, heads=3, sizes=(5, 5), **options):
    """A layer in float64 with random biases, and its three inputs; no kernel: the wide layer."""
    if kernel_size is None:
        layer = WideMultiHeadAttention(D, heads, **options)
    else:
        layer = ConvMultiHeadAttention(D, heads, kernel_size=kernel_size, **options)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    shapes = [(2, sizes[0], D), (2, sizes[1], layer.kdim), (2, sizes[1], layer.vdim)]
    return layer.double(), [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def by_loops(layer, query, key, value, allowed):
    """The layer as its definition says, one sequence, head, query and key after the other."""
    size, channels = layer.head_dim, layer.embed_dim // layer.num_heads
    q, k, v = layer.q_proj(query), layer.k_proj(key), layer.v_proj(value)
    heads, weights = [], torch.zeros(allowed.shape, dtype=query.dtype)
    for h in range(layer.num_heads):
        rows = slice(h * size, (h + 1) * size)
        head = torch.zeros(*query.shape[:2], size, dtype=query.dtype)
        for b in range(len(query)):
            for t in range(query.shape[1]):
                seen = [s for s in range(key.shape[1]) if allowed[b, h, t, s]]
                if seen:
                    scores = k[b, seen, rows] @ q[b, t, rows] / math.sqrt(size)
                    weights[b, h, t, seen] = scores.softmax(0)
                    head[b, t] = scores.softmax(0) @ v[b, seen, rows]
        if hasattr(layer, "reduce"):
            own, reduced = slice(h * channels, (h + 1) * channels), []
            for t in range(query.shape[1]):
                taps = range(min(t + 1, layer.kernel_size))  # looking back only
                parts = [
                    head[:, t - back] @ layer.reduce.weight[own, :, -1 - back].T for back in taps
                ]
                reduced.append(
                    sum(parts) + (0 if layer.reduce.bias is None else layer.reduce.bias[own])
                )
            head = torch.stack(reduced, 1)
        heads.append(head)
    return layer.out_proj(torch.cat(heads, -1)), weights


@settings(max_examples=20)
@given(
    kernel_size=st.sampled_from([None, 1, 2, 3, 9]),
    heads=st.integers(1, 3),
    channels=st.integers(1, 2),  # D / H
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 5)) | st.just((1, 30)),  # absorbed
    widths=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    bias=st.booleans(),
)
def test_the_layers_are_what_the_loops_say(kernel_size, heads, channels, sizes, widths, bias):
    options = {"bias": bias, "kdim": widths[0], "vdim": widths[1]}
    layer, inputs = build(kernel_size, heads * channels, heads, sizes, **options)
    allowed = torch.rand(2, heads, *sizes) < 0.6  # some rows have nothing to attend to
    of = [x.requires_grad_() for x in inputs] + list(layer.parameters())
    expected = by_loops(layer, *inputs, allowed)
    call = {"attn_mask": ~allowed.flatten(0, 1), "average_attn_weights": False}
    got = layer(*inputs, **call)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(layer(*inputs, **call, need_weights=False)[0], expected[0])
    gradients = (
        torch.autograd.grad(x[0].sin().sum(), of, materialize_grads=True) for x in (got, expected)
    )
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("kernel_size", [None, 1, 3, 7])
def test_neither_a_later_token_nor_padding_changes_an_earlier_output(kernel_size):
    layer, (x, _, _) = build(kernel_size)
    before, _ = layer(x, x, x, is_causal=True)
    for t in range(1, 5):
        changed = x.clone()
        changed[:, t] += 1.0
        after, _ = layer(changed, changed, changed, is_causal=True)
        torch.testing.assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-12)
        assert not torch.isclose(after[:, t], before[:, t]).any()
    padded = torch.cat([x, 9 * torch.ones(2, 3, 6).double()], dim=1)  # (B, T + 3, D)
    blocked = (torch.arange(8) >= 5).expand(2, 8)
    output, weights = layer(padded, padded, padded, key_padding_mask=blocked)
    torch.testing.assert_close(output[:, :5], layer(x, x, x)[0])
    assert not weights[..., 5:].any()


def test_one_wide_head_is_pytorchs_and_wide_ones_need_not_divide():
    reference = nn.MultiheadAttention(6, 1, batch_first=True)
    layer, x = WideMultiHeadAttention.from_torch(reference), torch.randn(2, 5, 6)
    torch.testing.assert_close(layer(x, x, x), reference(x, x, x))
    torch.testing.assert_close(layer.to_torch()(x, x, x), reference(x, x, x))
    x = torch.randn(1, 2, 7)
    assert WideMultiHeadAttention(7, 3)(x, x, x)[0].shape == x.shape
    assert MultiHeadAttention(7, 3, head_dim=7).head_dim == 7

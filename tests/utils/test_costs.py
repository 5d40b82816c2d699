"""Costs are those that PyTorch's own counter and autograd's own hooks see."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import limits
from benchmarks.limits import measure_peak, multiply_adds
from chapters.ch09_kept import kept_bytes
from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention

SIZE = st.integers(1, 9)


def count(function):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops() // 2


@settings(max_examples=25)
@given(B=SIZE, T=SIZE, S=SIZE, H=SIZE, size=SIZE, kdim=SIZE, vdim=SIZE)
def test_multiply_adds_are_those_of_either_order(B, T, S, H, size, kdim, vdim):
    D = H * size
    q, k, v = torch.randn(B, T, D), torch.randn(B, S, kdim), torch.randn(B, S, vdim)
    w_q, w_o = torch.randn(2, D, D)
    w_k, w_v = torch.randn(H, kdim, size), torch.randn(H, vdim, size)

    def projecting():
        heads = (q @ w_q).view(B, T, H, size).transpose(1, 2)
        scores = heads @ (k[:, None] @ w_k).mT
        return scores.softmax(-1) @ (v[:, None] @ w_v), q @ w_o

    def absorbing():
        heads = (q @ w_q).view(B, T, H, size).transpose(1, 2)
        scores = (heads @ w_k.mT) @ k[:, None].mT
        return (scores.softmax(-1) @ v[:, None]) @ w_v, q @ w_o

    sizes = {"kdim": kdim, "vdim": vdim}
    ways = {way: multiply_adds(B, T, S, D, H, absorbed=way, **sizes) for way in (False, True)}
    assert ways == {False: count(projecting), True: count(absorbing)}
    assert multiply_adds(B, T, S, D, H, **sizes) == min(ways.values())


@pytest.mark.parametrize(("num_kv_heads", "head_dim", "widths"), [(4, 2, (8, 8)), (1, 12, (5, 30))])
def test_the_fast_layer_takes_the_order_that_the_counter_finds_cheaper(
    num_kv_heads, head_dim, widths
):
    kdim, vdim = widths
    sizes = {"head_dim": head_dim, "num_kv_heads": num_kv_heads, "kdim": kdim, "vdim": vdim}
    plain, fast = (kind(8, 4, **sizes) for kind in (MultiHeadAttention, FastMultiHeadAttention))
    for T, S in itertools.product([1, 2, 4, 8], [2, 8, 33]):
        given = torch.randn(3, T, 8), torch.randn(3, S, kdim), torch.randn(3, S, vdim)
        absorbed = multiply_adds(3, T, S, 8, 4, absorbed=True, **sizes)
        projected = count(lambda: plain(*given))  # noqa: B023
        assert projected == multiply_adds(3, T, S, 8, 4, absorbed=False, **sizes)
        assert count(lambda: fast(*given)) == min(projected, absorbed)  # noqa: B023
        assert fast.absorbing_is_cheaper(T, S) == (absorbed < projected)


def test_multiply_adds_of_a_causal_layer_count_the_pairs_that_are_allowed():
    for T, S in itertools.combinations_with_replacement(range(1, 6), 2):
        blocked = torch.ones(T, S).triu(S - T + 1).sum().item()
        for absorbed, pair in ((False, 2 * 8), (True, 2 * 8 * 2)):
            full = multiply_adds(1, T, S, 8, 2, absorbed=absorbed)
            causal = multiply_adds(1, T, S, 8, 2, absorbed=absorbed, causal=True)
            assert full - causal == blocked * pair
    for sizes, causal, word in (
        ((3, 2, 8, 2), True, "each query"),
        ((2, 2, 10, 3), False, "head_dim"),
    ):
        with pytest.raises(ValueError, match=word):
            multiply_adds(1, *sizes, causal=causal)


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


def test_a_peak_is_what_was_done_in_the_time_that_it_took(monkeypatch):
    monkeypatch.setattr(limits, "seconds", lambda function, device: (function(), 0.5)[1])
    peak = measure_peak(torch.device("cpu"), torch.float32, quick=True)
    assert (peak.flops, peak.bytes) == (2 * 256**3 / 0.5, 2 * 4 * 2**16 / 0.5)

"""Costs are those that PyTorch's own counter and autograd's own hooks see."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import FastMultiHeadAttention, MultiHeadAttention
from utils.measure import Peak, kept_bytes, measure_peak, multiply_adds

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

    def outside():
        return q @ w_q, q @ w_o

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
    assert count(outside) == 2 * B * T * D * D


@pytest.mark.parametrize(("T", "S"), [(4, 4), (1, 9), (3, 64)])
def test_multiply_adds_are_those_of_the_layer(T, S):
    for head_dim in (None, 5):
        layer = FastMultiHeadAttention(8, 2, head_dim=head_dim, kdim=6, vdim=10)
        q, k, v = torch.randn(3, T, 8), torch.randn(3, S, 6), torch.randn(3, S, 10)
        expected = multiply_adds(3, T, S, 8, 2, head_dim=head_dim, kdim=6, vdim=10)
        assert count(lambda: layer(q, k, v)) == expected  # noqa: B023


GRID = list(itertools.product([1, 2, 4, 8], [2, 4, 8, 16, 33], [1, 2, 4], [2, 12], [None, (5, 30)]))


@pytest.mark.parametrize(("T", "S", "num_kv_heads", "head_dim", "widths"), GRID)
def test_the_fast_layer_takes_the_order_that_the_counter_finds_cheaper(
    T, S, num_kv_heads, head_dim, widths
):
    kdim, vdim = widths or (8, 8)
    sizes = {"head_dim": head_dim, "num_kv_heads": num_kv_heads, "kdim": kdim, "vdim": vdim}
    plain, fast = (kind(8, 4, **sizes) for kind in (MultiHeadAttention, FastMultiHeadAttention))
    given = torch.randn(3, T, 8), torch.randn(3, S, kdim), torch.randn(3, S, vdim)
    absorbed = multiply_adds(3, T, S, 8, 4, absorbed=True, **sizes)
    projected = count(lambda: plain(*given))
    assert projected == multiply_adds(3, T, S, 8, 4, absorbed=False, **sizes)
    assert count(lambda: fast(*given)) == min(projected, absorbed)
    assert multiply_adds(3, T, S, 8, 4, **sizes) == min(projected, absorbed)
    assert fast.absorbing_is_cheaper(T, S) == (absorbed < projected)


def test_multiply_adds_of_a_causal_layer_count_the_pairs_that_are_allowed():
    for T, S in itertools.product(range(1, 6), repeat=2):
        if T > S:
            with pytest.raises(ValueError, match="each query"):
                multiply_adds(1, T, S, 8, 2, causal=True)
            continue
        blocked = torch.ones(T, S).triu(S - T + 1).sum().item()
        for absorbed, pair in ((False, 2 * 8), (True, 2 * 8 * 2)):
            full = multiply_adds(1, T, S, 8, 2, absorbed=absorbed)
            causal = multiply_adds(1, T, S, 8, 2, absorbed=absorbed, causal=True)
            assert full - causal == blocked * pair


def test_multiply_adds_need_a_width_for_the_heads():
    with pytest.raises(ValueError, match="head_dim"):
        multiply_adds(1, 2, 2, 10, 3)
    assert multiply_adds(1, 2, 2, 10, 3, head_dim=4) == 2 * 2 * 10 * 12 + 2 * 20 * 12 + 8 * 12


def test_kept_bytes_of_a_product_are_its_factors():
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    assert kept_bytes(lambda: x @ w) == 4 * (12 + 20)
    assert kept_bytes(lambda: x.exp()) == 4 * 12
    assert kept_bytes(lambda: x + x) == 0
    assert kept_bytes(lambda: x.detach() @ w) == 4 * 12


def test_kept_bytes_leave_out_parameters_but_not_copies_of_them():
    layer, x = nn.Linear(4, 5), torch.randn(3, 4, requires_grad=True)
    assert kept_bytes(lambda: layer(x)) == 4 * 12
    assert kept_bytes(lambda: layer(x).square()) == 4 * (12 + 15)
    assert kept_bytes(lambda: x @ (2 * layer.weight).T) == 4 * (12 + 20)
    assert kept_bytes(lambda: x @ layer.weight[:2].T) == 4 * 12


def test_kept_bytes_count_each_piece_of_memory_once_and_only_while_it_is_kept():
    x = torch.randn(6, requires_grad=True)
    assert kept_bytes(lambda: [x * x, (x.exp(), {"x": x * x})]) == 4 * (6 + 6)
    assert kept_bytes(lambda: (x[:2].square(), x[2:].square())) == 4 * 6
    assert kept_bytes(lambda: (x.exp(), None)[1]) == 0
    assert kept_bytes(lambda: x.exp().sum().backward()) == 0

    def dropped():
        x.sin().exp()
        return x.cos()

    assert kept_bytes(dropped) == 4 * 6
    with torch.no_grad():
        assert kept_bytes(lambda: x.exp()) == 0


@pytest.mark.parametrize("H", [1, 2, 4])
def test_kept_bytes_of_a_layer_are_those_of_chapter_6(H):
    B, T, D = 2, 7, 8
    layer, x = MultiHeadAttention(D, H), torch.randn(B, T, D, requires_grad=True)
    for need_weights, matrix in ((True, B * H * T * T), (False, B * H * T)):
        kept = kept_bytes(lambda: layer(x, x, x, need_weights=need_weights))  # noqa: B023
        assert kept == 4 * (5 * B * T * D + matrix)


def test_the_roofline_is_the_larger_of_two_times():
    peak = Peak(flops=100.0, bytes=20.0)
    assert peak.ridge == 5.0
    assert peak.least_seconds(1000.0, 20.0) == 10.0
    assert peak.least_seconds(10.0, 200.0) == 10.0
    assert peak.least_seconds(5.0, 1.0) == pytest.approx(0.05)


def test_a_peak_can_be_measured():
    peak = measure_peak(torch.device("cpu"), torch.float32, quick=True)
    assert 1e6 < peak.flops < 1e15
    assert 1e6 < peak.bytes < 1e14

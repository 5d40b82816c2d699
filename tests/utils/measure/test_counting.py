"""Counts are those that can be reckoned from the shapes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.measure import Counts, count

A, B = torch.randn(3, 5), torch.randn(5, 7)
FLOAT = 4  # bytes


def test_a_product_reads_its_factors_and_writes_the_result():
    assert count(lambda: A @ B) == Counts(2 * 3 * 5 * 7, FLOAT * (15 + 35 + 21), 1)


def test_a_product_into_memory_at_hand_does_not_read_what_it_overwrites():
    out = torch.empty(3, 7)
    assert count(lambda: torch.mm(A, B, out=out)) == count(lambda: A @ B)


def test_the_backward_pass_is_counted_where_it_is_called():
    weight = nn.Parameter(B.clone())
    forward = count(lambda: A @ weight)
    both = count(lambda: (A @ weight).sum().backward())
    assert forward.operations == 2 * 3 * 5 * 7
    assert both.operations == 2 * forward.operations  # the tokens need no gradient


def test_an_in_place_addition_reads_two_and_writes_one():
    x, y = torch.zeros(10), torch.ones(10)
    assert count(lambda: x.add_(y)) == Counts(0, FLOAT * 30, 1)


@pytest.mark.parametrize(
    ("overwrite", "numbers"),
    [
        (lambda x: x.zero_(), 10),
        (lambda x: x.fill_(2.0), 10),
        (lambda x: x.copy_(torch.arange(10.0)), 20 + 10),  # and the range is written
    ],
)
def test_what_is_overwritten_is_not_read(overwrite, numbers):
    assert count(lambda: overwrite(torch.empty(10))).moved == FLOAT * numbers


def test_a_softmax_moves_and_multiplies_nothing():
    x = torch.randn(4, 6)
    assert count(lambda: x.softmax(dim=-1)) == Counts(0, FLOAT * 48, 1)


def test_views_and_empty_memory_cost_nothing():
    x = torch.randn(4, 6)

    def views():
        x.view(2, 12), x.T, x[1:, ::2], x.unflatten(1, (2, 3)), x.expand(3, 4, 6), x.detach()
        torch.empty(100), torch.empty_like(x), x.new_empty(7)

    assert count(views) == Counts(0, 0, 0)
    copied = count(lambda: x.T.contiguous())
    assert (copied.moved, copied.calls) == (FLOAT * 48, 1)


def test_a_fused_optimizer_reads_and_writes_parameters_and_moments():
    parameter = nn.Parameter(torch.randn(1000))
    optimizer = torch.optim.AdamW([parameter], fused=True)
    parameter.grad = torch.randn(1000)
    optimizer.step()  # its moments are made
    numbers = count(optimizer.step).moved // FLOAT
    # Parameter, gradient and two moments are read, and all four may be written.
    assert 7 * 1000 <= numbers <= 8 * 1000 + 10


def test_the_fused_kernel_of_attention_is_known():
    q = torch.randn(2, 3, 5, 8, requires_grad=True)

    def attend():
        return F.scaled_dot_product_attention(q, q, q)

    product = 2 * 2 * 3 * 5 * 5 * 8
    assert count(attend).operations == 2 * product
    assert count(lambda: attend().sum().backward()).operations == (2 + 5) * product


def test_nothing_is_nothing_and_twice_is_twice():
    assert count(lambda: None) == Counts(0, 0, 0)
    once, twice = count(lambda: A @ B), count(lambda: (A @ B, A @ B))
    assert twice == Counts(*(2 * number for number in once))

"""Counts are those that can be reckoned from the shapes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.costs import Counts, count

A, B = torch.ones(3, 5), torch.ones(5, 7)
X, Y = torch.ones(4, 6), torch.ones(10)
FLOAT = 4  # bytes
PRODUCT = (2 * 3 * 5 * 7, 15 + 35 + 21, 1)


@pytest.mark.parametrize(
    ("function", "operations", "numbers", "calls"),
    [
        (lambda: A @ B, *PRODUCT),
        (lambda: torch.mm(A, B, out=torch.empty(3, 7)), *PRODUCT),  # what is overwritten is unread
        (lambda: Y.clone().add_(Y), 0, 20 + 30, 2),
        (lambda: torch.empty(10).zero_(), 0, 10, 1),
        (lambda: torch.empty(10).copy_(Y), 0, 20, 1),
        (lambda: X.softmax(dim=-1), 0, 48, 1),
        (lambda: X.T.contiguous(), 0, 48, 1),
        (lambda: (X.view(2, 12), X.T, X[1:, ::2], X.expand(3, 4, 6), X.detach()), 0, 0, 0),
        (lambda: (torch.empty(100), torch.empty_like(X), X.new_empty(7)), 0, 0, 0),
    ],
)
def test_what_is_counted_of_a_call(function, operations, numbers, calls):
    assert count(function) == Counts(operations, FLOAT * numbers, calls)


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

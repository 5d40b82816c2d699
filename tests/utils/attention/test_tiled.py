"""Attention in tiles: the reference's output and gradient, in memory that is linear in the length.

The reference is ``utils.attention.scaled_dot_product_attention``, which stores every weight.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from chapters.ch09_kept import kept_bytes
from utils.attention import scaled_dot_product_attention
from utils.tiled import tiled_attention

problems = st.fixed_dictionaries(
    {
        "batch": st.sampled_from([(), (2,), (2, 3)]),
        "T": st.integers(1, 12),
        "S": st.integers(1, 12),
        "widths": st.tuples(st.integers(1, 5), st.integers(1, 5)),
        "shape": st.sampled_from(["none", "padding", "all", "keys of a head", "one"]),
        "floats": st.booleans(),
    }
)


def draw(batch, T, S, widths, dtype=torch.float64):
    shapes = [(*batch, T, widths[0]), (*batch, S, widths[0]), (*batch, S, widths[1])]
    return [(2 * torch.randn(shape, dtype=dtype)).requires_grad_() for shape in shapes]


def pose(batch, T, S, widths, shape, floats):
    """Inputs, and a mask that broadcasts; some leave queries with nothing to attend to."""
    ones = (1,) * max(0, len(batch) - 1)
    shapes = {"padding": (*batch[:1], *ones, 1, S), "all": (*batch, T, S), "one": (S,)}
    shapes["keys of a head"] = (*batch[-1:], T, 1)
    mask = None if shape == "none" else torch.rand(shapes[shape]) < 0.6
    if floats and mask is not None:
        mask = torch.randn(mask.shape).double().masked_fill(~mask, -math.inf)
    return draw(batch, T, S, widths), mask


def windowed(T, S, window):
    """True where query t may see key s: 0 <= t - s < window."""
    back = torch.arange(T).unsqueeze(1) - torch.arange(S)
    return (back >= 0) & (back < window)


def run(function, inputs):
    """The output, and the gradient of something that weighs all outputs differently."""
    output = function(*inputs)
    return output.detach(), *torch.autograd.grad(output.sin().sum(), inputs)


def assert_same(function, expected, inputs, **how):
    torch.testing.assert_close(run(function, inputs), run(expected, inputs), **how)


@settings(max_examples=60)
@given(problems, st.booleans(), st.none() | st.integers(1, 14), st.integers(1, 14))
def test_it_is_the_reference_for_any_shape_mask_window_and_tile(problem, causal, window, tile):
    inputs, mask = pose(**problem)
    window = window if causal else None
    whole = mask
    if window is not None:
        seen = windowed(problem["T"], problem["S"], window)
        bias = torch.zeros(seen.shape).double().masked_fill(~seen, -math.inf)
        whole = bias if mask is None else mask & seen if mask.dtype == torch.bool else mask + bias
    assert_same(
        lambda *x: tiled_attention(*x, mask, causal, window, tile),
        lambda *x: scaled_dot_product_attention(*x, whole, is_causal=causal)[0],
        inputs,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_as_close_as_the_dtype_allows(dtype):
    inputs = draw((2,), 40, 50, (8, 4), dtype)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    mask = pose((2,), 40, 50, (8, 4), "padding", True)[1]  # in float64: the output keeps its dtype
    results = run(lambda *x: tiled_attention(*x, mask, tile=16), inputs)
    wanted = run(lambda *x: scaled_dot_product_attention(*x, mask)[0], exact)
    for got, reference in zip(results, wanted, strict=True):
        assert got.dtype == dtype
        assert (got - reference).abs().max() < 8 * torch.finfo(dtype).eps * reference.abs().max()


def test_scores_that_would_overflow_do_not():
    q = torch.tensor([[300.0], [-300.0]])
    k, v = torch.tensor([[-1.0], [1.0], [0.5]]), torch.tensor([[1.0], [2.0], [3.0]])
    got = tiled_attention(q, k, v, tile=1)
    torch.testing.assert_close(got, torch.tensor([[2.0], [1.0]]))
    later = tiled_attention(q, k, v, torch.tensor([-1e30, -1e30, -2e30]), tile=1)
    assert later.isfinite().all()


def test_leading_dimensions_broadcast_as_in_the_reference():
    shapes = [(2, 4, 5, 3), (2, 1, 6, 3), (6, 2)]
    inputs = [torch.randn(shape).double().requires_grad_() for shape in shapes]
    assert_same(
        lambda *x: tiled_attention(*x, tile=4),
        lambda *x: scaled_dot_product_attention(*x)[0],
        inputs,
    )


def test_tiles_that_nobody_sees_are_skipped():
    x, n = torch.randn(3, 64, 4), 8  # tiles

    def count(**how):
        """From the operations of two products, each of (tile, D) by (D, tile) or back."""
        with FlopCounterMode(display=False) as counter:
            tiled_attention(x, x, x, tile=64 // n, **how)
        return counter.get_total_flops() / (2 * 2 * 3 * 4 * (64 / n) ** 2)

    assert count() == n * n
    assert count(is_causal=True) == n * (n + 1) / 2
    for window, most in [(1, 1), (2, 2), (9, 2), (10, 3), (17, 3), (18, 4)]:
        seen = count(is_causal=True, window=window)
        assert seen == sum(min(most, i + 1) for i in range(n))  # linear in T: n tiles, `most` each


def test_memory_is_linear_in_the_length(largest):
    for T in (300, 1024):
        inputs = [torch.randn(1, 1, T, 16).requires_grad_() for _ in range(3)]
        padding = torch.ones(1, 1, 1, T, dtype=torch.bool)
        kept = kept_bytes(lambda: tiled_attention(*inputs, padding, tile=64))  # noqa: B023
        # q, k, v, the output; a log-sum-exp for each query; of the mask a byte a key
        assert kept == 4 * (4 * T * 16 + T) + T
    with largest() as tiled:
        tiled_attention(*inputs, padding, is_causal=True, tile=64).sum().backward()
    assert tiled.bytes <= 4 * T * 16


def test_a_gradient_of_the_gradient_is_refused():
    x = torch.randn(2, 5, 4, requires_grad=True)
    (first,) = torch.autograd.grad((tiled_attention(x, x, x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()

"""Attention in tiles: the reference's output and gradient, in memory that is linear in the length.

The reference is ``utils.attention.scaled_dot_product_attention``, which stores every weight.
"""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import (
    causal_mask,
    merge_attention,
    partial_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from utils.measure import kept_bytes

few_examples = settings(max_examples=40)
MASKS = ["none", "padding", "padding, floats", "random", "random, floats", "keys of a head", "one"]
problems = st.fixed_dictionaries(
    {
        "batch": st.sampled_from([(), (1,), (2,), (2, 3)]),
        "queries": st.integers(1, 12),
        "keys": st.integers(1, 12),
        "width": st.integers(1, 5),
        "value_width": st.integers(1, 5),
        "kind": st.sampled_from(MASKS),
        "is_causal": st.booleans(),
        "tile": st.integers(1, 14),  # also larger than both lengths, or no divisor of them
        "seed": st.integers(0, 1000),
    }
)


def make_mask(kind, batch, T, S):
    """A mask that broadcasts to (*batch, T, S); some leave queries with nothing to attend to."""
    ones = (1,) * max(0, len(batch) - 1)
    shape = {
        "padding": (*batch[:1], *ones, 1, S),
        "random": (*batch, T, S),
        "keys of a head": (*batch[-1:], T, 1),
        "one": (S,),
    }
    if kind == "none":
        return None
    allowed = torch.rand(shape[kind.split(",")[0]]) < 0.6
    if "floats" not in kind:
        return allowed
    bias = torch.randn(allowed.shape, dtype=torch.float64)
    return bias.masked_fill(~allowed, -math.inf)


def draw(batch, T, S, width, value_width, dtype=torch.float64):
    shapes = [(*batch, T, width), (*batch, S, width), (*batch, S, value_width)]
    return [(2 * torch.randn(shape, dtype=dtype)).requires_grad_() for shape in shapes]


def windowed(T, S, window):
    """True where query t may see key s: 0 <= t - s < window."""
    back = torch.arange(T).unsqueeze(1) - torch.arange(S)
    return (back >= 0) & (back < window)


def run(function, inputs):
    """The output, and the gradient of something that weighs all outputs differently."""
    output = function(*inputs)
    factor = torch.randn(output.shape, generator=torch.Generator().manual_seed(1)).to(output.dtype)
    return output.detach(), *torch.autograd.grad((output * factor).sum(), inputs)


def assert_same(function, expected, inputs, **how):
    for got, wanted in zip(run(function, inputs), run(expected, inputs), strict=True):
        torch.testing.assert_close(got, wanted, **how)


@few_examples
@given(problems)
def test_it_is_the_reference_for_any_shape_mask_and_tile(problem):
    torch.manual_seed(problem["seed"])
    batch, T, S = problem["batch"], problem["queries"], problem["keys"]
    inputs = draw(batch, T, S, problem["width"], problem["value_width"])
    mask, causal = make_mask(problem["kind"], batch, T, S), problem["is_causal"]
    assert_same(
        lambda *x: tiled_attention(*x, mask, is_causal=causal, tile=problem["tile"]),
        lambda *x: scaled_dot_product_attention(*x, mask, is_causal=causal)[0],
        inputs,
        atol=1e-10,
        rtol=1e-8,
    )


@few_examples
@given(problems, st.integers(1, 14))
def test_a_window_is_the_reference_with_its_mask(problem, window):
    torch.manual_seed(problem["seed"])
    batch, T, S = problem["batch"], problem["queries"], problem["keys"]
    inputs = draw(batch, T, S, problem["width"], problem["value_width"])
    mask = make_mask(problem["kind"].split(",")[0], batch, T, S)  # of booleans
    whole = windowed(T, S, window) & (torch.tensor(True) if mask is None else mask)
    assert_same(
        lambda *x: tiled_attention(*x, mask, True, window, problem["tile"]),
        lambda *x: scaled_dot_product_attention(*x, whole)[0],
        inputs,
        atol=1e-10,
        rtol=1e-8,
    )


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"is_causal": True, "window": 3}])
@pytest.mark.parametrize("kind", ["none", "padding", "random, floats"])
def test_the_gradient_is_that_of_the_output(options, kind):
    torch.manual_seed(0)
    inputs, mask = draw((2, 2), 7, 6, 3, 2), make_mask(kind, (2, 2), 7, 6)
    assert torch.autograd.gradcheck(lambda *x: tiled_attention(*x, mask, **options, tile=3), inputs)


@pytest.mark.parametrize("T", [100, 256, 300, 777])
@pytest.mark.parametrize("is_causal", [False, True])
def test_in_float32_it_is_exact_to_1e_5(T, is_causal):
    torch.manual_seed(T)
    inputs = [torch.randn(2, 2, T, 64).requires_grad_() for _ in range(3)]
    assert_same(
        lambda *x: tiled_attention(*x, is_causal=is_causal),
        lambda *x: scaled_dot_product_attention(*x, is_causal=is_causal)[0],
        inputs,
        atol=1e-5,
        rtol=1e-5,
    )
    assert_same(
        lambda *x: tiled_attention(*x, is_causal=is_causal, tile=64),
        lambda *x: F.scaled_dot_product_attention(*x, is_causal=is_causal),
        inputs,
        atol=1e-5,
        rtol=1e-5,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_as_close_as_the_dtype_allows(dtype):
    torch.manual_seed(0)
    inputs = draw((2,), 40, 50, 8, 4, dtype)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    mask = make_mask("padding, floats", (2,), 40, 50)  # in float64: the output keeps its dtype
    results = run(lambda *x: tiled_attention(*x, mask, tile=16), inputs)
    wanted = run(lambda *x: scaled_dot_product_attention(*x, mask)[0], exact)
    for got, reference in zip(results, wanted, strict=True):
        assert got.dtype == dtype
        assert (got - reference).abs().max() < 8 * torch.finfo(dtype).eps * reference.abs().max()


@pytest.mark.parametrize("kind", ["bool", "floats"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_nothing_to_attend_to_gives_zeros_forward_and_backward(kind, dtype):
    inputs = draw((2,), 6, 5, 3, 2, dtype)
    mask = torch.ones(2, 6, 5, dtype=torch.bool)
    mask[0, 1], mask[1] = False, False  # one query of the first sequence, all of the second
    given = mask if kind == "bool" else torch.zeros(2, 6, 5).masked_fill(~mask, -math.inf)
    output, *gradients = run(lambda *x: tiled_attention(*x, given, tile=2), inputs)
    assert (output[0, 1] == 0).all()
    assert (output[0, 0] != 0).any()
    assert (gradients[0][0, 1] == 0).all()
    assert all((x[1] == 0).all() for x in (output, *gradients))
    assert all(x.isfinite().all() for x in (output, *gradients))


def test_scores_that_would_overflow_do_not():
    q = torch.tensor([[300.0], [-300.0]])
    k, v = torch.tensor([[-1.0], [1.0], [0.5]]), torch.tensor([[1.0], [2.0], [3.0]])
    got = tiled_attention(q, k, v, tile=1)
    torch.testing.assert_close(got, torch.tensor([[2.0], [1.0]]))
    later = tiled_attention(q, k, v, torch.tensor([-1e30, -1e30, -2e30]), tile=1)
    assert later.isfinite().all()


def test_leading_dimensions_broadcast_as_in_the_reference():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 4, 5, 3), torch.randn(2, 1, 6, 3), torch.randn(6, 2)
    inputs = [x.double().requires_grad_() for x in (q, k, v)]
    assert_same(
        lambda *x: tiled_attention(*x, tile=4),
        lambda *x: scaled_dot_product_attention(*x)[0],
        inputs,
    )


def count_tiles(q, k, v, tile, **how):
    """From the operations of its two products, each of (tile, D) by (D, tile) or back."""
    with FlopCounterMode(display=False) as counter:
        tiled_attention(q, k, v, tile=tile, **how)
    return counter.get_total_flops() / (2 * 2 * q.numel() / q.shape[-2] * tile**2)


def test_tiles_that_nobody_sees_are_skipped():
    x = torch.randn(3, 64, 4)
    n = 8
    assert count_tiles(x, x, x, tile=8) == n * n
    assert count_tiles(x, x, x, is_causal=True, tile=8) == n * (n + 1) / 2
    own = count_tiles(x, x, x, is_causal=True, window=1, tile=8)
    assert own == n
    for window, most in [(2, 2), (8, 2), (9, 2), (10, 3), (17, 3), (18, 4)]:
        at_64 = count_tiles(x, x, x, is_causal=True, window=window, tile=8)
        assert at_64 == sum(min(most, i + 1) for i in range(n))  # linear in T: n tiles, `most` each


def test_kept_memory_is_linear_in_the_length():
    def kept(T, mask=None):
        q, k, v = (torch.randn(1, 1, T, 16).requires_grad_() for _ in range(3))
        return kept_bytes(lambda: tiled_attention(q, k, v, mask, tile=64))

    for T in (64, 300, 2048):
        numbers = 4 * T * 16 + T  # q, k, v, the output; a log-sum-exp for each query
        assert kept(T) == 4 * numbers
        padding = torch.ones(1, 1, 1, T, dtype=torch.bool)
        assert kept(T, padding) == 4 * numbers + T  # a byte a key, not T x T


@pytest.fixture
def largest(monkeypatch):
    """The class that notes the largest piece of memory; processes of other tests import it too."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from largest import Largest

    return Largest


def test_nothing_as_large_as_the_matrix_is_made_forward_or_backward(largest):
    T = 1024
    q, k, v = (torch.randn(1, 1, T, 16).requires_grad_() for _ in range(3))
    padding = torch.ones(1, 1, 1, T, dtype=torch.bool)
    with largest() as tiled:
        tiled_attention(q, k, v, padding, is_causal=True, tile=64).sum().backward()
    with largest() as whole:
        scaled_dot_product_attention(q, k, v, padding, is_causal=True)[0].sum().backward()
    assert tiled.bytes <= 4 * T * 16 < 4 * T * T <= whole.bytes


def test_what_does_not_fit_is_refused():
    x = torch.randn(2, 5, 4)
    for wrong in [(x, x, x[:, :4]), (x, x[..., :3], x), (x[0, 0], x, x)]:
        with pytest.raises(ValueError, match="do not fit"):
            tiled_attention(*wrong)
    for mask in (torch.ones(4, 5) > 0, torch.ones(7, 2, 5, 5) > 0):
        with pytest.raises(ValueError, match="attn_mask has shape"):
            tiled_attention(x, x, x, mask)
    with pytest.raises(TypeError, match="attn_mask has dtype"):
        tiled_attention(x, x, x, torch.ones(5, 5, dtype=torch.int64))
    with pytest.raises(ValueError, match="wants a gradient"):
        tiled_attention(x, x, x, torch.zeros(5, 5, requires_grad=True))
    for how in [{"window": 2}, {"window": 0, "is_causal": True}, {"tile": 0}]:
        with pytest.raises(ValueError, match="at least 1"):
            tiled_attention(x, x, x, **how)


def test_a_mask_enters_in_the_convention_of_this_package():
    x = torch.randn(1, 4, 3)
    allowed = torch.tensor([True, False, False, False])
    got = tiled_attention(x, x, x, allowed, tile=2)
    torch.testing.assert_close(got, x[:, :1].expand_as(x))  # all see key 0, and nothing else


def test_the_gradient_has_no_gradient():
    x = torch.randn(4, 3, requires_grad=True)
    (first,) = torch.autograd.grad((tiled_attention(x, x, x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize("function", [tiled_attention, scaled_dot_product_attention])
@pytest.mark.parametrize(
    "dtypes",
    [
        (torch.int64, torch.int64, torch.int64),
        (torch.float32, torch.float64, torch.float32),
        (torch.float32, torch.float32, torch.bfloat16),
    ],
)
def test_whole_numbers_and_different_dtypes_are_refused(function, dtypes):
    with pytest.raises(TypeError, match="one floating dtype"):
        function(*(torch.ones(4, 6).to(dtype) for dtype in dtypes))


def test_where_autocast_converts_dtypes_may_differ():
    q, k, v = (torch.randn(4, 6) for _ in range(3))
    expected = scaled_dot_product_attention(q, k, v)[0]
    with torch.autocast("cpu", torch.bfloat16):
        for function in (tiled_attention, lambda *x: scaled_dot_product_attention(*x)[0]):
            found = function(q.bfloat16(), k, v).float()
            torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)


def in_parts(q, k, v, allowed, sizes, order=None):
    """Attention over parts of the keys, each of which knows nothing of the others, merged."""
    parts = list(zip(k.split(sizes, -2), v.split(sizes, -2), allowed.split(sizes, -1), strict=True))
    return merge_attention([partial_attention(q, *parts[i]) for i in order or range(len(parts))])


@few_examples
@given(problems, st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_merged_parts_are_the_whole_in_output_log_sum_and_gradient(problem, sizes):
    torch.manual_seed(problem["seed"])
    batch, T, S = problem["batch"], problem["queries"], sum(sizes)
    inputs = draw(batch, T, S, problem["width"], problem["value_width"])
    allowed = torch.rand(T, S) < 0.5  # some queries see nothing in a part, some nothing at all
    assert_same(
        lambda *x: in_parts(*x, allowed, sizes)[0],
        lambda *x: scaled_dot_product_attention(*x, allowed)[0],
        inputs,
        atol=1e-10,
        rtol=1e-8,
    )
    q, k, v = inputs
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~allowed, -math.inf)
    wanted = scores.logsumexp(dim=-1, keepdim=True)
    for order in (None, list(range(len(sizes)))[::-1]):
        torch.testing.assert_close(in_parts(q, k, v, allowed, sizes, order)[1], wanted)


def test_a_merge_can_be_merged():
    torch.manual_seed(0)
    q, k, v = draw((2,), 4, 9, 3, 2)
    parts = [partial_attention(q, *kv) for kv in zip(k.split(3, -2), v.split(3, -2), strict=True)]
    in_turns = merge_attention([merge_attention(parts[:2]), parts[2]])
    for got, wanted in zip(in_turns, partial_attention(q, k, v), strict=True):
        torch.testing.assert_close(got, wanted)


def test_the_log_sum_is_differentiable_and_large_ones_do_not_overflow():
    q, k, v = draw((), 3, 6, 4, 2)
    allowed = causal_mask(3, 6, start=-1)  # the first query sees nothing
    assert torch.autograd.gradcheck(
        lambda *x: tuple(y[1:] for y in in_parts(*x, allowed, [2, 4])), (q, k, v)
    )
    output, log_sum = merge_attention(
        [(torch.ones(1, 2), torch.full((1, 1), 1000.0)), (torch.zeros(1, 2), torch.zeros(1, 1))]
    )
    torch.testing.assert_close(output, torch.ones(1, 2))
    assert log_sum.item() == 1000.0


def test_parts_in_half_precision_are_computed_in_float32():
    q, k, v = (x.half() for x in draw((), 3, 6, 4, 2))
    output, log_sum = partial_attention(q, k, v)
    assert output.dtype == log_sum.dtype == torch.float32


def test_parts_that_do_not_fit_are_refused():
    x = torch.randn(2, 5, 4)
    with pytest.raises(ValueError, match="do not fit"):
        partial_attention(x, x[..., :3], x)
    with pytest.raises(ValueError, match="attn_mask has shape"):
        partial_attention(x, x, x, torch.ones(4, 5) > 0)
    with pytest.raises(ValueError, match="at least one part"):
        merge_attention([])
    with pytest.raises(ValueError, match="one number for each query"):
        merge_attention([(torch.ones(3, 2), torch.ones(3))])

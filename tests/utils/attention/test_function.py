"""The definition of attention, and the masks: PyTorch's function, empty rows, what is refused."""

import pytest
import torch
import torch.nn.functional as F

from utils.attention import (
    causal_mask,
    combine_masks,
    masked_softmax,
    scaled_dot_product_attention,
    to_additive,
)
from utils.tiled import tiled_attention

INF = float("inf")


@pytest.mark.parametrize("value_width", [6, 3])
def test_the_function_equals_pytorchs_forward_and_backward(value_width):
    shapes = [(2, 3, 4, 6), (2, 3, 5, 6), (2, 3, 5, value_width)]
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    allowed, floats = torch.rand(2, 1, 4, 5) < 0.6, torch.randn(4, 5, dtype=torch.float64)
    allowed[..., 0] = True
    masks = [{"attn_mask": mask} for mask in (allowed, allowed[0, 0, :1], floats)]
    for call in ({}, {"is_causal": True}, {"scale": 0.3}, *masks):
        output, weights = scaled_dot_product_attention(*tensors, **call)
        expected = F.scaled_dot_product_attention(*tensors, **call)
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(weights @ tensors[2], expected)
        gradients = [torch.autograd.grad(y.sin().sum(), tensors) for y in (output, expected)]
        torch.testing.assert_close(*gradients)


def test_where_autocast_converts_dtypes_may_differ():
    q, k, v = (torch.randn(4, 6) for _ in range(3))
    expected = scaled_dot_product_attention(q, k, v)[0]
    with torch.autocast("cpu", torch.bfloat16):
        for function in (tiled_attention, lambda *x: scaled_dot_product_attention(*x)[0]):
            found = function(q.bfloat16(), k, v).float()
            torch.testing.assert_close(found, expected, atol=0.05, rtol=0.05)


# Masks.


def test_causal_mask_allows_the_keys_up_to_the_query():
    assert causal_mask(2, 3).tolist() == [[True, False, False], [True, True, False]]
    assert causal_mask(3, 2).int().tolist() == [[1, 0], [1, 1], [1, 1]]
    assert torch.equal(causal_mask(2, 5, start=3), causal_mask(5, 5)[3:])


def test_masks_become_numbers_to_add():
    booleans, floats = torch.tensor([True, False]), torch.tensor([0.0, -INF, 2.0])
    added = to_additive(booleans, torch.float16)
    assert (added.dtype, added.tolist()) == (torch.float16, [0.0, -INF])
    assert to_additive(floats, torch.float64).tolist() == floats.tolist()
    assert to_additive(floats, torch.float64).dtype == torch.float64


def test_masks_combine_to_what_both_allow():
    first, second = torch.tensor([True, True, False, False]), torch.tensor([True, False] * 2)
    assert combine_masks(first, None) is combine_masks(None, first) is first
    assert combine_masks(None, None) is None
    assert combine_masks(first, second).tolist() == [True, False, False, False]
    floats = torch.tensor([0.5, -INF, 0.5, 1e-9], dtype=torch.float64)
    for combined in (combine_masks(first, floats), combine_masks(floats, first)):
        assert combined.dtype == torch.float64
        assert combined.tolist() == [0.5, -INF, -INF, -INF]
    half = torch.ones(4, dtype=torch.float16)
    assert combine_masks(half, floats)[3].item() == 1 + 1e-9
    assert combine_masks(half, half.bfloat16()).dtype == torch.float32


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_a_masked_softmax_is_that_of_the_allowed_keys_and_leaves_the_scores(kind):
    allowed = torch.tensor([[True, False, True], [True, True, True], [False, False, False]])
    mask = {"none": None, "bool": allowed, "float": to_additive(allowed, torch.float32)}[kind]
    scores = torch.linspace(-1, 1, 18).view(2, 3, 3)
    before = scores.clone()
    weights = masked_softmax(scores, mask)
    assert torch.equal(scores, before)
    expected = scores + (0 if mask is None else to_additive(allowed, torch.float32))
    torch.testing.assert_close(weights, expected.softmax(-1).nan_to_num(0.0))


def test_a_float_mask_that_overflows_in_the_scores_dtype_blocks():
    lowest = torch.finfo(torch.float32).min  # finite, but -inf in half precision
    scores = torch.zeros(1, 3, dtype=torch.float16)
    assert not masked_softmax(scores, torch.full((1, 3), lowest)).any()

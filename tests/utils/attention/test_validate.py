"""What cannot be meant is refused, and what can is let through."""

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.nn.attention.bias import causal_lower_right

from utils.attention import check_broadcast, check_dtypes, check_mask, check_whole, is_plain

INF = float("inf")
SIZES = (2, 3, 4, 5)  # B, H, T, S


@pytest.mark.parametrize("size", [1.5, True, "3", None])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match="whole number"):
        check_whole("width", size)
    check_whole("width", np.int32(3))


def test_dtypes_are_floating_and_one_unless_autocast_converts_them():
    single, double = torch.ones(1), torch.ones(1, dtype=torch.float64)
    check_dtypes(single, single, single)
    for wrong in [(single, single, double), 3 * (single.long(),)]:
        with pytest.raises(TypeError, match="dtype"):
            check_dtypes(*wrong)
    with torch.autocast("cpu"):
        check_dtypes(single, single, double)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_a_mask_of_integers_is_refused_with_the_way_out(dtype):
    with pytest.raises(TypeError, match="key_padding_mask == 0"):
        check_mask("key_padding_mask", torch.ones(2, dtype=dtype), "blocked")
    with pytest.raises(TypeError, match="attn_mask == 1"):
        check_mask("attn_mask", torch.ones(2, dtype=dtype), "allowed")
    check_mask("attn_mask", torch.ones(2, dtype=torch.bool), "allowed")
    check_mask("attn_mask", torch.ones(2, dtype=torch.bfloat16), "allowed")


def test_nan_in_a_mask_of_floats_is_named_with_its_usual_cause():
    wrong = torch.tensor([0.0, 1.0]) * -INF
    with pytest.raises(ValueError, match="NaN"):
        check_mask("attn_mask", wrong, "allowed")
    check_mask("attn_mask", torch.tensor([0.0, -INF]), "allowed")


def test_pytorchs_causal_bias_holds_no_numbers_and_is_refused():
    with pytest.raises(TypeError, match="is_causal=True"):
        check_mask("attn_mask", causal_lower_right(3, 5), "allowed")


def test_a_tensor_is_plain_unless_something_else_than_its_numbers_counts():
    x, seen = torch.ones(2, 3), []
    assert is_plain(x)
    assert is_plain(x.clone().requires_grad_())
    assert not is_plain(x.to("meta"))
    torch.vmap(lambda row: seen.append(is_plain(row)) or row)(x)
    torch.func.grad(lambda x: seen.append(is_plain(x)) or x.sum())(x)
    torch.func.jvp(lambda x: seen.append(is_plain(x)) or x, (x,), (x,))
    with forward_ad.dual_level():
        seen.append(is_plain(forward_ad.make_dual(x, x)))
        assert is_plain(x)
    assert seen == [False] * 4


@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (5,), (2, 1, 1, 5), (2, 3, 4, 5), ()])
def test_a_mask_that_broadcasts_is_let_through(shape):
    check_broadcast(torch.ones(shape, dtype=torch.bool), SIZES)


@pytest.mark.parametrize("shape", [(5, 4), (2, 5), (3, 4, 1, 5), (1, 2, 3, 4, 5)])
def test_a_mask_that_does_not_broadcast_is_refused(shape):
    with pytest.raises(ValueError, match="not broadcast"):
        check_broadcast(torch.ones(shape), SIZES)
    with pytest.raises(ValueError, match="not broadcast"):
        check_broadcast(torch.ones(2, 2), (1, 1))  # it would enlarge the scores

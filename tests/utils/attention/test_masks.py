"""One convention inside, two outside: masks turn, combine and normalise as they say."""

import pytest
import torch

from utils.attention import (
    blocked_to_allowed,
    causal_mask,
    combine_masks,
    masked_softmax,
    merge_layer_masks,
    to_additive,
    valid_length_mask,
)

INF = float("inf")
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
SIZES = (2, 3, 4, 5)  # B, H, T, S


def test_valid_lengths_allow_that_many_keys():
    expected = torch.tensor([[1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=torch.bool)
    assert torch.equal(valid_length_mask(torch.tensor([2, 0, 3]), 3), expected)


def test_a_valid_length_for_each_query_may_give_the_causal_mask():
    lengths = torch.arange(1, 5).expand(2, 4)  # (B, T)
    assert torch.equal(valid_length_mask(lengths, 4), causal_mask(4, 4).expand(2, 4, 4))


@pytest.mark.parametrize("lengths", [[2, 4], [-1, 2]])
def test_a_length_that_no_sequence_can_have_is_refused(lengths):
    with pytest.raises(ValueError, match="lengths go from"):
        valid_length_mask(torch.tensor(lengths), 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_lengths_that_do_not_count_are_refused(dtype):
    with pytest.raises(TypeError, match="whole numbers"):
        valid_length_mask(torch.ones(2).to(dtype), 3)
    with pytest.raises(TypeError, match="whole numbers"):
        valid_length_mask(torch.tensor([torch.nan, 1.0]), 3)


def test_causal_mask_allows_the_keys_up_to_the_query():
    expected = torch.tensor([[1, 0, 0], [1, 1, 0]], dtype=torch.bool)
    assert torch.equal(causal_mask(2, 3), expected)
    assert torch.equal(causal_mask(3, 2), torch.tensor([[1, 0], [1, 1], [1, 1]]).bool())


def test_blocked_to_allowed_turns_booleans_and_leaves_floats():
    assert torch.equal(blocked_to_allowed(torch.tensor([True, False])), torch.tensor([False, True]))
    floats = torch.tensor([0.0, -INF, 2.0])
    assert blocked_to_allowed(floats) is floats


def test_to_additive_writes_zero_and_minus_infinity():
    mask = to_additive(torch.tensor([True, False]), torch.float16)
    assert mask.dtype == torch.float16
    assert mask.tolist() == [0.0, -INF]
    assert to_additive(torch.tensor([1.5]), torch.float64).dtype == torch.float64
    assert to_additive(torch.tensor([1.5]), torch.float64).item() == 1.5


def test_combining_with_none_gives_the_other_mask():
    mask = causal_mask(2, 2)
    assert combine_masks(mask, None) is mask
    assert combine_masks(None, mask) is mask
    assert combine_masks(None, None) is None


def test_two_boolean_masks_allow_what_both_allow():
    first = torch.tensor([True, True, False, False])
    second = torch.tensor([True, False, True, False])
    assert combine_masks(first, second).tolist() == [True, False, False, False]


def test_a_boolean_and_a_float_mask_add_up_in_either_order():
    allowed = torch.tensor([True, False, True])
    added = torch.tensor([0.5, 0.5, -INF], dtype=torch.float64)
    for combined in (combine_masks(allowed, added), combine_masks(added, allowed)):
        assert combined.dtype == torch.float64
        assert combined.tolist() == [0.5, -INF, -INF]


def test_two_float_dtypes_combine_in_the_wider_one():
    low, high = torch.tensor([1.0], dtype=torch.float16), torch.tensor([1e-9], dtype=torch.float64)
    combined = combine_masks(low, high)
    assert combined.dtype == torch.float64
    assert combined.item() == 1.0 + 1e-9
    mixed = combine_masks(low.to(torch.bfloat16), low)
    assert mixed.dtype == torch.float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masked_softmax_gives_rows_of_one_and_an_empty_row_of_zeros(dtype, kind):
    scores = torch.tensor([[0.0, 0.0, 9.0], [5.0, 1.0, 2.0]], dtype=dtype, requires_grad=True)
    allowed = torch.tensor([[True, True, False], [False, False, False]])
    mask = allowed if kind == "bool" else to_additive(allowed, dtype)
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype
    assert weights.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    (weights * torch.arange(3)).sum().backward()
    assert scores.grad.isfinite().all()
    assert scores.grad[0, 0] != 0
    assert not scores.grad[1].any()


def test_masked_softmax_adds_a_float_mask_to_the_scores():
    scores, mask = torch.randn(2, 4, 5), torch.randn(4, 5)
    torch.testing.assert_close(masked_softmax(scores, mask), (scores + mask).softmax(-1))
    torch.testing.assert_close(masked_softmax(scores, None), scores.softmax(-1))


def test_a_float_mask_that_overflows_to_minus_infinity_in_the_scores_dtype_blocks():
    lowest = torch.finfo(torch.float32).min  # finite, but -inf in half precision
    scores = torch.zeros(1, 3, dtype=torch.float16)
    weights = masked_softmax(scores, torch.full((1, 3), lowest))
    assert not weights.isnan().any()


def test_merging_nothing_gives_nothing():
    assert merge_layer_masks(None, None, False, SIZES, torch.zeros(1)) is None


def test_merged_booleans_are_allowed_where_no_mask_blocks():
    B, H, T, S = SIZES
    padding = torch.rand(B, S) < 0.3
    blocked = torch.rand(B * H, T, S) < 0.3
    merged = merge_layer_masks(padding, blocked, True, SIZES, torch.zeros(1))
    assert merged.shape == (B, H, T, S)
    for b in range(B):
        for h in range(H):
            expected = ~padding[b] & ~blocked[b * H + h] & torch.ones(T, S).tril().bool()
            assert torch.equal(merged[b, h], expected)


def test_a_merged_mask_of_floats_has_the_inputs_dtype():
    padding = torch.zeros(2, 5, dtype=torch.float64)
    merged = merge_layer_masks(padding, None, True, SIZES, torch.zeros(1, dtype=torch.bfloat16))
    assert merged.dtype == torch.bfloat16
    assert torch.equal(merged[0, 0] == 0, causal_mask(4, 5))


@pytest.mark.parametrize("shape", [(5, 2), (2, 4), (1, 5), (2, 1, 5)])
def test_a_key_padding_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="key_padding_mask has shape"):
        merge_layer_masks(torch.zeros(shape).bool(), None, False, SIZES, torch.zeros(1))


@pytest.mark.parametrize(
    "shape", [(5, 4), (2, 4, 5), (3, 4, 5), (1, 5), (2, 2, 4, 5), (3, 1, 4, 5)]
)
def test_an_attn_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="attn_mask has shape"):
        merge_layer_masks(None, torch.zeros(shape).bool(), False, SIZES, torch.zeros(1))


@pytest.mark.parametrize("shape", [(1, 1, 4, 5), (2, 1, 1, 5), (1, 3, 4, 1), (2, 3, 4, 5)])
def test_an_attn_mask_of_four_dimensions_broadcasts(shape):
    blocked = torch.rand(shape) < 0.5
    merged = merge_layer_masks(None, blocked, False, SIZES, torch.zeros(1))
    assert torch.equal(merged.expand(SIZES), ~blocked.expand(SIZES))


def test_without_a_batch_the_padding_has_none_either():
    sizes, padding = (1, 3, 4, 5), torch.tensor([False, True, False, False, True])
    merged = merge_layer_masks(padding, None, False, sizes, torch.zeros(1), has_batch=False)
    assert torch.equal(merged.view(5), ~padding)
    with pytest.raises(ValueError, match=r"expected \(5,\)"):
        merge_layer_masks(padding[None], None, False, sizes, torch.zeros(1), has_batch=False)


def test_an_integer_mask_of_a_layer_is_refused_by_name():
    with pytest.raises(TypeError, match="key_padding_mask has dtype"):
        merge_layer_masks(torch.zeros(2, 5).long(), None, False, SIZES, torch.zeros(1))


def test_a_causal_mask_that_starts_later_is_the_last_rows_of_the_whole():
    assert torch.equal(causal_mask(2, 5, start=3), causal_mask(5, 5)[3:])


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_overwritten_scores_give_the_same_weights_and_gradients(kind, requires_grad):
    allowed = torch.tensor([[True, False, True], [True, True, True], [False, False, False]])
    mask = {"none": None, "bool": allowed, "float": to_additive(allowed, torch.float32)}[kind]
    results = []
    for overwrite in (True, False):
        leaf = torch.linspace(-1, 1, 18).view(2, 3, 3).requires_grad_(requires_grad)
        weights = masked_softmax(leaf * 2, mask, overwrite=overwrite)
        found = [weights.detach()]
        if requires_grad:
            found.append(torch.autograd.grad(weights.sin().sum(), leaf)[0])
        results.append(found)
    for got, expected in zip(*results, strict=True):
        assert torch.equal(got, expected)


def test_scores_are_left_alone_unless_they_may_be_overwritten():
    scores = torch.randn(2, 3, 3)
    before = scores.clone()
    masked_softmax(scores, causal_mask(3, 3), empty_rows=False)
    assert torch.equal(scores, before)
    assert masked_softmax(scores, None, overwrite=True).data_ptr() == scores.data_ptr()

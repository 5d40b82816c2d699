"""Heads that are watched inside a model, which stays as it was."""

import pytest
import torch

from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.minilm import TextEncoder
from utils.models import recorded_weights
from utils.naive import NaiveMultiHeadAttention

B, T, D, H = 3, 4, 12, 4
BOTH = pytest.mark.parametrize("kind", [NaiveMultiHeadAttention, FastMultiHeadAttention])


@BOTH
@pytest.mark.parametrize("queries", [1, T])  # one query: the absorbed way, if few enough
def test_recording_changes_nothing_and_records_the_weights(kind, queries):
    layer = kind(D, 2)
    query, key = torch.randn(B, queries, D), torch.randn(B, 50, D)
    masks = {"key_padding_mask": torch.rand(B, 50) < 0.3, "attn_mask": torch.randn(queries, 50)}
    for asked, average in ((True, True), (True, False), (False, True)):
        options = {"need_weights": asked, "average_attn_weights": average, **masks}
        plain = layer(query, key, key, **options)
        _, expected = layer(query, key, key, average_attn_weights=False, **masks)
        with recorded_weights(layer) as records:
            again = layer(query, key, key, **options)
            layer(query, key, key, masks["key_padding_mask"], asked, masks["attn_mask"], average)
        torch.testing.assert_close(again, plain)
        torch.testing.assert_close(records, [[expected.detach()] * 2])
        assert not records[0][0].requires_grad


@pytest.mark.parametrize("asked", [True, False])
def test_hooks_of_others_see_what_the_caller_asked_for(asked):
    layer, x, seen = MultiHeadAttention(D, H), torch.randn(B, T, D), []
    layer.register_forward_hook(lambda module, args, result: seen.append(result))
    plain = layer(x, x, x, need_weights=asked)
    with recorded_weights(layer):
        layer(x, x, x, need_weights=asked)
    torch.testing.assert_close(seen, [plain, plain])


def test_a_call_that_fails_disturbs_no_later_one_with_or_without_a_batch():
    layer, x = MultiHeadAttention(D, H), torch.randn(T, D)
    with recorded_weights(layer) as (record,):
        with pytest.raises(ValueError, match="query"):
            layer(x[..., 1:], x, x, need_weights=False)
        _, weights = layer(x, x, x)
    assert [tuple(w.shape) for w in record] == [(1, H, T, T)]
    torch.testing.assert_close(weights, record[0][0].mean(dim=0))


def test_each_layer_is_recorded_and_nothing_stays_behind_also_after_an_error():
    model, ids = TextEncoder(20, D, H, 16, 2).eval(), torch.randint(20, (B, T))
    expected = model(ids)
    with pytest.raises(ArithmeticError), recorded_weights(model) as records:  # noqa: PT012
        model(ids)
        raise ArithmeticError
    assert torch.equal(model(ids), expected)
    assert [len(calls) for calls in records] == [1, 1]
    assert not torch.equal(records[0][0], records[1][0])

"""Heads that are scaled, changed and watched inside a model, which stays as it was."""

import copy

import pytest
import torch
from torch import nn

from utils.attention import FastMultiHeadAttention, MultiHeadAttention, NaiveMultiHeadAttention
from utils.heads import (
    attention_layers,
    averaged_heads,
    changed_heads,
    document_losses,
    recorded_weights,
    scaled_heads,
)

B, T, D, H = 3, 4, 12, 4
CLASSES = {
    "loop": NaiveMultiHeadAttention,
    "reshape": MultiHeadAttention,
    "fast": FastMultiHeadAttention,
}


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_a_scale_multiplies_the_columns_of_the_last_projection(kind, two_layers, batches):
    model, scale = two_layers(kind=kind), torch.rand(2, H, dtype=torch.double)
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        for layer, factors in zip(by_hand.layers, scale, strict=True):
            layer.out_proj.weight *= factors.repeat_interleave(D // H)
    (ids, _), *_ = batches()
    with scaled_heads(model, scale):
        torch.testing.assert_close(model(ids), by_hand(ids))
    assert not torch.allclose(model(ids), by_hand(ids))


def test_each_document_can_have_a_scale_of_its_own(two_layers, batches):
    model, scale = two_layers(), torch.rand(2, B, H, dtype=torch.double)
    (ids, _), *_ = batches()
    with scaled_heads(model, scale):
        together = model(ids)
    for b in range(B):
        with scaled_heads(model, scale[:, b]):
            torch.testing.assert_close(together[b], model(ids)[b])


def test_a_scale_reaches_a_layer_without_a_batch():
    layer, x = MultiHeadAttention(D, H), torch.randn(T, D)
    with scaled_heads(layer, torch.zeros(1, H)):
        output, _ = layer(x, x, x)
    torch.testing.assert_close(output, layer.out_proj.bias.expand(T, D))


def test_averaged_heads_give_all_tokens_their_mean(two_layers, batches):
    model, chosen = two_layers(), [(0, 1), (1, 0), (1, 3)]
    (ids, _), *_ = batches()
    given = []

    def mean(number, heads):  # by hand, (B, T, H, D_head)
        given.append(heads)
        rows = [
            heads[:, :, h].mean(dim=(0, 1)).expand_as(heads[:, :, h])
            if (number, h) in chosen
            else heads[:, :, h]
            for h in range(H)
        ]
        return torch.stack(rows, dim=2)

    with changed_heads(attention_layers(model), mean):
        expected = model(ids)
    with averaged_heads(model, iter(chosen)):
        torch.testing.assert_close(model(ids), expected)
    assert len(given) == 2
    assert not torch.allclose(model(ids), expected)


def test_heads_are_averaged_without_a_batch_too():
    layer, x = MultiHeadAttention(D, H), torch.randn(T, D)
    with averaged_heads(layer, [(0, 2)]):
        output, _ = layer(x, x, x)
        expected, _ = layer(x[None], x[None], x[None])
    torch.testing.assert_close(output, expected[0])


@pytest.mark.parametrize("place", [(2, 0), (0, H), (-1, 0)])
def test_a_head_that_is_not_there_cannot_be_averaged(place, two_layers):
    with (
        pytest.raises(ValueError, match="there is no head"),
        averaged_heads(two_layers(), [(0, 0), place]),
    ):
        pass


def test_gradients_reach_the_scale(two_layers, batches):
    model, scale = two_layers(), torch.ones(2, H, dtype=torch.double, requires_grad=True)
    batch = batches()[0]

    def loss(scale):
        with scaled_heads(model, scale):
            return document_losses(model, batch).sum()

    assert torch.autograd.gradcheck(loss, scale)


@pytest.mark.parametrize("shape", [(H,), (1, H), (2, H + 1), (2, 1, 1, H), (H, 2)])
def test_a_scale_of_another_shape_is_refused(shape, two_layers):
    model = two_layers()
    with (
        pytest.raises(ValueError, match=r"expected \(2, 4\)"),
        scaled_heads(model, torch.ones(shape)),
    ):
        pass


def test_models_without_layers_or_with_unequal_ones_are_refused():
    with pytest.raises(ValueError, match="needs layers"):
        attention_layers(nn.MultiheadAttention(D, H))
    with pytest.raises(ValueError, match="heads"):
        attention_layers(nn.ModuleList([MultiHeadAttention(D, 2), MultiHeadAttention(D, 3)]))


# -- recording -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("queries", [1, T])  # one query: the absorbed way, if few enough
def test_recording_changes_nothing_and_records_the_weights(kind, average, asked, queries):
    torch.manual_seed(0)
    layer = kind(D, 2)
    query, key = torch.randn(B, queries, D), torch.randn(B, 50, D)
    masks = {"key_padding_mask": torch.rand(B, 50) < 0.3, "attn_mask": torch.randn(queries, 50)}
    options = {"need_weights": asked, "average_attn_weights": average, **masks}
    output, weights = layer(query, key, key, **options)
    _, expected = layer(query, key, key, average_attn_weights=False, **masks)
    with recorded_weights(layer) as records:
        again, same = layer(query, key, key, **options)
        layer(query, key, key, masks["key_padding_mask"], asked, masks["attn_mask"], average)
    torch.testing.assert_close(again, output)
    if asked:
        torch.testing.assert_close(same, weights)
    else:
        assert same is None
    assert [len(calls) for calls in records] == [2]
    for recorded in records[0]:
        torch.testing.assert_close(recorded, expected)
        assert not recorded.requires_grad


def test_recording_within_a_recording(two_layers, batches):
    model = two_layers()
    (ids, _), *_ = batches()
    with recorded_weights(model) as outer:
        with recorded_weights(model) as inner:
            model(ids)
        model(ids)
    model(ids)
    assert [len(calls) for calls in inner] == [1, 1]
    assert [len(calls) for calls in outer] == [2, 2]
    torch.testing.assert_close(inner[1][0], outer[1][1])


@pytest.mark.parametrize("asked", [True, False])
def test_hooks_of_others_see_what_the_caller_asked_for(asked):
    layer, x, seen = MultiHeadAttention(D, H), torch.randn(B, T, D), []
    layer.register_forward_hook(lambda module, args, result: seen.append(result))
    plain = layer(x, x, x, need_weights=asked)
    with recorded_weights(layer):
        recorded = layer(x, x, x, need_weights=asked)
    torch.testing.assert_close(seen, [plain, recorded])
    torch.testing.assert_close(recorded, plain)


def test_a_call_that_fails_disturbs_no_later_one():
    layer, x = MultiHeadAttention(D, H), torch.randn(B, T, D)
    with recorded_weights(layer) as (record,):
        with pytest.raises(ValueError, match="query"):
            layer(x[..., 1:], x, x, need_weights=False)
        _, weights = layer(x, x, x)
    assert weights.shape == (B, T, T)
    assert [tuple(w.shape) for w in record] == [(B, H, T, T)]


def test_without_a_batch_there_is_one_sequence_in_the_record():
    layer, x = MultiHeadAttention(D, H), torch.randn(T, D)
    with recorded_weights(layer) as (record,):
        _, averaged = layer(x, x, x)
    assert record[0].shape == (1, H, T, T)
    torch.testing.assert_close(averaged, record[0][0].mean(dim=0))


def fails(_number, _heads):
    raise ArithmeticError


def used_until_it_fails(model, use, found):
    with use(model) as given:
        found.append(given)
        model(torch.tensor([[1, 2]]))
        raise ArithmeticError


@pytest.mark.parametrize(
    "use",
    [
        lambda model: scaled_heads(model, torch.zeros(2, H, dtype=torch.double)),
        recorded_weights,
        lambda model: changed_heads(attention_layers(model), fails),
    ],
)
def test_nothing_stays_behind_also_after_an_error(use, two_layers, batches, state_of):
    model, found, ((ids, _), *_) = two_layers(), [], batches()
    model.layers[0].train()
    before, expected = state_of(model), model(ids)
    with pytest.raises(ArithmeticError):
        used_until_it_fails(model, use, found)
    assert torch.equal(model(ids), expected)
    assert state_of(model) == before
    assert found == [None] or [len(calls) for calls in found[0]] == [1, 1]


@pytest.mark.parametrize("layer_class", [MultiHeadAttention, FastMultiHeadAttention])
def test_weights_are_recorded_once_where_attention_is_causal(layer_class):
    layer = layer_class(D, H)
    x = torch.randn(2, 5, D)
    with recorded_weights(layer) as records:
        output, weights = layer(x, x, x, need_weights=False, is_causal=True)
        layer(x[:, :1], x, x, need_weights=False, is_causal=True)
    assert weights is None
    assert [tuple(w.shape) for w in records[0]] == [(2, H, 5, 5), (2, H, 1, 5)]
    expected, every = layer(x, x, x, is_causal=True, average_attn_weights=False)
    torch.testing.assert_close(records[0][0], every)
    torch.testing.assert_close(output, expected)

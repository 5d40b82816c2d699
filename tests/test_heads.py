"""Importance and pruning of heads, against finite differences, hand-made layers and masked ones."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import MultiHeadAttention, NaiveMultiHeadAttention
from utils.classifier import TextClassifier
from utils.fast_attention import FastMultiHeadAttention
from utils.head_hooks import attention_layers, changed_heads, recorded_weights, scaled_heads
from utils.heads import (
    ablation_importance,
    confidence,
    confidence_importance,
    document_errors,
    document_losses,
    gradient_importance,
    prune_heads,
)

B, T, S, D, H = 3, 4, 5, 12, 4
CLASSES = {
    "loop": NaiveMultiHeadAttention,
    "reshape": MultiHeadAttention,
    "fast": FastMultiHeadAttention,
}


class TwoLayers(nn.Module):
    """Embedding, two layers of self-attention, classes; the padding is token 0."""

    def __init__(self, kind=MultiHeadAttention, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(9, D)
        self.layers = nn.ModuleList(kind(D, H, dropout) for _ in range(2))
        self.output = nn.Linear(D, 3)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer(x, x, x, key_padding_mask=ids == 0, need_weights=False)[0]
        return self.output(x[:, 0])


def two_layers(**options):
    torch.manual_seed(0)
    return TwoLayers(**options).double().eval()


def batches(count=2, seed=0):
    draw = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(count):
        ids = torch.randint(1, 9, (B, T + 1), generator=draw)
        ids[1, 3:] = 0
        pairs.append((ids, torch.randint(3, (B,), generator=draw)))
    return pairs


def state_of(model):
    """What must be as before: hooks, methods, modes, gradients."""
    return [
        (len(m._forward_pre_hooks), len(m._forward_hooks), "attend" in vars(m), m.training)
        for m in model.modules()
    ] + [parameter.grad is None for parameter in model.parameters()]


# -- scaling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_a_scale_multiplies_the_columns_of_the_last_projection(kind):
    model, scale = two_layers(kind=kind), torch.rand(2, H, dtype=torch.double)
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        for layer, factors in zip(by_hand.layers, scale, strict=True):
            layer.out_proj.weight *= factors.repeat_interleave(D // H)
    (ids, _), *_ = batches()
    with scaled_heads(model, scale):
        torch.testing.assert_close(model(ids), by_hand(ids))
    assert not torch.allclose(model(ids), by_hand(ids))


def test_each_document_can_have_a_scale_of_its_own():
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


def test_gradients_reach_the_scale():
    model, scale = two_layers(), torch.ones(2, H, dtype=torch.double, requires_grad=True)
    batch = batches()[0]

    def loss(scale):
        with scaled_heads(model, scale):
            return document_losses(model, batch).sum()

    assert torch.autograd.gradcheck(loss, scale)


@pytest.mark.parametrize("shape", [(H,), (1, H), (2, H + 1), (2, 1, 1, H), (H, 2)])
def test_a_scale_of_another_shape_is_refused(shape):
    model = two_layers()
    with (
        pytest.raises(ValueError, match=r"expected \(2, 4\)"),
        scaled_heads(model, torch.ones(shape)),
    ):
        pass


def test_models_without_layers_or_with_unequal_ones_are_refused():
    with pytest.raises(ValueError, match="needs layers"):
        attention_layers(nn.MultiheadAttention(D, H))
    with pytest.raises(ValueError, match=r"\[2, 3\] heads"):
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


def test_recording_within_a_recording():
    model, before = two_layers(), state_of(two_layers())
    (ids, _), *_ = batches()
    with recorded_weights(model) as outer:
        with recorded_weights(model) as inner:
            model(ids)
        model(ids)
    assert [len(calls) for calls in inner] == [1, 1]
    assert [len(calls) for calls in outer] == [2, 2]
    assert state_of(model) == before
    torch.testing.assert_close(inner[1][0], outer[1][1])


def fails(_number, _heads):
    raise ArithmeticError


def used_until_it_fails(model, use):
    with use(model):
        model(torch.tensor([[1, 2]]))
        raise ArithmeticError


@pytest.mark.parametrize(
    "use",
    [
        lambda model: scaled_heads(model, torch.ones(2, H, dtype=torch.double)),
        recorded_weights,
        lambda model: changed_heads(attention_layers(model), fails),
    ],
)
def test_nothing_stays_behind_also_after_an_error(use):
    model = two_layers()
    model.layers[0].train()
    before = state_of(model)
    with pytest.raises(ArithmeticError):
        used_until_it_fails(model, use)
    assert state_of(model) == before


# -- importance ------------------------------------------------------------------------------------


def classifier_of_one_head(head):
    """A classifier in which one head does all: the columns of the others are zero."""
    torch.manual_seed(1)
    model = TextClassifier(9, D, 3, MultiHeadAttention(D, H), padding_idx=0).double()
    keep = torch.arange(D) // (D // H) == head
    with torch.no_grad():
        model.mha.out_proj.weight *= 5 * keep
    return model


@pytest.mark.parametrize("head", range(H))
def test_where_one_head_does_all_it_has_all_importance(head):
    model, data = classifier_of_one_head(head), batches(4)
    # Labels that the model gets right, so that to lose the head can only cost.
    data = [(ids, model(ids).argmax(dim=-1)) for ids, _ in data]
    others = [h for h in range(H) if h != head]
    for importance in (
        ablation_importance(model, data)[0],
        gradient_importance(model, data)[0],
    ):
        assert importance[others].abs().max() < 1e-12
        assert importance[head].abs() > 1e-3
    lost = ablation_importance(model, data, document_errors)[0]
    assert lost[others].abs().max() == 0
    torch.testing.assert_close(lost[head], errors_without(model, data, head))


def errors_without(model, data, head):
    """The share of errors of a model whose weights of the head are set to zero by hand."""
    without = copy.deepcopy(model)
    with torch.no_grad():
        without.mha.out_proj.weight.view(D, H, D // H)[:, head] = 0.0
    return torch.cat([document_errors(without, batch) for batch in data]).mean()


def test_ablation_is_the_rise_of_the_mean_loss():
    model, data = two_layers(), batches()
    whole = torch.cat([document_losses(model, batch) for batch in data]).mean()
    for number, h in [(0, 1), (1, 3)]:
        without = copy.deepcopy(model)
        with torch.no_grad():
            without.layers[number].out_proj.weight.view(D, H, D // H)[:, h] = 0.0
        loss = torch.cat([document_losses(without, batch) for batch in data]).mean()
        torch.testing.assert_close(ablation_importance(model, data)[number, h], loss - whole)


def test_gradient_importance_against_finite_differences():
    model, data, step = two_layers(), batches(), 1e-6
    expected = torch.zeros(2, H, dtype=torch.double)
    for place in torch.cartesian_prod(torch.arange(2), torch.arange(H)):
        losses = []
        for sign in (1, -1):
            scale = torch.ones(2, H, dtype=torch.double)
            scale[*place] += sign * step
            with torch.no_grad(), scaled_heads(model, scale):
                losses.append(torch.cat([document_losses(model, batch) for batch in data]))
        expected[*place] = ((losses[0] - losses[1]) / (2 * step)).abs().mean()
    found = gradient_importance(model, data)
    torch.testing.assert_close(found, expected, atol=1e-8, rtol=1e-5)
    assert (found > 1e-4).all()


def test_gradient_importance_is_a_mean_over_documents_whatever_the_batches():
    model, data = two_layers(), batches(2)
    single = [(ids[b : b + 1], labels[b : b + 1]) for ids, labels in data for b in range(B)]
    joined = [(torch.cat([d[0] for d in data]), torch.cat([d[1] for d in data]))]
    expected = gradient_importance(model, data)
    torch.testing.assert_close(gradient_importance(model, single), expected)
    torch.testing.assert_close(gradient_importance(model, joined), expected)


def test_gradient_importance_of_frozen_weights_and_under_no_grad():
    model, data = two_layers(), batches()
    expected = gradient_importance(model, data)
    model.requires_grad_(False)
    with torch.no_grad():
        torch.testing.assert_close(gradient_importance(model, data), expected)


def test_a_layer_that_is_not_called_has_no_gradient():
    model = two_layers()
    model.spare = MultiHeadAttention(D, H)
    with pytest.raises(ValueError, match="not called"):
        gradient_importance(model, batches())


@pytest.mark.parametrize(
    "importance", [ablation_importance, gradient_importance, confidence_importance]
)
def test_importance_leaves_the_model_as_it_was(importance):
    model = two_layers(dropout=0.5).train()
    model.layers[1].eval()
    before, weights = state_of(model), copy.deepcopy(model.state_dict())
    found = importance(model, batches())
    assert found.shape == (2, H)
    assert found.dtype == torch.double
    torch.testing.assert_close(importance(model, batches()), found)  # without dropout
    assert state_of(model) == before
    torch.testing.assert_close(model.state_dict(), weights, atol=0, rtol=0)


def test_confidence_by_hand():
    weights = torch.tensor([[[[0.2, 0.8], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]]])  # (1, 2, 2, 2)
    torch.testing.assert_close(confidence(weights), torch.tensor([0.65, 0.95]))
    padding = torch.tensor([[False, True]])
    torch.testing.assert_close(confidence(weights, padding), torch.tensor([0.8, 1.0]))


def test_confidence_counts_every_query_that_is_not_padding_once():
    model, data = two_layers(), batches()
    found = confidence_importance(model, data, padding=lambda batch: batch[0] == 0)
    largest = [[], []]
    for ids, _ in data:
        for row in ids:
            with recorded_weights(model) as records:
                model(row[row != 0].unsqueeze(0))  # without any padding
            for calls, own in zip(records, largest, strict=True):
                own.append(calls[0][0].amax(dim=-1))  # (H, T)
    expected = torch.stack([torch.cat(own, dim=1).mean(dim=1) for own in largest])
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(confidence_importance(model, data), expected)


# -- pruning ---------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    keep=st.permutations(range(H)).flatmap(
        lambda order: st.integers(1, H).map(lambda count: order[:count])
    ),
    bias=st.booleans(),
    widths=st.sampled_from([(None, None, None), (7, 9, None), (None, 5, 6), (None, None, 2)]),
    need_weights=st.booleans(),
    queries=st.sampled_from([1, T]),
    is_causal=st.booleans(),
    layer_class=st.sampled_from([MultiHeadAttention, FastMultiHeadAttention]),
)
def test_the_pruned_layer_is_the_masked_one(
    keep, bias, widths, need_weights, queries, is_causal, layer_class
):
    torch.manual_seed(sum(keep))
    kdim, vdim, head_dim = widths
    layer = layer_class(D, H, 0.0, bias, kdim, vdim, head_dim=head_dim, scale=0.6).double()
    inputs = [
        torch.randn(B, n, width, dtype=torch.double, requires_grad=True)
        for n, width in ((queries, D), (S, kdim or D), (S, vdim or D))
    ]
    with torch.no_grad():
        for parameter in layer.parameters():  # the biases are zero at first
            parameter.normal_()
    blocked = torch.rand(B, S) < 0.3
    pruned = prune_heads(layer, keep)
    assert type(pruned) is layer_class
    scale = torch.zeros(1, H, dtype=torch.double)
    scale[0, keep] = 1.0
    options = {"key_padding_mask": blocked, "need_weights": need_weights, "is_causal": is_causal}
    with scaled_heads(layer, scale):
        expected, weights = layer(*inputs, average_attn_weights=False, **options)
    output, fewer = pruned(*inputs, average_attn_weights=False, **options)
    torch.testing.assert_close(output, expected)
    if need_weights:
        torch.testing.assert_close(fewer, weights[:, sorted(keep)])
    direction = torch.randn_like(output)
    gradients = torch.autograd.grad((output * direction).sum(), inputs)
    torch.testing.assert_close(gradients, torch.autograd.grad((expected * direction).sum(), inputs))


def test_the_pruned_layer_is_smaller_and_shares_nothing():
    layer = MultiHeadAttention(D, H, 0.1, kdim=7).double().eval()
    pruned = prune_heads(layer, [3, 1])
    assert (pruned.num_heads, pruned.head_dim, pruned.embed_dim) == (2, D // H, D)
    assert (pruned.dropout, pruned.kdim, pruned.training) == (0.1, 7, False)
    assert {parameter.dtype for parameter in pruned.parameters()} == {torch.double}
    assert pruned.q_proj.weight.shape == (D // 2, D)
    assert pruned.out_proj.weight.shape == (D, D // 2)
    assert all(parameter.is_leaf and parameter.requires_grad for parameter in pruned.parameters())
    before = copy.deepcopy(layer.state_dict())
    with torch.no_grad():
        for parameter in pruned.parameters():
            parameter.fill_(1.0)
    torch.testing.assert_close(layer.state_dict(), before)


def test_all_heads_kept_is_a_copy_and_pruning_can_be_repeated():
    layer = MultiHeadAttention(D, H)
    torch.testing.assert_close(prune_heads(layer, range(H)).state_dict(), layer.state_dict())
    twice = prune_heads(prune_heads(layer, [0, 2, 3]), [1, 2])
    torch.testing.assert_close(twice.state_dict(), prune_heads(layer, [2, 3]).state_dict())


def test_pruning_draws_no_random_numbers():
    layer, state = MultiHeadAttention(D, H), torch.get_rng_state()
    prune_heads(layer, [0])
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("keep", [[], [0, 0], [H], [-1], [0, 1, 2, 3, 4], [0.5]])
def test_impossible_heads_are_refused(keep):
    with pytest.raises(ValueError, match="at least one of the heads 0 to 3, each once"):
        prune_heads(MultiHeadAttention(D, H), keep)


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_heads_may_be_named_by_an_array(kind):
    layer = MultiHeadAttention(D, H)
    expected = prune_heads(layer, [0, 2]).state_dict()
    torch.testing.assert_close(prune_heads(layer, kind([0, 2])).state_dict(), expected)


@pytest.mark.parametrize(
    "keep",
    [[True, False, True, False], [1, np.True_], np.array([True] * H), torch.ones(H).bool()],
)
def test_a_mask_of_heads_is_refused(keep):
    with pytest.raises(TypeError, match="numbers of the heads"):
        prune_heads(MultiHeadAttention(D, H), keep)


@pytest.mark.parametrize("layer", [NaiveMultiHeadAttention(D, H), nn.MultiheadAttention(D, H)])
def test_other_layers_are_refused(layer):
    with pytest.raises(TypeError, match="takes a MultiHeadAttention"):
        prune_heads(layer, [0])


def test_a_layer_with_positions_is_refused():
    with pytest.raises(ValueError, match="positions"):
        prune_heads(MultiHeadAttention(D, H, positions=nn.Identity()), [0])


def test_heads_that_share_keys_are_refused():
    with pytest.raises(ValueError, match="share their keys"):
        prune_heads(MultiHeadAttention(D, H, num_kv_heads=1), [0])


def test_losses_and_errors_of_documents():
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    model, batch = (lambda ids: logits), (torch.zeros(2, 1), torch.tensor([0, 0]))
    torch.testing.assert_close(document_errors(model, batch), torch.tensor([0.0, 1.0]).double())
    losses = document_losses(model, batch)
    torch.testing.assert_close(losses.mean(), F.cross_entropy(logits, batch[1]))
    assert losses.shape == (2,)


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

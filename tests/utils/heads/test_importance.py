"""Importance of heads, against finite differences, hand-made layers and masked ones."""

import copy

import pytest
import torch
import torch.nn.functional as F

from utils.attention import MultiHeadAttention
from utils.heads import (
    ablation_importance,
    confidence,
    confidence_importance,
    document_errors,
    document_losses,
    gradient_importance,
    recorded_weights,
    scaled_heads,
)
from utils.models import TextClassifier

B, D, H = 3, 12, 4


def classifier_of_one_head(head):
    """A classifier in which one head does all: the columns of the others are zero."""
    torch.manual_seed(1)
    model = TextClassifier(9, D, 3, MultiHeadAttention(D, H), padding_idx=0).double()
    keep = torch.arange(D) // (D // H) == head
    with torch.no_grad():
        model.mha.out_proj.weight *= 5 * keep
    return model


@pytest.mark.parametrize("head", range(H))
def test_where_one_head_does_all_it_has_all_importance(head, batches):
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


def test_ablation_is_the_rise_of_the_mean_loss(two_layers, batches):
    model, data = two_layers(), batches()
    whole = torch.cat([document_losses(model, batch) for batch in data]).mean()
    for number, h in [(0, 1), (1, 3)]:
        without = copy.deepcopy(model)
        with torch.no_grad():
            without.layers[number].out_proj.weight.view(D, H, D // H)[:, h] = 0.0
        loss = torch.cat([document_losses(without, batch) for batch in data]).mean()
        torch.testing.assert_close(ablation_importance(model, data)[number, h], loss - whole)


def test_gradient_importance_against_finite_differences(two_layers, batches):
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


def test_gradient_importance_is_a_mean_over_documents_whatever_the_batches(two_layers, batches):
    model, data = two_layers(), batches(2)
    single = [(ids[b : b + 1], labels[b : b + 1]) for ids, labels in data for b in range(B)]
    joined = [(torch.cat([d[0] for d in data]), torch.cat([d[1] for d in data]))]
    expected = gradient_importance(model, data)
    torch.testing.assert_close(gradient_importance(model, single), expected)
    torch.testing.assert_close(gradient_importance(model, joined), expected)


def test_gradient_importance_of_frozen_weights_and_under_no_grad(two_layers, batches):
    model, data = two_layers(), batches()
    expected = gradient_importance(model, data)
    model.requires_grad_(False)
    with torch.no_grad():
        torch.testing.assert_close(gradient_importance(model, data), expected)


def test_a_layer_that_is_not_called_has_no_gradient(two_layers, batches):
    model = two_layers()
    model.spare = MultiHeadAttention(D, H)
    with pytest.raises(ValueError, match="not called"):
        gradient_importance(model, batches())


@pytest.mark.parametrize(
    "importance", [ablation_importance, gradient_importance, confidence_importance]
)
def test_importance_leaves_the_model_as_it_was(importance, two_layers, batches, state_of):
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


def test_confidence_counts_every_query_that_is_not_padding_once(two_layers, batches):
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


def test_losses_and_errors_of_documents():
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    model, batch = (lambda ids: logits), (torch.zeros(2, 1), torch.tensor([0, 0]))
    torch.testing.assert_close(document_errors(model, batch), torch.tensor([0.0, 1.0]).double())
    losses = document_losses(model, batch)
    torch.testing.assert_close(losses.mean(), F.cross_entropy(logits, batch[1]))
    assert losses.shape == (2,)

"""Importance of heads, against finite differences, hand-made layers and masked ones."""

import copy

import pytest
import torch

from chapters.a3_importance import (
    ablation_importance,
    confidence_importance,
    document_losses,
    gradient_importance,
    scaled_heads,
)
from utils.attention import MultiHeadAttention
from utils.heads import recorded_weights

B, D, H = 3, 12, 4


def test_ablation_is_the_rise_of_the_mean_of_what_is_measured(two_layers, batches):
    model = two_layers()

    def squares(model, batch):
        return document_losses(model, batch).square()

    for measure, options in ((document_losses, ()), (squares, (squares,))):
        whole = torch.cat([measure(model, batch) for batch in batches]).mean()
        found = ablation_importance(model, batches, *options)
        for number, h in [(0, 1), (1, 3)]:
            without = copy.deepcopy(model)
            with torch.no_grad():
                without.layers[number].out_proj.weight.view(D, H, D // H)[:, h] = 0.0
            loss = torch.cat([measure(without, batch) for batch in batches]).mean()
            torch.testing.assert_close(found[number, h], loss.detach() - whole.detach())


def test_gradient_importance_against_finite_differences(two_layers, batches):
    model, step = two_layers(), 1e-6
    expected = torch.zeros(2, H, dtype=torch.double)
    for place in torch.cartesian_prod(torch.arange(2), torch.arange(H)):
        losses = []
        for sign in (1, -1):
            scale = torch.ones(2, H, dtype=torch.double)
            scale[*place] += sign * step
            with torch.no_grad(), scaled_heads(model, scale):
                losses.append(torch.cat([document_losses(model, batch) for batch in batches]))
        expected[*place] = ((losses[0] - losses[1]) / (2 * step)).abs().mean()
    found = gradient_importance(model, batches)
    torch.testing.assert_close(found, expected, atol=1e-8, rtol=1e-5)
    assert (found > 0).all()
    model.requires_grad_(False)
    with torch.no_grad():
        ids, labels = (torch.cat(part) for part in zip(*batches, strict=True))
        uneven = [(ids[:1], labels[:1]), (ids[1:], labels[1:])]  # every document counts alike
        torch.testing.assert_close(gradient_importance(model, uneven), found)


def test_a_layer_that_is_not_called_has_no_gradient(two_layers, batches):
    model = two_layers()
    model.spare = MultiHeadAttention(D, H)
    with pytest.raises(ValueError, match="not called"):
        gradient_importance(model, batches)


@pytest.mark.parametrize(
    "importance", [ablation_importance, gradient_importance, confidence_importance]
)
def test_importance_leaves_the_model_as_it_was(importance, two_layers, batches, state_of):
    model = two_layers(dropout=0.5).train()
    model.layers[1].eval()
    before, weights = state_of(model), copy.deepcopy(model.state_dict())
    found = importance(model, batches)
    assert found.shape == (2, H)
    assert found.dtype == torch.double
    torch.testing.assert_close(importance(model, batches), found)  # without dropout
    assert state_of(model) == before
    torch.testing.assert_close(model.state_dict(), weights, atol=0, rtol=0)


def test_confidence_counts_every_query_that_is_not_padding_once(two_layers, batches):
    model = two_layers()
    found = confidence_importance(model, batches, padding=lambda batch: batch[0] == 0)
    largest = [[], []]
    for ids, _ in batches:
        for row in ids:
            with recorded_weights(model) as records:
                model(row[row != 0].unsqueeze(0))  # without any padding
            for calls, own in zip(records, largest, strict=True):
                own.append(calls[0][0].amax(dim=-1))  # (H, T)
    expected = torch.stack([torch.cat(own, dim=1).mean(dim=1) for own in largest])
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(confidence_importance(model, batches), expected)

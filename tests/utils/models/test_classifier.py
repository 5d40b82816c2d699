"""The classifier is the same function around each of three layers, and blind to padding."""

import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention, NaiveMultiHeadAttention
from utils.models import TextClassifier

VOCAB, D, H, C = 1000, 64, 8, 5
PADDING = 0


def torch_layer(embed_dim, num_heads):
    return nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)


LAYERS = [torch_layer, NaiveMultiHeadAttention, MultiHeadAttention]
each_layer = pytest.mark.parametrize("layer", LAYERS)


def classifier(layer, padding_idx=PADDING):
    torch.manual_seed(0)
    return TextClassifier(VOCAB, D, C, layer(D, H), padding_idx=padding_idx)


def ids(*shape):
    torch.manual_seed(1)
    return torch.randint(1, VOCAB, shape)


@each_layer
def test_the_classifier_has_89_605_parameters(layer):
    assert sum(p.numel() for p in classifier(layer).parameters()) == 89_605


@each_layer
def test_each_text_gets_one_logit_for_each_class(layer):
    assert classifier(layer)(ids(3, 7)).shape == (3, C)
    assert classifier(layer)(ids(1, 1)).shape == (1, C)


@each_layer
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("padding", [1, 50])
def test_appended_padding_leaves_the_logits(layer, training, padding):
    model, texts = classifier(layer).train(training), ids(3, 7)
    padded = nn.functional.pad(texts, (0, padding), value=PADDING)
    torch.testing.assert_close(model(padded), model(texts), rtol=1e-5, atol=1e-6)


@each_layer
def test_without_padding_idx_appended_padding_changes_the_logits(layer):
    model, texts = classifier(layer, padding_idx=None), ids(3, 7)
    padded = nn.functional.pad(texts, (0, 50), value=PADDING)
    assert (model(padded) - model(texts)).abs().max() > 1e-3


@pytest.mark.parametrize("padding_idx", [PADDING, None])
@pytest.mark.parametrize("length", [3, 80])
def test_the_three_layers_give_the_same_logits_and_gradients(padding_idx, length):
    model = classifier(torch_layer, padding_idx)
    texts = nn.functional.pad(ids(4, length), (0, 2), value=PADDING)
    layers = {
        "torch": model.mha,
        "naive": NaiveMultiHeadAttention.from_torch(model.mha),
        "efficient": MultiHeadAttention.from_torch(model.mha),
    }
    results = {}
    for name, layer in layers.items():
        model.mha = layer
        model.zero_grad()
        logits = model(texts)
        logits.square().sum().backward()
        results[name] = logits.detach(), model.embedding.weight.grad
    for name in ("naive", "efficient"):
        torch.testing.assert_close(results[name], results["torch"], rtol=1e-4, atol=1e-5)


@each_layer
def test_the_order_of_the_tokens_after_the_first_does_not_matter_and_the_first_does(layer):
    model, texts = classifier(layer), ids(2, 7)
    logits = model(texts)
    turned = torch.cat([texts[:, :1], texts[:, 1:].flip(1)], dim=1)
    torch.testing.assert_close(model(turned), logits, rtol=1e-5, atol=1e-6)
    assert (model(texts.flip(1)) - logits).abs().max() > 1e-3


@each_layer
def test_only_the_row_of_the_first_token_is_asked_for(layer):
    model, calls = classifier(layer), []
    model.mha.register_forward_hook(lambda _, given, result: calls.append((given, result)))
    model(ids(3, 7))
    ((query, key, value), (output, weights)) = calls[0]
    assert query.shape == output.shape == (3, 1, D)
    assert key.shape == value.shape == (3, 7, D)
    assert weights is None


def test_a_layer_of_another_width_is_refused():
    with pytest.raises(ValueError, match="embed_dim"):
        TextClassifier(VOCAB, D, C, MultiHeadAttention(32, 4))


def test_a_layer_that_is_not_batch_first_is_refused():
    with pytest.raises(ValueError, match="batch_first"):
        TextClassifier(VOCAB, D, C, nn.MultiheadAttention(D, H))


@pytest.mark.parametrize("shape", [(7,), (2, 3, 7)])
def test_ids_that_are_not_two_dimensional_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(B, T\)"):
        classifier(MultiHeadAttention)(ids(*shape))

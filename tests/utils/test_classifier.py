"""The classifier is the same function around each of three layers, and blind to padding."""

import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention
from utils.models import TextClassifier
from utils.naive import NaiveMultiHeadAttention

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
@pytest.mark.parametrize("training", [True, False])
def test_appended_padding_leaves_the_logits_where_it_is_known(layer, training):
    texts = ids(3, 7)
    padded = nn.functional.pad(texts, (0, 50), value=PADDING)
    model = classifier(layer).train(training)
    torch.testing.assert_close(model(padded), model(texts), rtol=1e-5, atol=1e-6)
    model = classifier(layer, padding_idx=None).train(training)
    assert (model(padded) - model(texts)).abs().max() > 1e-3


@each_layer
def test_the_row_of_the_first_token_alone_is_asked_for(layer):
    model, calls = classifier(layer), []
    model.mha.register_forward_hook(lambda _, given, result: calls.append((given, result)))
    assert model(ids(1, 1)).shape == (1, C)
    assert model(ids(3, 7)).shape == (3, C)
    ((query, key, value), (output, weights)) = calls[1]
    assert output.shape == (3, 1, D)
    assert torch.equal(query, model.embedding(ids(3, 7))[:, :1])
    assert key.shape == value.shape == (3, 7, D)
    assert weights is None


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="embed_dim"):
        TextClassifier(VOCAB, D, C, MultiHeadAttention(32, 4))
    with pytest.raises(ValueError, match="batch_first"):
        TextClassifier(VOCAB, D, C, nn.MultiheadAttention(D, H))
    for shape in ((7,), (2, 3, 7)):
        with pytest.raises(ValueError, match=r"\(B, T\)"):
            classifier(MultiHeadAttention)(ids(*shape))

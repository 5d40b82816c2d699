"""The checks of chapter 8 accept what is right and name what is wrong."""

import pytest
import torch
from torch import nn

from utils import checks


def parts(V, D, hidden, C):
    return V * D, 4 * (D * D + D), D * hidden + hidden, hidden * C + C


RIGHT_COUNTS = [
    lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)),
    lambda vocab_size, embed_dim, num_heads, hidden_dim, num_classes: sum(
        p.numel()
        for module in (
            nn.Embedding(vocab_size, embed_dim),
            nn.MultiheadAttention(embed_dim, num_heads),
            nn.Linear(embed_dim, hidden_dim),
            nn.Linear(hidden_dim, num_classes),
        )
        for p in module.parameters()
    ),
]
WRONG_COUNTS = [
    (lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)) - 4 * D, "bias of each"),
    (lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)) - D * D - D, "last projection"),
    (lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)[1:]), "embedding is missing"),
    (lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)) - hidden - C, "two biases"),
    (lambda V, D, H, hidden, C: H * sum(parts(V, D, hidden, C)), "instead of 89605"),
    (lambda V, D, H, hidden, C: V * D + D * D * 4 + D * hidden + hidden * C, "all biases"),
    (
        lambda V, D, H, hidden, C: (
            H * 4 * (D * D + D) + parts(V, D, hidden, C)[0] + sum(parts(V, D, hidden, C)[2:])
        ),
        "does not grow with H",
    ),
    (lambda V, D, H, hidden, C: 0, "0 instead of 89605"),
    (lambda V, D, H, hidden, C: V / 0, "raised ZeroDivisionError"),
]


@pytest.mark.parametrize("function", RIGHT_COUNTS)
def test_a_right_count_is_accepted(function):
    assert checks.classifier_size(function) == "Right."


@pytest.mark.parametrize(("function", "said"), WRONG_COUNTS)
def test_a_wrong_count_is_named(function, said):
    answer = checks.classifier_size(function)
    assert answer.startswith("Not yet: ")
    assert said in answer


def layer(mean):
    """Make a layer of a function of the values, (B, S, D), and what is kept, (B, S, 1)."""

    class Layer(nn.Module):
        def forward(self, query, key, value, key_padding_mask=None, need_weights=True):
            keep = torch.ones(value.shape[:2]) if key_padding_mask is None else ~key_padding_mask
            return mean(value, keep.unsqueeze(-1).to(value.dtype)), None

    return Layer()


def loop(value, keep):
    rows = []
    for texts, kept in zip(value, keep, strict=True):
        left = texts[kept[:, 0] > 0]
        rows.append(left.mean(dim=0) if len(left) else torch.zeros(value.shape[-1]))
    return torch.stack(rows).unsqueeze(1)


RIGHT_LAYERS = [
    lambda v, keep: (keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True).clamp(min=1),
    lambda v, keep: ((keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True)).nan_to_num(),
    loop,
]
WRONG_LAYERS = [
    (lambda v, keep: v.mean(1, keepdim=True), "padding takes part"),
    (lambda v, keep: (keep * v).mean(1, keepdim=True), "still counted"),
    (lambda v, keep: (keep * v).sum(1, keepdim=True), "this is the sum"),
    (lambda v, keep: RIGHT_LAYERS[0](v, 1 - keep), "wrong way round"),
    (lambda v, keep: v[:, :1], "first value"),
    (lambda v, keep: (keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True), "0/0"),
    (lambda v, keep: RIGHT_LAYERS[0](v, keep)[:, 0], "shape (3, 2); expected (3, 1, 2)"),
    (lambda v, keep: v @ v, "raised RuntimeError"),
    (lambda v, keep: RIGHT_LAYERS[0](v, keep) * (1 if keep.sum() < 9 else 2), "without a mask"),
]


@pytest.mark.parametrize("mean", RIGHT_LAYERS)
def test_a_right_layer_is_accepted(mean):
    assert checks.mean_layer(layer(mean)) == "Right."


@pytest.mark.parametrize(("mean", "said"), WRONG_LAYERS)
def test_a_wrong_layer_is_named(mean, said):
    answer = checks.mean_layer(layer(mean))
    assert answer.startswith("Not yet: ")
    assert said in answer


def test_a_layer_that_gives_no_pair_is_named():
    assert "two things" in checks.mean_layer(lambda *inputs, **masks: inputs[2])

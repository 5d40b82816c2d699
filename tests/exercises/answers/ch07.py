"""The checks of chapter 7 accept what is right and name what is wrong."""

import torch
from torch import nn

from exercises import ch07 as checks


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


RIGHT_MEANS = [
    lambda v, keep: (keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True).clamp(min=1),
    lambda v, keep: ((keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True)).nan_to_num(),
    loop,
]
WRONG_MEANS = [
    (lambda v, keep: v.mean(1, keepdim=True), "padding takes part"),
    (lambda v, keep: (keep * v).mean(1, keepdim=True), "still counted"),
    (lambda v, keep: (keep * v).sum(1, keepdim=True), "this is the sum"),
    (lambda v, keep: RIGHT_MEANS[0](v, 1 - keep), "wrong way round"),
    (lambda v, keep: v[:, :1], "first value"),
    (lambda v, keep: (keep * v).sum(1, keepdim=True) / keep.sum(1, keepdim=True), "0/0"),
    (lambda v, keep: RIGHT_MEANS[0](v, keep)[:, 0], "shape (3, 2); expected (3, 1, 2)"),
    (lambda v, keep: v @ v, "raised RuntimeError"),
    (lambda v, keep: RIGHT_MEANS[0](v, keep) * (1 if keep.sum() < 9 else 2), "without a mask"),
]


class NeedsMask(nn.Module):
    def forward(self, query, key, value, key_padding_mask=None, need_weights=True):
        return RIGHT_MEANS[0](value, (~key_padding_mask).unsqueeze(-1).float()), None


class ReturnsWeights(nn.Module):
    def forward(self, query, key, value, key_padding_mask=None, need_weights=True):
        keep = torch.ones(value.shape[:2]) if key_padding_mask is None else ~key_padding_mask
        return RIGHT_MEANS[0](value, keep.unsqueeze(-1).float()), keep


class MeanLayer(nn.Module):
    pass


RIGHT = {
    checks.mean_layer: [layer(mean) for mean in RIGHT_MEANS],
    checks.shuffled_pages: [(0.85, 0.25), [torch.tensor(0.9), 1 / 4]],
}

WRONG = {
    checks.mean_layer: [
        *((layer(mean), said) for mean, said in WRONG_MEANS),
        (lambda *inputs, **masks: inputs[2], "two things"),
        (NeedsMask(), "key_padding_mask=None nothing is blocked"),
        (ReturnsWeights(), "should be None"),
        (MeanLayer, "this is the class MeanLayer"),
        (MeanLayer, "MeanLayer()"),
    ],
    checks.shuffled_pages: [
        ((0.0, 0.0), "no predictions yet"),
        ((0.25, 0.25), "which word follows which"),
        ((1.0, 0.25), "no better than it was"),
        ((0.95, 0.9), "all over the page"),
        ((0.95, 0.0), "still guesses"),
        ((95, 25), "between 0 and 1"),
        (0.9, "two shares"),
        (("much", 0.25), "within should be a number"),
    ],
}

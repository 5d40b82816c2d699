import torch
from torch import nn

from exercises import ch07 as checks


def layer(mean, weights=None):
    """Make a layer of a function of the values, (B, S, D), and what is kept, (B, S, 1)."""

    def forward(query, key, value, key_padding_mask=None, need_weights=True):
        keep = torch.ones(value.shape[:2]) if key_padding_mask is None else ~key_padding_mask
        return mean(value, keep.unsqueeze(-1).to(value.dtype)), weights

    return forward


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


def needs_mask(query, key, value, key_padding_mask=None, need_weights=True):
    return RIGHT_MEANS[0](value, (~key_padding_mask).unsqueeze(-1).float()), None


RIGHT = {
    checks.mean_layer: [layer(mean) for mean in RIGHT_MEANS],
    checks.shuffled_pages: [(0.85, 0.25), [torch.tensor(0.9), 1 / 4]],
}

WRONG = {
    checks.mean_layer: [
        (layer(lambda v, keep: RIGHT_MEANS[0](v, keep) * (1 + keep.all())), "without a mask"),
        (layer(lambda v, keep: RIGHT_MEANS[0](v, 1 - keep)), "the wrong way round"),
        (lambda *inputs, **masks: inputs[2], "two things"),
        (needs_mask, "key_padding_mask=None nothing is blocked"),
        (layer(RIGHT_MEANS[0], 1), "should be None"),
        (nn.Identity, "the check calls a layer: make one, Identity()"),
    ],
    checks.shuffled_pages: [
        ((0.0, 0.0), "no predictions yet"),
        ((0.25, 0.25), "which word follows which"),
        ((1.0, 0.25), "no better than it was"),
        ((0.95, 0.9), "all over the page"),
        ((0.95, 0.0), "still guesses"),
        ((95, 25), "between 0 and 1"),
        (0.9, "two shares"),
    ],
}

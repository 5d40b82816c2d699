"""The checks of chapter 7 accept what is right and name what is wrong."""

import torch
from torch import nn

from exercises import ch07 as checks
from utils.fast import FastMultiHeadAttention


def parts(V, D, hidden, C):
    return V * D, 4 * (D * D + D), D * hidden + hidden, hidden * C + C


WRONG_COUNTS = [
    (lambda V, D, H, hidden, C: H * sum(parts(V, D, hidden, C)), "changes with H"),
    (
        lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)) + (H - 1) * 3 * D * D,
        "changes with H",
    ),
    (lambda V, D, H, hidden, C: sum(parts(V, D, hidden, C)) // H, "changes with H"),
    (
        lambda V, D, H, hidden, C: (
            H * 4 * (D * D + D) + parts(V, D, hidden, C)[0] + sum(parts(V, D, hidden, C)[2:])
        ),
        "changes with H",
    ),
    (lambda V, D, H, hidden, C: 0, "0 instead of 89605"),
    (lambda V, D, H, hidden, C: V / 0, "raised ZeroDivisionError"),
]


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


def zero(layer, names, freeze=True):
    for name in names:
        parameter = layer.get_parameter(name)
        nn.init.zeros_(parameter)
        parameter.requires_grad_(not freeze)


Q, K, V = ((f"{name}_proj.weight", f"{name}_proj.bias") for name in ("q", "k", "v"))


def another_layer(layer):
    """Give a new layer with the same values; the old one stays as it was."""
    new = FastMultiHeadAttention(8, 2)
    new.load_state_dict(layer.state_dict())
    zero(new, Q)
    return new


def in_place(layer):
    with torch.no_grad():
        for parameter in layer.q_proj.parameters():
            parameter.mul_(0)
    layer.q_proj.requires_grad_(False)


def rebinding(layer):
    for p in layer.q_proj.parameters():
        p = torch.zeros_like(p)
        p.requires_grad_(False)


RIGHT_EVEN = [
    lambda layer: zero(layer, Q),
    lambda layer: zero(layer, K),
    lambda layer: zero(layer, K[:1]),  # the keys' bias does nothing
    lambda layer: zero(layer, Q + K),
    lambda layer: setattr(layer, "scale", 0.0),
    another_layer,
    in_place,
]
WRONG_EVEN = [
    (lambda layer: [nn.init.ones_(p) for p in layer.q_proj.parameters()] and None, "equal numbers"),
    (lambda layer: None, "more weight than others"),
    (lambda layer: layer.q_proj.requires_grad_(False) and None, "set it to zero as well"),
    (rebinding, "gives the name p to another tensor"),
    (lambda layer: zero(layer, Q[:1]), "query's bias is still there"),
    (lambda layer: zero(layer, Q, freeze=False), "uneven again"),
    (lambda layer: zero(layer, K, freeze=False), "uneven again"),
    (lambda layer: (zero(layer, Q), layer.q_proj.bias.requires_grad_(True)), "uneven again"),
    (lambda layer: zero(layer, Q + V), "v_proj.weight has changed"),
    (lambda layer: (zero(layer, Q), layer.requires_grad_(False)), "values are frozen too"),
    (lambda layer: layer.nothing, "raised AttributeError"),
]


def runs(words, n=8):
    return {" ".join(words[i : i + n]) for i in range(max(len(words) - n + 1, 1))}


def tails(words, step=1):
    return {" ".join(words[i : i + 8]) for i in range(0, len(words), step)}


def by_hand(words, other):
    own, there = [], runs(other)
    for start in range(max(1, len(words) - 7)):
        run = words[start : start + 8]
        if run not in own:
            own.append(run)
    return torch.tensor([" ".join(run) in there for run in own]).double().mean()


RIGHT_SHARES = [lambda a, b: len(runs(a) & runs(b)) / len(runs(a)), by_hand]
WRONG_SHARES = [
    (
        lambda a, b: (
            sum(a[i : i + 8] == b[i : i + 8] for i in range(max(len(a) - 7, 1)))
            / max(len(a) - 7, 1)
        ),
        "in the same place",
    ),
    (lambda a, b: len(runs(a) & runs(b)) / len(runs(a) | runs(b)), "the runs of both"),
    (lambda a, b: len(runs(a) & runs(b)) / len(runs(b)), "the runs of the other text"),
    (lambda a, b: len(runs(a, 1) & runs(b, 1)) / len(runs(a, 1)), "single words"),
    (
        lambda a, b: (
            sum(" ".join(a[i : i + 8]) in runs(b) for i in range(len(a) - 7)) / (len(a) - 7)
        ),
        "counts twice",
    ),
    (lambda a, b: len(runs(a[:-1]) & runs(b[:-1])) / len(runs(a[:-1])), "last run is missing"),
    (lambda a, b: len(tails(a) & tails(b)) / len(tails(a)), "shorter than eight"),
    (lambda a, b: len(tails(a, 8) & tails(b, 8)) / len(tails(a, 8)), "do not overlap"),
    (lambda a, b: 100 * RIGHT_SHARES[0](a, b), "a percentage"),
    (lambda a, b: len(runs(a, 7) & runs(b, 7)) / len(runs(a, 7)), "seven words"),
    (lambda a, b: len(runs(a, 9) & runs(b, 9)) / len(runs(a, 9)), "nine words"),
    (lambda a, b: 0.5, "expected 0.6"),
    (lambda a, b: len(runs(a) & runs(b)) / (len(a) and len(runs(a)) * (len(a) > 7)), "one run"),
    (lambda a, b: RIGHT_SHARES[0](a, b) if len(a) > 7 else 0.0, "got 0 and 0"),
    (lambda a, b: a + 1, "raised TypeError"),
    (lambda a, b: runs(a), "should be a number"),
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
    checks.even_weights: RIGHT_EVEN,
    checks.share_seen: RIGHT_SHARES,
}

WRONG = {
    checks.classifier_size: WRONG_COUNTS,
    checks.mean_layer: [
        *((layer(mean), said) for mean, said in WRONG_MEANS),
        (lambda *inputs, **masks: inputs[2], "two things"),
        (NeedsMask(), "key_padding_mask=None nothing is blocked"),
        (ReturnsWeights(), "should be None"),
        (MeanLayer, "this is the class MeanLayer"),
        (MeanLayer, "MeanLayer()"),
    ],
    checks.even_weights: WRONG_EVEN,
    checks.share_seen: WRONG_SHARES,
}

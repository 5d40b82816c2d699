"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import torch

from utils.checks import ch09


def without(weights, values, gone):
    kept = weights * ~gone
    return ((kept / kept.sum(-1, keepdim=True)).unsqueeze(1) @ values).squeeze(1)


def without_by_index(weights, values, gone):
    kept = weights[:, ~gone]
    return torch.einsum("hs,hsd->hd", kept, values[:, ~gone]) / kept.sum(1)[:, None]


def without_in_place(weights, values, gone):
    weights[:, gone] = 0
    weights /= weights.sum(-1, keepdim=True)
    return torch.einsum("hs,hsd->hd", weights, values)


def mix(a, values):
    return torch.einsum("hs,hsd->hd", a, values)


def one_by_one(weights, values, gone):
    whole = mix(weights, values)
    out = whole.clone()
    for j in gone.nonzero().flatten():
        a = weights[:, j, None]
        out += a / (1 - a) * (whole - values[:, j])
    return out


def softmax_again(weights, values, gone):
    return mix(weights.masked_fill(gone, -torch.inf).softmax(-1), values)


def to_mean(heads, h):
    changed = heads.clone()
    changed[:, h] = heads[:, h].mean(0)
    return changed


def to_mean_in_place(heads, h):
    heads[:, h] = heads[:, h].mean(0)
    return heads


def with_the_old_weights(weights, values, gone):
    head = mix(weights, values)
    for j in gone.nonzero().flatten():
        a = weights[:, j, None]
        head = (head - a * values[:, j]) / (1 - a)
    return head


def put(by, where=None):
    """Make a function that puts something of the heads at a place."""

    def wrong(heads, h):
        changed = heads.clone()
        changed[(slice(None), h) if where is None else where(h)] = by(heads, h)
        return changed

    return wrong


def lengths(weights, values, w_o):
    return (weights[..., None] * (values @ w_o)).sum(0).norm(dim=-1)


def lengths_by_einsum(weights, values, w_o):
    return torch.einsum("hs,hse,hed->sd", weights, values, w_o).square().sum(-1).sqrt()


def reshaped(weights, values, w_o):
    joined = (weights[..., None] * values).reshape(values.shape[1], -1)
    return (joined @ w_o.flatten(0, 1)).norm(dim=-1)


def added(weights, values, w_o):
    return weights[..., None] * (values @ w_o)


RIGHT = {
    ch09.without_word: [without, without_by_index],
    ch09.ablate_to_mean: [to_mean],
    ch09.lengths: [lengths, lengths_by_einsum],
}

WRONG = {
    ch09.without_word: [
        (lambda w, v, g: mix(w, v), "nothing was left out"),
        (lambda w, v, g: mix(w * ~g, v), "do not sum to one"),
        (lambda w, v, g: mix(w * g, v), "those that stay were asked"),
        (lambda w, v, g: without(w, v, ~g), "the wrong way round"),
        (lambda w, v, g: mix(w * ~g, v) / (w * g).sum(-1, True), "by the sum of what goes"),
        (lambda w, v, g: mix(w * ~g, v) * (w * ~g).sum(-1, True), "multiplied by its sum"),
        (lambda w, v, g: mix(w * ~g, v) / (w * ~g).sum(-1).mean(), "one sum is used"),
        (lambda w, v, g: mix(w * ~g, v) / (w * ~g).sum(), "sums are added up"),
        (lambda w, v, g: mix(w * ~g / (w * ~g).sum(0).clamp(1e-9), v), "over the heads"),
        (lambda w, v, g: v[:, ~g].mean(1), "the plain mean"),
        (softmax_again, "a second softmax was taken; the weights"),
        (lambda w, v, g: mix((w * ~g).softmax(-1), v), "gives the weights that are 0 a share"),
        (lambda w, v, g: mix(w * ~g / (w * ~g).sum(-1), v), "with keepdim=True"),
        (lambda w, v, g: w @ v[0, 0, 0], "your code raised RuntimeError"),
        (one_by_one, "left out alone"),
        (with_the_old_weights, "with the old a_j"),
        (lambda w, v, g: without(w, v, g) - mix(w, v), "this is the change"),
        (without_in_place, "the input was changed"),
        (lambda w, v, g: without(w, v, g) + 1, "wrong at"),
    ],
    ch09.ablate_to_mean: [
        (lambda x, h: x, "nothing was replaced"),
        (put(lambda x, h: 0.0), "set to zero"),
        (put(lambda x, h: x.mean((0, 1))), "over the heads too"),
        (put(lambda x, h: x[:, h].mean(-1, True)), "the numbers of the head; it should"),
        (put(lambda x, h: x[:, h].mean()), "one mean stands"),
        (put(lambda x, h: x.mean(1)), "runs over the heads; it should"),
        (put(lambda x, h: x[:, h].sum(0)), "the sum over"),
        (lambda x, h: x.mean(0).expand_as(x), "all heads were replaced"),
        (lambda x, h: x.mean(0) + (x - to_mean(x, h)), "all other heads"),
        (put(lambda x, h: x.mean(0), lambda h: h), "a text was replaced"),
        (put(lambda x, h: x[:, h].mean(0), lambda h: h), "a text was overwritten"),
        (put(lambda x, h: x[h].mean(0), lambda h: h), "the mean of its own heads"),
        (put(lambda x, h: x[:, h].mean(-1)), "The mean runs over the texts"),
        (
            put(lambda x, h: x[:, :, h].mean(0), lambda h: (slice(None), slice(None), h)),
            "number h of every head",
        ),
        (lambda x, h: to_mean(x, h - 1), "counted from 0"),
        (lambda x, h: x[:, h].mean(0), "the head's mean alone"),
        (put(lambda x, h: x[:, h] - x[:, h].mean(0)), "taken away"),
        (lambda x, h: torch.cat([x[:, :h], x[:, h + 1 :]], 1), "keep the shape"),
        (to_mean_in_place, "the input was changed"),
    ],
    ch09.lengths: [
        (lambda *a: added(*a).norm(dim=-1).sum(0), "lengths of the heads are added"),
        (lambda *a: added(*a).norm(dim=-1).mean(0), "lengths of the heads are averaged"),
        (lambda *a: added(*a).norm(dim=-1), "kept apart"),
        (lambda *a: added(*a).mean(0).norm(dim=-1), "the heads are averaged"),
        (lambda w, v, o: (v @ o).sum(0).norm(dim=-1), "the weights are missing"),
        (lambda w, v, o: w.mean(0), "the weight alone"),
        (lambda w, v, o: w.mean(0) * (v @ o).sum(0).norm(dim=-1), "length of all heads' values"),
        (lambda w, v, o: w.mean(0) * (v @ o).norm(dim=-1).mean(0), "times the mean length: each"),
        (lambda w, v, o: w.mean(0) * v.norm(dim=-1).mean(0), "mean length of the values"),
        (lambda w, v, o: (w[..., None] * v).sum(0).norm(dim=-1), "length of the values"),
        (lambda w, v, o: (w[..., None] * v).square().sum((0, 2)).sqrt(), "only joined"),
        (lambda w, v, o: (w * v.norm(dim=-1)).sum(0), "lengths hide"),
        (lambda *a: lengths(*a).square(), "the square"),
        (lambda *a: added(*a).sum(0).abs().sum(-1), "sum of the sizes"),
        (lambda *a: added(*a).sum(0), "these are the vectors"),
        (lambda *a: added(*a).sum(0).norm(dim=0), "over the tokens"),
        (lambda *a: added(*a).sum((0, 1)).norm(), "the whole output"),
        (lambda w, v, o: lengths(w * w, v, o), "are squared"),
        (lambda w, v, o: (w * (v @ o)).sum(0).norm(dim=-1), "give it a last axis"),
        (reshaped, "a reshape alone mixes tokens"),
    ],
}

"""The checks of chapter 8 accept what is right, however written, and name what is wrong."""

import torch

from exercises import ch08


def without(weights, values, gone):
    kept = weights * ~gone
    return ((kept / kept.sum(-1, keepdim=True)).unsqueeze(1) @ values).squeeze(1)


def without_in_place(weights, values, gone):
    weights[:, gone] = 0
    weights /= weights.sum(-1, keepdim=True)
    return torch.einsum("hs,hsd->hd", weights, values)


def mix(a, values):
    return torch.einsum("hs,hsd->hd", a, values)


def to_mean_in_place(heads, h):
    heads[:, h] = heads[:, h].mean(0)
    return heads


def put(by, where=None):
    """Make a function that puts something of the heads at a place."""

    def wrong(heads, h):
        changed = heads.clone()
        changed[(slice(None), h) if where is None else where(h)] = by(heads, h)
        return changed

    return wrong


RIGHT = {}

WRONG = {
    ch08.without_word: [
        (lambda w, v, g: mix(w * ~g / (w * ~g).sum(-1), v), "with keepdim=True"),
        (lambda w, v, g: w @ v[0, 0, 0], "your code raised RuntimeError"),
        (without_in_place, "the input was changed"),
        (lambda w, v, g: without(w, v, g) + 1, "wrong at"),
    ],
    ch08.ablate_to_mean: [
        (put(lambda x, h: x[:, h].mean(-1)), "The mean runs over the texts"),
        (to_mean_in_place, "the input was changed"),
    ],
    ch08.lengths: [
        (lambda w, v, o: (w * (v @ o)).sum(0).norm(dim=-1), "give it a last axis"),
    ],
}

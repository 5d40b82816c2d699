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


RIGHT = {ch08.nothing_learnt: [0.68, 0.6, torch.tensor(0.75)]}

WRONG = {
    ch08.without_word: [
        (lambda w, v, g: mix(w * ~g / (w * ~g).sum(-1), v), "with keepdim=True"),
        (lambda w, v, g: w @ v[0, 0, 0], "your code raised RuntimeError"),
        (without_in_place, "the input was changed"),
        (lambda w, v, g: without(w, v, g) + 1, "wrong at"),
    ],
    ch08.nothing_learnt: [
        (-0.6, "smaller effects"),
        (0.0, "nothing was learnt"),
        (0.29, "as they are"),
        (0.51, "the trained models"),
        (1.0, "in the main"),
        (68, "from -1 to 1"),
        (float("nan"), "from -1 to 1"),
        (None, "should be a number"),
    ],
}

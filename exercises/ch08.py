"""Checks of chapter 8: heads without a word, and a test that models pass which learnt nothing.

Shapes: S tokens, H heads.
"""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Prediction, exercise, hint, normal

S, H, D_HEAD = 6, 3, 2
KEEP_AXIS = "A sum over the tokens is (H,); with keepdim=True it is (H, 1), and divides (H, S) row by row."
UNCHANGED = "the input was changed as well; work on a copy, such as x.clone()."


@exercise
def without_word() -> Cases:
    """Check ``function(weights, values, gone)``: what the heads give without some tokens.

    ``weights`` is (H, S), ``values`` (H, S, D_head), ``gone`` (S,), True for the tokens that are
    left out; the result is (H, D_head).
    """
    weights = normal(0)(H, S).softmax(dim=-1)
    values = normal(1)(H, S, D_HEAD)
    gone = torch.arange(S) % 3 == 1

    def mix(a: Tensor) -> Tensor:
        return torch.einsum("hs,hsd->hd", a, values)

    kept, removed = weights * ~gone, weights * gone
    again = weights.masked_fill(gone, -torch.inf).softmax(-1)
    left = kept.sum(dim=-1, keepdim=True)  # (H, 1)
    whole = mix(weights)
    alone = [weights * one for one in torch.eye(S)[gone]]
    added = [(whole - mix(one)) / (1 - one.sum(-1, keepdim=True)) for one in alone]
    stale = whole  # the formula of one token, again and again, with the weights as they were
    for a, v in zip(weights.T[gone], values.transpose(0, 1)[gone], strict=True):
        stale = (stale - a[:, None] * v) / (1 - a[:, None])
    mistakes = {
        "nothing was left out.": whole,
        "the weights that stay do not sum to one; divide by their sum.": mix(kept),
        "this is what the tokens that go give; those that stay were asked for.": mix(removed),
        "gone is the wrong way round: True means left out.": mix(removed) / (1 - left),
        "what stays is divided by the sum of what goes.": mix(kept) / (1 - left),
        "what stays is multiplied by its sum; divide.": mix(kept) * left,
        "one sum is used for all heads; each has its own.": mix(kept) / left.mean(),
        "the heads' sums are added up; each has its own.": mix(kept) / left.sum(),
        "weights are rescaled over the heads; they sum to one over the tokens.": mix(kept / kept.sum(dim=0, keepdim=True).clamp(min=1e-9)),
        "this is the plain mean of the values that stay; the weights are missing.": mix((~gone / (~gone).sum()).expand(H, S)),
        "a second softmax was taken; the weights that stay need only be divided by their sum.": mix(again),
        "a second softmax was taken, and it gives the weights that are 0 a share again; divide what stays by its sum.": mix(
            kept.softmax(-1)
        ),
        "each token was left out alone; their changes do not add up.": whole + sum(one - whole for one in added),
        "the formula was used token by token with the old a_j; after each step the other weights "
        "have grown. Take the sum of those that go.": stale,
        "this is the change; the heads themselves were asked for.": mix(kept) / left - whole,
    }
    with hint(KEEP_AXIS):
        yield Case((weights, values, gone), mix(kept) / left, mistakes, "the result", kept=UNCHANGED)


@exercise
def nothing_learnt() -> Cases:
    """Check what Kendall's τ becomes where the scores of untrained models are four times as large."""
    mistakes = {
        -0.5: "that would mean that heavier tokens have smaller effects. What does a token change that gets no weight at all?",
        0.0: "nothing was learnt, but the weight is a factor of the effect all the same, and now a very uneven one.",
        0.35: "the models come near this with their scores as they are. The 4 makes the weights more uneven still.",
        0.5: "the trained models have this. How uneven are their weights, and how uneven are these?",
        0.9: "right in the main, but a little too much: the second factor is not the same for all tokens.",
    }
    yield Prediction("your number", (0.58, 0.785), mistakes, limits=(-1, 1, "τ is a number from -1 to 1."))

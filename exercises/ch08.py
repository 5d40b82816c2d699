"""Checks of chapter 8: heads without a word, and what a token adds.

Shapes: S tokens, H heads, D = ``out_proj``'s width; D_head differs from D / H on purpose.
"""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, exercise, hint, normal

S, H, D_HEAD, D = 6, 3, 2, 7
KEEP_AXIS = "A sum over the tokens is (H,); with keepdim=True it is (H, 1), and divides (H, S) row by row."
UNCHANGED = "the input was changed as well; work on a copy, such as x.clone()."
ALL_NUMBERS = "A weight (H, S) multiplies all D numbers of a vector (H, S, D): give it a last axis, unsqueeze(-1)."


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
    left = kept.sum(dim=-1, keepdim=True)  # (H, 1)
    whole = mix(weights)
    added = [(whole - mix(weights * one)) / (1 - (weights * one).sum(-1, keepdim=True))
             for one in torch.eye(S)[gone]]  # fmt: skip
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
        "a second softmax was taken; the weights that stay need only be divided by their sum.": mix(
            weights.masked_fill(gone, -torch.inf).softmax(-1)
        ),
        "a second softmax was taken, and it gives the weights that are 0 a share again; divide what stays by its sum.": mix(
            (weights * ~gone).softmax(-1)
        ),
        "each token was left out alone; their changes do not add up.": whole + sum(one - whole for one in added),
        "the formula was used token by token with the old a_j; after each step the other weights "
        "have grown. Take the sum of those that go.": stale,
        "this is the change; the heads themselves were asked for.": mix(kept) / left - whole,
    }
    with hint(KEEP_AXIS):
        yield Case((weights, values, gone), mix(kept) / left, mistakes, "the result", kept=UNCHANGED)


@exercise
def lengths() -> Cases:
    """Check ``function(weights, values, w_o)``: the length of what each token adds, (S,).

    ``weights`` is (H, S), ``values`` (H, S, D_head) and ``w_o`` (H, D_head, D).
    """
    weights = normal(0)(H, S).softmax(dim=-1)
    values, w_o = normal(1)(H, S, D_HEAD), normal(2)(H, D_HEAD, D)
    mixed = weights.unsqueeze(-1) * values  # (H, S, D_head)
    brought, added = values @ w_o, mixed @ w_o  # (H, S, D) each
    total, sizes = added.sum(dim=0), added.norm(dim=-1)  # (S, D), (H, S)
    first = "add the vectors first, then take the length."
    own = "each head has its own weight; multiply, add the heads, then take the length."
    mixed_up = mixed.reshape(S, H * D_HEAD) @ w_o.flatten(0, 1)  # (S, D)
    mistakes = {
        "heads mixed up: a reshape alone mixes tokens; swap the two axes by transpose.": (mixed_up.norm(dim=-1)),
        f"the lengths of the heads are added; {first}": sizes.sum(dim=0),
        f"the lengths of the heads are averaged; {first}": sizes.mean(dim=0),
        "the heads are kept apart; add their vectors first.": sizes,
        "the heads are averaged; what they add is a sum.": total.norm(dim=-1) / H,
        "the weights are missing.": brought.sum(dim=0).norm(dim=-1),
        "this is the weight alone, mean over the heads.": weights.mean(dim=0),
        f"the mean weight times the length of all heads' values: {own}": weights.mean(dim=0) * brought.sum(dim=0).norm(dim=-1),
        f"the mean weight times the mean length: {own}": weights.mean(dim=0) * brought.norm(dim=-1).mean(dim=0),
        f"the mean weight times the mean length of the values: {own}": weights.mean(dim=0) * values.norm(dim=-1).mean(dim=0),
        "these are the weights times the lengths of the values; w_o is missing, and lengths hide "
        "that heads point against each other.": mixed.norm(dim=-1).sum(dim=0),
        "this is the length of the values; w_o is missing.": mixed.sum(dim=0).norm(dim=-1),
        "w_o is missing: the values of the heads were only joined.": mixed.norm(dim=(0, 2)),
        "this is the square of the length; the root is missing.": total.square().sum(dim=-1),
        "this is the sum of the sizes of the numbers; the length is the root of the sum of squares.": total.abs().sum(dim=-1),
        "these are the vectors; their lengths were asked for, (S,).": total,
        "the length runs over the tokens; it should run over the D numbers.": total.norm(dim=0),
        "this is the length of the whole output; each token has its own.": total.sum(dim=0).norm(),
        "the weights are squared: they are in the product twice.": ((weights.unsqueeze(-1) * added).sum(dim=0).norm(dim=-1)),
    }
    with hint(ALL_NUMBERS):
        yield Case((weights, values, w_o), total.norm(dim=-1), mistakes, "the lengths")

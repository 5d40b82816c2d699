"""Checks of appendix A4: three measures of what a head is worth, and a head that is cut out.

Shapes: B texts, S tokens, H heads, D_head numbers a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.checks.comparing import Code, call, check, compare, normal, require_parts
from utils.checks.mistakes import STRIDED

__all__ = ["cut_head", "head_ablation", "head_confidence", "head_gradient"]

B, S, H, D_HEAD = 5, 7, 3, 2
HEAD = 1  # the one that is cut out


def loss_of(masks: Tensor) -> Tensor:
    """Give the losses (B,) of made-up texts under masks (H,) or (B, H)."""
    return F.softplus((2 * normal(0)(B, H) * masks).sum(dim=-1))


@check
def head_ablation(function: Code) -> None:
    """Check ``function(loss_of, num_heads)``: how much the mean loss rises without each head.

    ``loss_of`` takes a mask (H,) and returns the losses of the texts, (B,); the result is (H,).
    """
    whole = loss_of(torch.ones(H))  # (B,)
    without = torch.stack([loss_of(1 - row) for row in torch.eye(H)])  # (H, B)
    alone = torch.stack([loss_of(row) for row in torch.eye(H)])
    rises = without - whole
    right = rises.mean(dim=1)
    mistakes = {
        "every head still has 0.": torch.zeros(H),
        "the sign is turned: positive where the loss rises without the head.": -right,
        "this is the loss without the head; take away the loss with all heads.": without.mean(1),
        "the head was kept and all others taken out; its mask is 0, theirs 1.": (
            (alone - whole).mean(dim=1)
        ),
        "the sizes are averaged; a head that hurts has a negative number.": rises.abs().mean(1),
        "this is the sum over the texts; the mean was asked for.": rises.sum(dim=1),
        "each text has its own number; take the mean over the texts.": rises,
        "each text has its own number; take the mean over the texts, (H,).": rises.T,
        "this is the size; a head that hurts has a negative number.": right.abs(),
    }
    compare(call(function, loss_of, H), right, "the result", mistakes)


@check
def head_gradient(function: Code) -> None:
    """Check ``function(loss_of, num_texts, num_heads)``: the mean size of the gradient of a mask.

    ``loss_of`` takes masks (B, H) and returns the losses of the texts, (B,); the result is (H,).
    """

    def at(value: float) -> Tensor:
        masks = torch.full((B, H), value, requires_grad=True)
        return torch.autograd.grad(loss_of(masks).sum(), masks)[0]  # (B, H)

    own = at(1.0)
    right = own.abs().mean(dim=0)
    inside = "take its size first, and the mean then: texts that want opposite things cancel."
    mistakes = {
        "every head still has 0.": torch.zeros(H),
        f"this is the size of the mean gradient; {inside}": own.mean(dim=0).abs(),
        f"this is the mean gradient with its sign; {inside}": own.mean(dim=0),
        f"this is the gradient of the summed loss; {inside}": own.sum(dim=0),
        f"this is the size of the summed gradient; {inside}": own.sum(dim=0).abs(),
        "the sizes are added up; take their mean over the texts.": own.abs().sum(dim=0),
        "each text has its own number; take the mean over the texts.": own.abs(),
        "these are the gradients of all texts; take their size, and the mean over the texts.": own,
        "the mean loss was differentiated, which divides every gradient by the number of texts; "
        "take the sum.": right / B,
        "the masks stand at 0; the gradient is asked for where they are 1.": at(0.0).abs().mean(0),
        "the mean runs over the heads; it should run over the texts.": own.abs().mean(dim=1),
        "this is the square of the gradient; its size was asked for.": own.square().mean(dim=0),
    }
    compare(call(function, loss_of, B, H), right, "the result", mistakes)


@check
def head_confidence(function: Code) -> None:
    """Check ``function(weights)``: the largest weight of a head, mean over the texts.

    ``weights`` is (B, H, S); the result is (H,).
    """
    weights = (2 * normal(1)(B, H, S)).softmax(dim=-1)
    largest = weights.amax(dim=-1)  # (B, H)
    first = "take the largest of each text first."
    mistakes = {
        "this is the weight of the first token; take the largest.": weights[:, :, 0].mean(dim=0),
        f"this is the largest of the mean weights; {first}": weights.mean(dim=0).amax(dim=-1),
        "this is the largest weight of any text; take the mean over the texts.": largest.amax(0),
        "each text has its own number; take the mean over the texts.": largest,
        "the mean runs over the heads; it should run over the texts.": largest.mean(dim=1),
        "the largest runs over the heads; it should run over the tokens.": weights.amax(1).mean(0),
        "this is the place of the largest weight; its size was asked for.": (
            weights.argmax(dim=-1).float().mean(dim=0)
        ),
        "this is the sum over the texts; the mean was asked for.": largest.sum(dim=0),
        "this is the mean weight, 1 / S in every head; take the largest.": weights.mean((0, 2)),
    }
    compare(call(function, weights), largest.mean(dim=0), "the result", mistakes)


@check
def cut_head(function: Code) -> None:
    """Check ``function(q_weight, out_weight, h, num_heads)``: both weights without one head.

    ``q_weight`` is (H * D_head, D) and ``out_weight`` (D, H * D_head), as ``nn.Linear`` keeps
    them. Returned are ((H - 1) * D_head, D) and (D, (H - 1) * D_head).
    """
    q_weight = normal(0)(H * D_HEAD, H * D_HEAD)  # square, so that rows and columns can be mixed up
    out_weight = normal(1)(H * D_HEAD, H * D_HEAD)
    own = torch.arange(H * D_HEAD) // D_HEAD == HEAD
    strided = torch.arange(H * D_HEAD) % H == HEAD
    result = call(function, q_weight.clone(), out_weight.clone(), HEAD, H)
    require_parts(result, 2, "two things: the two smaller weights")
    cut = {"rows": "its columns were cut; a head is rows of it.",
           "columns": "its rows were cut; a head is columns of it."}  # fmt: skip
    for name, got, weight, axis in (
        ("the query's weight", result[0], q_weight.T, "rows"),
        ("the last projection's weight", result[1], out_weight, "columns"),
    ):
        back = Tensor.t if axis == "rows" else torch.clone  # weight has the heads on its last axis
        mistakes = {
            f"{name} still has all heads.": weight,
            f"{name} holds the head alone; it should hold all others.": weight[:, own],
            STRIDED: weight[:, ~strided],
            f"{name}: heads are counted from 0.": weight[:, D_HEAD:],
            f"{name}: the last head was cut out instead.": weight[:, :-D_HEAD],
            f"{name}: the head was set to zero; cut it out.": weight * ~own,
            f"{name} lost one number; a head has D_head of them.": weight[
                :, torch.arange(H * D_HEAD) != HEAD
            ],
            f"{name}: {cut[axis]}": weight[~own],
            f"{name} is transposed.": weight[:, ~own].T,
        }
        told = {mistake: back(wrong) for mistake, wrong in mistakes.items()}
        compare(got, back(weight[:, ~own]), name, told)

"""Checks of chapter 9: a head set to zero, the gradient of its mask, its cut, its confidence."""

from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal, require_parts
from utils.checks.mistakes import STRIDED, wrong_means

__all__ = ["ablate_head", "confidence", "cut_head", "mask_gradient"]

B, T, S, H, D_HEAD, D = 3, 4, 5, 3, 2, 7
HEAD = 1  # the one that is taken out


@check
def ablate_head(function: Code) -> None:
    """Check ``function(joined, head, num_heads)``: one head of the joined heads set to zero.

    ``joined`` is (B, T, H * D_head) and must stay as it is; the result has its shape.
    """
    joined = normal(0)(B, T, H * D_HEAD)

    def zeroed(columns: Any) -> Tensor:
        result = joined.clone()
        result[..., columns] = 0.0
        return result

    expected = zeroed(slice(HEAD * D_HEAD, (HEAD + 1) * D_HEAD))
    mistakes = {
        "nothing was set to zero.": joined,
        "all other heads are gone; only this one should be.": joined - expected,
        STRIDED: zeroed(slice(HEAD, None, H)),
        "heads are counted from 0; this took out the one before.": zeroed(slice(D_HEAD)),
        "one number was set to zero; a head has D_head of them.": zeroed(HEAD),
        "the head was cut out; set it to zero and keep the shape.": joined[
            ..., [c for c in range(H * D_HEAD) if c // D_HEAD != HEAD]
        ],
    }
    given = joined.clone()
    compare(call(function, given, HEAD, H), expected, "the result", mistakes)
    if not torch.equal(given, joined):
        raise FaultError("the input was changed as well; work on a copy, such as x.clone().")


@check
def mask_gradient(function: Code) -> None:
    """Check ``function(losses_of, num_documents, num_heads)``: importance by the mask's gradient.

    ``losses_of`` takes masks (B, H) and returns losses (B,). The result is the mean over the
    documents of the size of the gradient of a document's loss by its masks, at 1, (H,).
    """
    weight = normal(0)(B, H)

    def losses_of(masks: Tensor) -> Tensor:
        return ((masks * weight).sum(dim=-1) - 0.3) ** 2  # (B, H) -> (B,)

    def gradient(value: float) -> Tensor:  # (B, H)
        return 2 * (value * weight.sum(dim=-1, keepdim=True) - 0.3) * weight

    mean, sizes = gradient(1.0).mean(dim=0), gradient(1.0).abs()  # (H,), (B, H)
    mistakes = {
        "documents cancel: take the size of each document's gradient before the mean.": mean.abs(),
        "this is the gradient with its sign; its size was asked for.": mean,
        "this is the sum over the documents; the mean was asked for.": sizes.sum(dim=0),
        "the size is the absolute value, not the square.": (sizes**2).mean(dim=0),
        "the masks stand at 0; they should stand at 1.": gradient(0.0).abs().mean(dim=0),
        "the documents are kept apart; take their mean, (H,).": sizes,
        "the mean runs over the heads; it should run over the documents.": sizes.mean(dim=1),
    }
    compare(call(function, losses_of, B, H), sizes.mean(dim=0), "the importance", mistakes)


@check
def cut_head(function: Code) -> None:
    """Check ``function(q_weight, out_weight, head, num_heads)``: both weights without one head.

    ``q_weight`` is (H * D_head, D) and ``out_weight`` (D, H * D_head), as ``nn.Linear`` keeps
    them. Returned are ((H - 1) * D_head, D) and (D, (H - 1) * D_head).
    """
    q_weight = normal(0)(H * D_HEAD, D)
    out_weight = normal(1)(D, H * D_HEAD)
    own = torch.arange(H * D_HEAD) // D_HEAD == HEAD
    strided = torch.arange(H * D_HEAD) % H == HEAD
    result = call(function, q_weight.clone(), out_weight.clone(), HEAD, H)
    require_parts(result, 2, "two things: the two smaller weights")
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
        }
        told = {mistake: back(wrong) for mistake, wrong in mistakes.items()}
        compare(got, back(weight[:, ~own]), name, told)


@check
def confidence(function: Code) -> None:
    """Check ``function(weights, padding)``: the mean largest weight of the queries that count.

    ``weights`` is (B, H, T, S), ``padding`` (B, T), True where a query is padding. The mean runs
    over all other queries of all documents; the result is (H,).
    """
    weights = (2 * normal(0)(B, H, T, S)).softmax(dim=-1)
    padding = torch.arange(T) >= torch.tensor([4, 2, 1]).unsqueeze(1)  # (B, T)

    counts = ~padding.unsqueeze(1)  # (B, 1, T)

    def mean(x: Tensor) -> Tensor:  # (B, H, T) -> (H,)
        return (x * counts).sum(dim=(0, 2)) / counts.sum()

    largest = weights.amax(dim=-1)  # (B, H, T)
    expected = mean(largest)
    by_document = ((largest * counts).sum(dim=2) / counts.sum(dim=2)).mean(dim=0)
    over_queries = (weights * counts.unsqueeze(-1)).amax(dim=2).mean(dim=(0, 2))
    mistakes = wrong_means(largest, counts, "padding", dim=(0, 2)) | {
        "each document counts alike, however short; each query should.": by_document,
        "the largest is sought over the queries; it should be sought over the keys.": over_queries,
        "this is the mean weight, not the largest one.": mean(weights.mean(dim=-1)),
        "the heads are averaged; keep them apart, (H,).": expected.mean(),
    }
    compare(call(function, weights, padding), expected, "the confidence", mistakes)

"""Mistakes that many chapters share: each is named here, once, and made on the check's own inputs.

A check says which families its function could show, each a dict from a sentence to a wrong result,
and joins them with its own: ``wrong_attention(q, k, v) | {"w_o is missing.": joined}``.

A family takes ``give``, which makes the compared result of what went wrong; by default it is that
itself. Shapes: T queries, S keys, H heads, D = H * D_head.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Wrong = dict[str, Any]  # from a sentence to the result, a Tensor or what ``give`` returns
Give = Callable[[Tensor], Any]
Split = Callable[[Tensor, int], Tensor]  # (..., T, D) and H to (..., H, T, D_head)

NO_SCALE = "the scale is missing: divide the scores by the root of D_head."
NO_SOFTMAX = "the softmax is missing: the scores are taken as they are."
WRONG_AXIS = "the softmax runs over the wrong axis, the queries; each row sums to one."
EXCHANGED = "queries and keys are exchanged: row t belongs to query t."
TRANSPOSED = "the weights are transposed: a row is one query's."
NO_MASK = "the mask is not used."
SWAPPED = "keys and values are swapped."
ZEROED = "a blocked score becomes 0; fill with -inf."
NO_BIAS = "the bias is missing."
STRIDED = "heads mixed up: a head takes every H-th number; its D_head numbers stand side by side."
UNSWAPPED = "heads mixed up: a reshape alone mixes tokens; swap the two axes by transpose."
HEAD_0 = "heads mixed up: all of them use what belongs to head 0."
KEYS_0 = "heads mixed up: all of them use the keys of head 0."
OTHER_KEYS = "heads mixed up: a head uses the keys of another."
REVERSED = "heads mixed up: they stand in reverse order."


def turned(means: str) -> str:
    """Say that a mask in which True ``means`` something is used the other way."""
    return f"the mask is the wrong way round: True means {means}."


def same(wrong: Tensor) -> Tensor:
    """Give what went wrong as it is."""
    return wrong


def soft(scores: Tensor, allowed: Tensor | None = None, dim: int = -1) -> Tensor:
    """Give the softmax of the scores (..., T, S), over the keys that are allowed, True."""
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return scores.softmax(dim)


def wrong_scales(products: Tensor, head_dim: int, give: Give = same, width: int = 0) -> Wrong:
    """Scale the products of queries and keys wrongly; ``width`` is D, where it is at hand."""
    wrong = {
        NO_SCALE: give(products),
        "the scores are divided by D_head; divide by its root.": give(products / head_dim),
    }
    if width:
        said = "the scores are divided by the root of D; it should be the root of D_head."
        wrong[said] = give(products / width**0.5)
    return wrong


def wrong_softmax(scores: Tensor, allowed: Tensor | None = None, give: Give = same) -> Wrong:
    """Turn scores (..., T, S) into weights wrongly."""
    kept = scores if allowed is None else scores.masked_fill(~allowed, -math.inf)
    missing = kept if give is same else kept.masked_fill(kept == -math.inf, 0.0)
    wrong = {
        NO_SOFTMAX: give(missing),
        WRONG_AXIS: give(kept.softmax(-2)),
        "the exponentials are not divided by their sum.": give(kept.exp()),
    }
    if scores.dim() == 4:
        said = "the softmax runs over the wrong axis, the heads; it should be the keys."
        wrong[said] = give(kept.softmax(1))
    if scores.shape[-2] == scores.shape[-1]:
        wrong[EXCHANGED] = give(soft(scores.mT, allowed))
        wrong[TRANSPOSED] = give(kept.softmax(-1).mT)
    return wrong


def wrong_masks(scores: Tensor, allowed: Tensor, means: str, give: Give = same) -> Wrong:
    """Mask scores (..., T, S) wrongly; for the reader True ``means`` "allowed" or the contrary."""
    return {
        NO_MASK: give(scores.softmax(-1)),
        turned(means): give(soft(scores, ~allowed)),
        "the mask comes after the softmax, so the rows no longer sum to one.": give(scores.softmax(-1) * allowed),
        ZEROED: give((scores * allowed).softmax(-1)),
    }


def wrong_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor | None = None,
    allowed: Tensor | None = None,
    means: str = "allowed",
    width: int = 0,
    give: Give = same,
) -> Wrong:
    """Make every mistake from q (..., T, D_head) and k, v (..., S, D_head) to what a head gives.

    Without ``v`` the weights are what is compared.
    """

    def mix(weights: Tensor) -> Any:
        return give(weights if v is None else weights @ v)

    def attend(scores: Tensor) -> Any:
        return mix(soft(scores, allowed))

    done = same if v is None and give is same else mix
    products, D_head = q @ k.mT, q.shape[-1]
    scores = products / D_head**0.5
    reshaped = k.reshape(*k.shape[:-2], D_head, -1)
    wrong = wrong_scales(products, D_head, attend, width) | {
        "the scale comes after the softmax.": mix(soft(products, allowed) / D_head**0.5),
        "the key is reshaped, not transposed.": attend(q @ reshaped / D_head**0.5),
    }
    wrong |= wrong_softmax(scores, allowed, done)
    if allowed is not None:
        wrong |= wrong_masks(scores, allowed, means, done)
    if k.dim() == 4:
        H = k.shape[1]
        for said, order in {KEYS_0: [0] * H, OTHER_KEYS: list(range(H))[::-1]}.items():
            weights = soft(q @ k[:, order].mT / D_head**0.5, allowed)
            wrong[said] = give(weights if v is None else weights @ v[:, order])
    if v is not None:
        wrong["the values are not weighed; mix them by the weights."] = give(v)
        wrong["the keys are mixed; mix the values."] = give(soft(scores, allowed) @ k)
        if v.shape == k.shape:
            by_values = soft(q @ v.mT / D_head**0.5, allowed)
            wrong[SWAPPED] = give(by_values @ k)
    return wrong


def split(x: Tensor, num_heads: int) -> Tensor:
    """Cut (..., T, D) into H strips of D_head columns, and stack them: (..., H, T, D_head)."""
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-3)


def strided(x: Tensor, num_heads: int) -> Tensor:
    """Split (..., T, D) so that a head takes every H-th column: (..., H, T, D_head)."""
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=-3)


def unswapped(x: Tensor, num_heads: int) -> Tensor:
    """Split (..., T, D) into (..., H, T, D_head) without a transpose."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


def join(x: Tensor) -> Tensor:
    """Put the heads of (..., H, T, D_head) side by side: (..., T, D)."""
    return torch.cat(x.unbind(dim=-3), dim=-1)


def unswapped_join(x: Tensor) -> Tensor:
    """Join (..., H, T, D_head) into (..., T, D) without a transpose."""
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


WRONG_SPLITS: dict[str, Split] = {STRIDED: strided, UNSWAPPED: unswapped}


def wrong_orders(heads: Tensor, dim: int, give: Give = same) -> Wrong:
    """Take heads that are cut already, along the axis ``dim``, in the wrong order."""
    first = heads.narrow(dim, 0, 1).expand_as(heads)
    return {HEAD_0: give(first), REVERSED: give(heads.flip(dim))}


def wrong_means(x: Tensor, counts: Tensor, means: str, dim: Any, keepdim: bool = False) -> Wrong:
    """Average over ``dim`` wrongly what ``counts``; the reader's mask ``means`` what does not."""
    counts = counts.expand_as(x)
    kept, number = x * counts, (~counts).sum(dim, keepdim).clamp(min=1)
    return {
        "the padding takes part.": x.mean(dim, keepdim),
        "padding is zero, but still counted: divide by how many are left.": kept.mean(dim, keepdim),
        "this is the sum; divide it by how many are left.": kept.sum(dim, keepdim),
        turned(means): (x - kept).sum(dim, keepdim) / number,
    }

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

from exercises.exercise import Wrong

Give = Callable[[Tensor], Any]
Split = Callable[[Tensor, int], Tensor]  # (..., T, D) and H to (..., H, T, D_head)

NO_MASK = "the mask is not used."
SWAPPED = "keys and values are swapped."
ZEROED = "a blocked score becomes 0; fill with -inf."
NO_BIAS = "the bias is missing."
STRIDED = "heads mixed up: a head takes every H-th number; its D_head numbers stand side by side."


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


def wrong_scales(products: Tensor, head_dim: int, give: Give = same) -> Wrong:
    """Scale the products of queries and keys wrongly."""
    return {
        "the scale is missing: divide the scores by the root of D_head.": give(products),
        "the scores are divided by D_head; divide by its root.": give(products / head_dim),
    }


def wrong_attention(q: Tensor, k: Tensor, v: Tensor | None = None, allowed: Tensor | None = None) -> Wrong:
    """Make every mistake from q (B, H, T, D_head) and k, v (B, H, S, D_head) to what the heads give.

    Without ``v`` the weights are what is compared.
    """

    def mix(weights: Tensor) -> Tensor:
        return weights if v is None else weights @ v

    def attend(scores: Tensor) -> Tensor:
        return mix(soft(scores, allowed))

    products, D_head = q @ k.mT, q.shape[-1]
    scores = products / D_head**0.5
    reshaped = k.reshape(*k.shape[:-2], D_head, -1)
    wrong = wrong_scales(products, D_head, attend) | {
        "the scale comes after the softmax.": mix(soft(products, allowed) / D_head**0.5),
        "the key is reshaped, not transposed.": attend(q @ reshaped / D_head**0.5),
    }
    kept = scores if allowed is None else scores.masked_fill(~allowed, -math.inf)
    wrong |= {
        "the softmax is missing: the scores are taken as they are.": mix(kept if v is None else kept.masked_fill(kept == -math.inf, 0.0)),
        "the softmax runs over the wrong axis, the queries; each row sums to one.": mix(kept.softmax(-2)),
        "the exponentials are not divided by their sum.": mix(kept.exp()),
        "the softmax runs over the wrong axis, the heads; it should be the keys.": mix(kept.softmax(1)),
    }
    if scores.shape[-2] == scores.shape[-1]:
        wrong["queries and keys are exchanged: row t belongs to query t."] = mix(soft(scores.mT, allowed))
        wrong["the weights are transposed: a row is one query's."] = mix(kept.softmax(-1).mT)
    if allowed is not None:
        wrong |= {
            NO_MASK: mix(scores.softmax(-1)),
            turned("allowed"): mix(soft(scores, ~allowed)),
            "the mask comes after the softmax, so the rows no longer sum to one.": mix(scores.softmax(-1) * allowed),
            ZEROED: mix((scores * allowed).softmax(-1)),
        }
    orders = {"all of them use the keys of head 0.": [0] * k.shape[1], "a head uses the keys of another.": list(range(k.shape[1]))[::-1]}
    for said, order in orders.items():
        weights = soft(q @ k[:, order].mT / D_head**0.5, allowed)
        wrong[f"heads mixed up: {said}"] = weights if v is None else weights @ v[:, order]
    if v is not None:
        wrong["the values are not weighed; mix them by the weights."] = v
        wrong["the keys are mixed; mix the values."] = soft(scores, allowed) @ k
        wrong[SWAPPED] = soft(q @ v.mT / D_head**0.5, allowed) @ k
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


WRONG_SPLITS: dict[str, Split] = {
    STRIDED: strided,
    "heads mixed up: a reshape alone mixes tokens; swap the two axes by transpose.": unswapped,
}


def wrong_orders(heads: Tensor, dim: int, give: Give = same) -> Wrong:
    """Take heads that are cut already, along the axis ``dim``, in the wrong order."""
    return {
        "heads mixed up: all of them use what belongs to head 0.": give(heads.narrow(dim, 0, 1).expand_as(heads)),
        "heads mixed up: they stand in reverse order.": give(heads.flip(dim)),
    }

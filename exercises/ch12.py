"""Checks of chapter 12: steps with a cache, what a step reads.

Shapes: B texts, T queries, S tokens in the cache, H heads.
"""

from typing import Any

import torch

from exercises.exercise import Case, Cases, Prediction, exercise, normal
from exercises.mistakes import NO_MASK, SWAPPED, ZEROED, soft, turned, wrong_attention


@exercise
def cached_steps() -> Cases:
    """Check ``function(q, k, v, keys, values)``: T new tokens attend, beside S in the cache.

    ``q``, ``k`` and ``v`` are those of the new tokens, (B, H, T, D_head), T >= 1; ``keys`` and
    ``values`` those of the S tokens before, (B, H, S, D_head), S may be 0. The result is what the
    heads give, (B, H, T, D_head), and all keys and values, (B, H, S + T, D_head).
    """
    draw = normal(12)
    for B, H, T, S, D_head in [(1, 2, 3, 4, 8), (2, 3, 1, 5, 4), (2, 2, 4, 0, 4)]:
        q, k, v = 2 * draw(3, B, H, T, D_head)
        old_k, old_v = draw(2, B, H, S, D_head)
        where = f"with {T} new tokens and {S} in the cache, "
        keys, values = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        wrong: dict[str, Any] = {}
        for i, (name, new, kept) in enumerate((("keys", k, keys), ("values", v, values))):
            told = {
                f"the new {name} are those of the new tokens alone; keep the old ones.": new,
                f"the {name} are as they were: add the new tokens'.": kept[:, :, :S],
                f"the new tokens come last, not first, in the {name}.": kept.roll(T, 2),
            }
            wrong |= {said: (None, None, made) if i else (None, made, None) for said, made in told.items()}
        allowed = torch.ones(T, S + T, dtype=torch.bool).tril(S)  # True = allowed
        scores = q @ keys.mT / D_head**0.5  # (B, H, T, S + T)
        top_left, shy, late = (torch.ones(T, S + T).tril(n).bool() for n in (0, S - 1, S + 1))
        mistakes = {
            "the mask counts from the top left, as is_causal=True does, so that new token 0 sees "
            "key 0 alone; it stands at place S, and sees S + 1 keys.": soft(scores, top_left) @ values,
            "a new token sees those after it; among themselves they need the causal mask.": scores.softmax(-1) @ values,
            "a new token sees the one after it too: new token 0 sees S + 1 keys.": soft(scores, late) @ values,
            "only the old tokens are seen: append first.": soft(q @ old_k.mT / D_head**0.5) @ old_v,
            turned("allowed"): soft(scores, ~allowed) @ values,
            "a new token does not see itself: new token 0 sees S + 1 keys, its own too.": soft(scores, shy).nan_to_num() @ values,
            "the mask is added to the scores; PyTorch's kernel blocks by one of bools.": soft(scores + allowed.float()) @ values,
            "the mask is multiplied into the scores: a score of 0 is no block.": soft(scores * allowed) @ values,
        }
        shared = wrong_attention(q, keys, values, allowed)
        mistakes |= {said: made for said, made in shared.items() if said not in (NO_MASK, ZEROED)}  # said above already
        wrong |= {said: (made, None, None) for said, made in mistakes.items()}
        wrong[SWAPPED] = (mistakes[SWAPPED], values, keys)
        given, right = (q, k, v, old_k, old_v), (soft(scores, allowed) @ values, keys, values)
        what, parts = (f"{where}the output", f"{where}the keys", f"{where}the values"), "three things: output, keys and values"
        yield Case(given, right, wrong, what, parts, order=(1, 2, 0))


@exercise
def cache_as_large() -> Cases:
    """Check after how many tokens the cache has as many numbers as the weights: 12 D^2 to 2 D each.

    D is 1,024; a block has 4 D^2 weights for attention and 8 D^2 for its feed-forward network.
    """
    mistakes = {
        2 * 1024: "this leaves out the feed-forward network: it has 8 D^2 weights more.",
        4 * 1024: "these are the weights of the feed-forward network alone; attention has 4 D^2.",
        12 * 1024: "a token keeps a key and a value, 2 D numbers.",
        24 * 1024: "bytes for weights, numbers for the cache? Both have four bytes a number.",
        3 * 1024: "a token keeps a key and a value of D numbers each, 2 D, and not 4 D.",
    }
    other = "per layer: 4 D^2 weights of attention and those of the feed-forward network; how many numbers does a token keep?"
    yield Prediction("the number of tokens", (6 * 1024 - 1.5, 6 * 1024 + 1.5), mistakes, 1.5, other)

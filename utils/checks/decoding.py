"""Checks of the exercises on decoding: a cached step, shared heads, room for a cache, latent keys.

Shapes: B texts, T queries, S tokens in the cache, H heads, H_kv heads of keys and values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from utils.checks.comparing import FaultError, as_number, call, check, compare, require_parts


@check
def cached_step(function: Callable[..., Any]) -> None:
    """Check ``function(q, k, v, keys, values)``, a step of decoding with a key-value cache.

    ``q``, ``k`` and ``v`` are those of the newest token, (B, H, 1, D_head); ``keys`` and ``values``
    are those of the S tokens before, (B, H, S, D_head), and S may be 0. The result is what the
    heads give for the newest token, (B, H, 1, D_head), and the new keys and values, (B, H, S + 1,
    D_head), in the order of the text.
    """
    generator = torch.Generator().manual_seed(12)
    for B, H, S, D_head in [(2, 3, 5, 4), (1, 2, 1, 8), (2, 2, 0, 4)]:
        q, k, v = 2 * torch.randn(3, B, H, 1, D_head, generator=generator)
        old_k, old_v = torch.randn(2, B, H, S, D_head, generator=generator)
        result = call(function, q.clone(), k.clone(), v.clone(), old_k.clone(), old_v.clone())
        require_parts(result, 3, "three things: output, keys and values")
        where = f"with {S} tokens in the cache, "
        keys, values = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        kept = zip(("keys", "values"), result[1:], (k, v), (keys, values), strict=True)
        for name, got, new, expected in kept:
            mistakes = {
                f"the new {name} are those of the newest token alone; keep the old ones.": new,
                f"the {name} are as they were: add the newest token's.": expected[:, :, :-1],
                f"the newest token comes last, not first, in the {name}.": expected.roll(1, 2),
                "keys and values are swapped.": values if name == "keys" else keys,
            }
            compare(got, expected, f"{where}the {name}", mistakes)
        scores = q @ keys.mT / math.sqrt(D_head)  # (B, H, 1, S + 1)
        mistakes = {
            "the scale is missing: divide by sqrt(D_head).": _mix(scores * D_head**0.5, values),
            "the softmax runs over the queries; it runs over the keys.": _mix(scores, values, -2),
            "the newest token sees itself: append first.": _mix(scores[..., :-1], old_v),
            "there is no softmax: the weights of a query sum to one.": scores @ values,
            "the keys are mixed; mix the values.": _mix(scores, keys),
            "it attends across the heads; each head has its own keys.": _mix(
                q @ keys.flip(1).mT / math.sqrt(D_head), values.flip(1)
            ),
        }
        compare(result[0], _mix(scores, values), f"{where}the output", mistakes)


def _mix(scores: Tensor, values: Tensor, dim: int = -1) -> Tensor:
    return scores.softmax(dim=dim) @ values


@check
def repeated_key_heads(function: Callable[..., Any]) -> None:
    """Check ``function(k, num_heads)``: (B, H_kv, S, D_head) -> (B, num_heads, S, D_head).

    Head h of the result is the key head that query head h reads: number h // (H / H_kv).
    """
    generator = torch.Generator().manual_seed(12)
    for kv_heads, num_heads in [(2, 6), (4, 8), (1, 4), (3, 3)]:
        k = torch.randn(2, kv_heads, 5, 4, generator=generator)
        times = num_heads // kv_heads
        tiled = k.repeat(1, times, 1, 1)
        mistakes = {
            "the heads are laid like tiles, 0 1 0 1: neighbours share a head, 0 0 1 1.": tiled,
            "the tokens are repeated; repeat the heads.": k.repeat_interleave(times, dim=2),
            "all heads have key head 0.": k[:, :1].expand(-1, num_heads, -1, -1),
        }
        expected = k[:, [h // times for h in range(num_heads)]]
        what = f"for {kv_heads} key heads and {num_heads} query heads, the result"
        compare(call(function, k.clone(), num_heads), expected, what, mistakes)


@check
def tokens_that_fit(function: Callable[..., Any]) -> None:
    """Check ``function(room, texts, layers, num_kv_heads, head_dim)``: the longest possible texts.

    ``room`` is in bytes, and a number takes two bytes (half precision). The result is an int, the
    number of tokens that each of the texts may have so that all their caches fit.
    """
    for sizes in [(2**30, 5, 24, 32, 128), (16 * 2**30, 7, 80, 8, 128), (10**6, 2, 3, 1, 64)]:
        room, texts, layers, heads, width = sizes
        got = as_number(call(function, *sizes), "the result")
        a_token = 2 * 2 * layers * heads * width
        expected = room // (texts * a_token)
        mistakes = {
            "count keys and values, both, and two bytes for each number.": a_token / 2,
            "a number takes two bytes in half precision, not four.": a_token * 2,
            "every layer has a cache of its own.": a_token / layers,
            "every key head has keys of its own.": a_token / heads,
            "a key holds head_dim numbers.": a_token / width,
            "this is for all texts together; give what each may have.": a_token / texts,
        }
        if got != expected:
            named = [said for said, size in mistakes.items() if got == room // (texts * size)]
            if abs(got - expected) <= 1:
                named = ["give whole tokens, rounded down."]
            said = f"for {sizes}, the result is {got:,}; expected {expected:,}."
            raise FaultError(named[0] if named else said)


@check
def absorbed_heads(function: Callable[..., Any]) -> None:
    """Check ``function(q, c, w_k, w_v)``: attention to latent vectors, whose keys are never built.

    ``q`` is (B, H, T, D_head), ``c`` (B, S, R), ``w_k`` and ``w_v`` (H, D_head, R): the key of head
    h and token j would be ``w_k[h] @ c[b, j]``, and the value alike. No mask. The result is what
    the heads give, (B, H, T, D_head).
    """
    generator = torch.Generator().manual_seed(12)
    for B, H, T, S, D_head, R in [(2, 3, 1, 40, 4, 6), (1, 2, 2, 50, 6, 4)]:
        q, c = (
            torch.randn(*shape, generator=generator) for shape in [(B, H, T, D_head), (B, S, R)]
        )
        w_k, w_v = torch.randn(2, H, D_head, R, generator=generator)
        k, v = c.unsqueeze(1) @ w_k.mT, c.unsqueeze(1) @ w_v.mT  # (B, H, S, D_head)
        scores = q @ k.mT / math.sqrt(D_head)  # (B, H, T, S)
        mistakes = {
            "the scale is missing: divide by sqrt(D_head).": _mix(scores * math.sqrt(D_head), v),
            "the scale is the root of D_head, not of R.": _mix(scores * (D_head / R) ** 0.5, v),
            "the softmax runs over the wrong axis; it runs over the tokens.": _mix(scores, v, -2),
            "these are mixtures of latent vectors; w_v is missing.": _mix(scores, c.unsqueeze(1)),
            "w_k and w_v are swapped.": _mix(q @ v.mT / math.sqrt(D_head), k),
            "the heads are mixed up: head h has w_k[h] and w_v[h].": _mix(
                q @ k.flip(1).mT / math.sqrt(D_head), v.flip(1)
            ),
        }
        with FlopCounterMode(display=False) as counter:
            got = call(function, q.clone(), c.clone(), w_k.clone(), w_v.clone())
        compare(got, _mix(scores, v), f"for T = {T} and S = {S}, the result", mistakes, atol=1e-4)
        done, least = counter.get_total_flops() // 2, 2 * B * H * T * R * (D_head + S)
        if done > 1.1 * least:
            raise FaultError(
                f"right, but with {done:,} multiply-adds instead of {least:,}: bring the query to "
                "the latent vectors, and never build the keys and values of all tokens."
            )

"""Checks of chapter 13: steps with a cache, shared heads of keys, guesses, latent keys.

Shapes: B texts, T queries, S tokens in the cache, H heads.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from utils.checks.comparing import (
    Code,
    FaultError,
    call,
    check,
    compare,
    compare_numbers,
    compare_work,
    normal,
    require_parts,
)
from utils.checks.mistakes import HEAD_0, soft, turned, wrong_attention

__all__ = [
    "absorbed_heads",
    "accepted_tokens",
    "cached_steps",
    "grouped_heads",
    "tokens_that_fit",
]


@check
def cached_steps(function: Code) -> None:
    """Check ``function(q, k, v, keys, values)``: T new tokens attend, beside S in the cache.

    ``q``, ``k`` and ``v`` are those of the new tokens, (B, H, T, D_head), T >= 1; ``keys`` and
    ``values`` those of the S tokens before, (B, H, S, D_head), S may be 0. The result is what the
    heads give, (B, H, T, D_head), and all keys and values, (B, H, S + T, D_head).
    """
    draw = normal(12)
    for B, H, T, S, D_head in [(1, 2, 3, 4, 8), (2, 3, 1, 5, 4), (2, 2, 4, 0, 4)]:
        q, k, v = 2 * draw(3, B, H, T, D_head)
        old_k, old_v = draw(2, B, H, S, D_head)
        result = call(function, q.clone(), k.clone(), v.clone(), old_k.clone(), old_v.clone())
        require_parts(result, 3, "three things: output, keys and values")
        where = f"with {T} new tokens and {S} in the cache, "
        keys, values = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        kept = zip(("keys", "values"), result[1:], (k, v), (keys, values), strict=True)
        for name, got, new, expected in kept:
            mistakes = {
                f"the new {name} are those of the new tokens alone; keep the old ones.": new,
                f"the {name} are as they were: add the new tokens'.": expected[:, :, :S],
                f"the new tokens come last, not first, in the {name}.": expected.roll(T, 2),
                "keys and values are swapped.": values if name == "keys" else keys,
            }
            compare(got, expected, f"{where}the {name}", mistakes)
        allowed = torch.ones(T, S + T, dtype=torch.bool).tril(S)  # True = allowed
        scores = q @ keys.mT / D_head**0.5  # (B, H, T, S + T)
        top_left, shy, late = (torch.ones(T, S + T).tril(n).bool() for n in (0, S - 1, S + 1))
        mistakes = {
            "the mask counts from the top left, as is_causal=True does, so that new token 0 sees "
            "key 0 alone; it stands at place S, and sees S + 1 keys.": soft(scores, top_left)
            @ values,
            "a new token sees those after it; among themselves they need the causal mask.": (
                scores.softmax(-1) @ values
            ),
            "a new token sees the one after it too: new token 0 sees S + 1 keys.": (
                soft(scores, late) @ values
            ),
            "only the old tokens are seen: append first.": soft(q @ old_k.mT / D_head**0.5) @ old_v,
            turned("allowed"): soft(scores, ~allowed) @ values,
            "a token sees itself: append first.": soft(scores, shy).nan_to_num() @ values,
        } | wrong_attention(q, keys, values, allowed)
        compare(result[0], soft(scores, allowed) @ values, f"{where}the output", mistakes)


class _Largest(TorchDispatchMode):
    """Note how many numbers the largest result of an operation has; one seen wide counts too."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


@check
def grouped_heads(function: Code) -> None:
    """Check ``function(q, k, v)``: H heads of queries attend to H_kv heads of keys, no mask.

    ``q`` and the result are (B, H, T, D_head), ``k`` and ``v`` (B, H_kv, S, D_head); query head h
    reads key head h // (H / H_kv). No key may be repeated, nor seen as if it were.
    """
    draw = normal(12)
    for H_kv, H, T in [(2, 6, 3), (4, 8, 1), (1, 4, 2), (3, 3, 2)]:
        q, times = draw(2, H, T, 8), H // H_kv
        k, v = draw(2, 2, H_kv, 5, 8)
        wide_k, wide_v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        tiles, first = [h % H_kv for h in range(H)], [0] * H

        def heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return soft(q @ k.mT / 8**0.5) @ v

        flat = q.transpose(1, 2).reshape(2, H_kv, -1, 8)  # (B, H_kv, times * T, D_head)
        mistakes = {
            "the key heads are laid like tiles, 0 1 0 1; it is 0 0 1 1.": (
                heads(q, k[:, tiles], v[:, tiles])
            ),
            HEAD_0: heads(q, k[:, first], v[:, first]),
            "the rows of a group come out in another order than they went in.": (
                heads(flat, k, v).reshape(q.shape)
            ),
        } | wrong_attention(q, wide_k, wide_v)
        what = f"for {H_kv} key heads, {H} query heads and {T} new tokens, the result"
        with _Largest() as largest:
            got = call(function, q.clone(), k.clone(), v.clone())
        compare(got, heads(q, wide_k, wide_v), what, mistakes)
        if times > 1 and largest.numbers >= wide_k.numel():
            raise FaultError(
                "right, but keys or values were repeated, as a broadcast product also does: make "
                "the queries of a group rows of one matrix."
            )


@check
def tokens_that_fit(function: Code) -> None:
    """Check ``function(room, texts, layers, num_kv_heads, head_dim)``: the longest possible texts.

    ``room`` is in bytes, and a number takes two bytes (half precision). The result is an int, the
    number of tokens that each of the texts may have so that all their caches fit.
    """
    cases = []
    for sizes in [(2**30, 5, 24, 32, 128), (16 * 2**30, 7, 80, 8, 128), (10**6, 2, 3, 1, 64)]:
        room, texts, layers, heads, width = sizes
        a_token = 2 * 2 * layers * heads * width  # bytes
        bytes_of = {
            "count keys and values, both, and two bytes for each number.": texts * a_token / 2,
            "a number takes two bytes in half precision, not four.": texts * a_token * 2,
            "every layer has a cache of its own.": texts * a_token / layers,
            "every key head has keys of its own.": texts * a_token / heads,
            "a key holds head_dim numbers.": texts * a_token / width,
            "this is for all texts together; give what each may have.": a_token,
        }
        right = room // (texts * a_token)
        mistakes = {said: room // size for said, size in bytes_of.items()}
        mistakes |= {"round down, not up.": right + 1, "round down.": room / (texts * a_token)}
        cases.append((call(function, *sizes), right, f"for {sizes}, the result", mistakes))
    compare_numbers(cases)


@check
def accepted_tokens(function: Code) -> None:
    """Check ``function(guesses, answers)``: what one pass over k guesses writes.

    ``guesses`` (k,) were given to the model after the text so far, ``answers`` (k + 1,) is its
    choice after the text, after the first guess, ..., after the last. The result holds the guesses
    that the model would have written and the answer after them, (n + 1,), 0 <= n <= k.
    """
    cases = [  # guesses, answers
        ([5, 2, 7, 7], [5, 2, 9, 7, 4]),  # the third is wrong, the fourth right by chance
        ([3, 1], [4, 1, 8]),  # none
        ([6, 6, 2], [6, 6, 2, 9]),  # all
        ([], [3]),
        ([1, 2, 3], [1, 1, 2, 3]),  # each guess is the answer one place later
        ([4], [4, 4]),
    ]
    for given, said in cases:
        guesses, answers = torch.tensor(given, dtype=torch.int64), torch.tensor(said)
        same = guesses == answers[:-1]
        n = int(same.long().cumprod(0).sum())
        late = int((guesses == answers[1:]).long().cumprod(0).sum())
        mistakes = {
            "stop at the first wrong guess: a later one was made after a wrong text.": (
                answers[: int(same.sum()) + 1]
            ),
            "only the right ones of all guesses are kept; stop at the first wrong one.": (
                torch.cat([guesses[same], answers[-1:]])
            ),
            "the model's own answer is missing: after the last right guess comes its token.": (
                guesses[:n]
            ),
            "the last token is the wrong guess; write the model's answer in its place.": (
                guesses[: n + 1]
            ),
            "compare guess i with answer i: the answer after the text is for the first guess.": (
                answers[1 : late + 2]
            ),
            "compare guess i with answer i, not with the one after it.": answers[: late + 1],
            "these are all answers; those after a wrong guess do not count.": answers,
            "these are all guesses, right or wrong.": guesses,
        }
        got = call(function, guesses.clone(), answers.clone())
        if isinstance(got, list | tuple):
            got = torch.tensor([int(token) for token in got], dtype=torch.int64)
        what = f"for guesses {given} and answers {said}, the result"
        compare(got, answers[: n + 1], what, mistakes)


@check
def absorbed_heads(function: Code) -> None:
    """Check ``function(q, c, w_k, w_v)``: attention to latent vectors, whose keys are never built.

    ``q`` is (B, H, T, D_head), ``c`` (B, S, R), ``w_k`` and ``w_v`` (H, D_head, R); head h's key of
    token j would be ``w_k[h] @ c[b, j]``, its value alike. The result is (B, H, T, D_head).
    """
    draw = normal(12)
    for B, H, T, S, D_head, R in [(2, 3, 1, 40, 4, 6), (1, 2, 2, 50, 6, 4)]:
        q, c, (w_k, w_v) = draw(B, H, T, D_head), draw(B, S, R), draw(2, H, D_head, R)
        k, v = c.unsqueeze(1) @ w_k.mT, c.unsqueeze(1) @ w_v.mT  # (B, H, S, D_head)
        weights, by_R = soft(q @ k.mT / D_head**0.5), soft(q @ k.mT / R**0.5)  # (B, H, T, S)
        mistakes = wrong_attention(q, k, v) | {
            "the scale is the root of D_head, not of R.": by_R @ v,
            "these are mixtures of latent vectors; w_v is missing.": weights @ c.unsqueeze(1),
        }
        what, waste = f"for T = {T} and S = {S}, the result", "keys and values of all were built"
        enough, inputs = round(2.2 * B * H * T * R * (D_head + S)), (q, c, w_k, w_v)
        compare_work(function, inputs, weights @ v, what, mistakes, enough, waste)

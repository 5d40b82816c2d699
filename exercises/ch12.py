"""Checks of chapter 12: steps with a cache, shared heads of keys, pages, guesses.

Shapes: B texts, T queries, S tokens in the cache, H heads.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, compare, exercise, normal
from exercises.mistakes import HEAD_0, KEYS_0, NO_MASK, SWAPPED, ZEROED, soft, turned, wrong_attention


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
            "a new token sees those after it; among themselves they need the causal mask.": (scores.softmax(-1) @ values),
            "a new token sees the one after it too: new token 0 sees S + 1 keys.": (soft(scores, late) @ values),
            "only the old tokens are seen: append first.": soft(q @ old_k.mT / D_head**0.5) @ old_v,
            turned("allowed"): soft(scores, ~allowed) @ values,
            "a new token does not see itself: new token 0 sees S + 1 keys, its own too.": (soft(scores, shy).nan_to_num() @ values),
            "the mask is added to the scores; PyTorch's kernel blocks by one of bools.": (soft(scores + allowed.float()) @ values),
            "the mask is multiplied into the scores: a score of 0 is no block.": (soft(scores * allowed) @ values),
        }
        shared = wrong_attention(q, keys, values, allowed)
        mistakes |= {said: made for said, made in shared.items() if said not in (NO_MASK, ZEROED)}  # said above already
        wrong |= {said: (made, None, None) for said, made in mistakes.items()}
        wrong[SWAPPED] = (mistakes[SWAPPED], values, keys)
        given, right = (q, k, v, old_k, old_v), (soft(scores, allowed) @ values, keys, values)
        what, parts = (f"{where}the output", f"{where}the keys", f"{where}the values"), "three things: output, keys and values"
        yield Case(given, right, wrong, what, parts, order=(1, 2, 0))


class _Largest(TorchDispatchMode):
    """Note how many numbers the largest result of an operation has; one seen wide counts too.

    And note whether PyTorch's kernel was given fewer heads of keys than of queries.
    """

    numbers, grouped = 0, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if "scaled_dot_product" in str(func) and args[0].shape[1] != args[1].shape[1]:
            self.grouped = True
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


@exercise
def grouped_heads() -> Cases:
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

        apart = q.unflatten(1, (times, H_kv)).transpose(1, 2)  # head h in group h % H_kv
        flat = q.transpose(1, 2).reshape(2, H_kv, -1, 8)  # (B, H_kv, times * T, D_head)
        mistakes = {
            "the key heads are laid like tiles, 0 1 0 1; it is 0 0 1 1.": (heads(q, k[:, tiles], v[:, tiles])),
            HEAD_0: heads(q, k[:, first], v[:, first]),
            "the rows of a group come out in another order than they went in.": (heads(flat, k, v).reshape(q.shape)),
            "heads far apart share a group, and come out in its order; neighbours share one.": (
                heads(apart.reshape(2, H_kv, -1, 8), k, v).reshape(q.shape)
            ),
        } | wrong_attention(q, wide_k, wide_v)
        del mistakes[KEYS_0]  # there is no mask: the same as HEAD_0
        what = f"for {H_kv} key heads, {H} query heads and {T} new tokens, the result"
        right = heads(q, wide_k, wide_v)
        with _Largest() as largest:
            try:
                yield Case((q, k, v), right, mistakes, what)
            except FaultError as fault:
                if T > 1 and "is invalid for input of size" in str(fault):
                    raise FaultError(f"here T is {T}, not 1: a group has H / H_kv * T rows ({fault})") from fault
                raise
        if largest.grouped:
            raise FaultError(
                "right, but it is PyTorch's enable_gqa that grouped the heads: do it yourself, "
                "with the queries of a group as rows of one matrix."
            )
        if times > 1 and largest.numbers >= wide_k.numel():
            raise FaultError(
                "right, but keys or values were repeated, as a broadcast product also does: make the queries of a group rows of one matrix."
            )


@check
def gathered_pages(function: Code) -> None:
    """Check ``function(room, table, length)``: the keys and values of a text, from its pages.

    ``room`` is (2, pages, H_kv, page, D_head), ``table`` the numbers of the text's pages in their
    order. The result is (2, H_kv, length, D_head), 1 <= length <= page * len(table).
    """
    draw = normal(12)
    for table, length, H_kv in [([6, 2, 5], 10, 2), ([3, 0], 8, 3), ([4, 1], 5, 2)]:
        room = draw(2, 7, H_kv, 4, 5)
        pages = [room[:, number] for number in table]  # (2, H_kv, page, D_head) each
        right = torch.cat(pages, dim=2)
        mixed = torch.stack(pages, dim=1).reshape(right.shape)
        first = torch.cat([room[:, n] for n in range(len(table))], dim=2)
        in_order = torch.cat([room[:, n] for n in sorted(table)], dim=2)
        mistakes = {
            "the last page need not be full: give `length` rows.": right,
            "heads mixed up: a page holds all heads; bring its axis beside that of the rows before two axes become one.": mixed[
                :, :, :length
            ],
            "these are the first pages of the memory; take those of the table.": (first[:, :, :length]),
            "the pages stand in the memory's order; take them in the table's.": (in_order[:, :, :length]),
            "these are the last rows; the first `length` are the text's.": right[:, :, -length:],
        }
        if length == right.shape[2]:  # nothing to cut, so nothing of it can be wrong
            mistakes = {said: wrong for said, wrong in mistakes.items() if "`" not in said}
        got = call(function, room.clone(), list(table), length)
        if isinstance(got, list | tuple) and all(isinstance(part, Tensor) for part in got):
            got = torch.stack([*got]) if len({part.shape for part in got}) == 1 else got
        compare(got, right[:, :, :length], f"for the pages {table}, the result", mistakes)


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
            "stop at the first wrong guess: a later one was made after a wrong text.": (answers[: int(same.sum()) + 1]),
            "only the right ones of all guesses are kept; stop at the first wrong one.": (torch.cat([guesses[same], answers[-1:]])),
            "the model's own answer is missing: after the last right guess comes its token.": (guesses[:n]),
            "the last token is the wrong guess; write the model's answer in its place.": (guesses[: n + 1]),
            "compare guess i with answer i: the answer after the text is for the first guess.": (answers[1 : late + 2]),
            "compare guess i with answer i, not with the one after it.": answers[: late + 1],
            "after the last right guess comes its own answer, not the last of all.": (torch.cat([guesses[:n], answers[-1:]])),
            "where no guess is wrong, argmax gives 0; then all answers count.": answers[:1],
            "these are all answers; those after a wrong guess do not count.": answers,
            "these are all guesses, right or wrong.": guesses,
        }
        try:
            got = call(function, guesses.clone(), answers.clone())
        except FaultError as fault:
            if n == len(given) and "IndexError" in str(fault):
                raise FaultError(f"all guesses are right here: stop at their end ({fault})") from fault
            raise
        if isinstance(got, list | tuple):
            tokens = [as_number(token, f"each token for guesses {given}") for token in got]
            got = torch.tensor(tokens, dtype=torch.float64)
        what = f"for guesses {given} and answers {said}, the result"
        compare(got, answers[: n + 1], what, mistakes)

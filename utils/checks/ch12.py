"""Checks of chapter 12: the online softmax and its tiles, a cached step, shared heads, latent keys.

Shapes: rows queries and n keys in a tile; B texts, T queries, S tokens in the cache, H heads.
"""

import math
from functools import partial

import torch
from torch import Tensor

from utils.checks.comparing import (
    Code,
    call,
    check,
    compare,
    compare_numbers,
    compare_work,
    normal,
    require_parts,
)
from utils.checks.mistakes import HEAD_0, NO_MASK, soft, turned, wrong_attention, wrong_scales

__all__ = [
    "absorbed_heads",
    "cached_step",
    "one_tile",
    "online_step",
    "repeated_key_heads",
    "tiles_visited",
    "tokens_that_fit",
]

State = tuple[Tensor, Tensor, Tensor]  # top, total and mixed
LOWEST = torch.finfo(torch.float32).min  # the largest score before any was read


@check
def online_step(function: Code) -> None:
    """Check ``function(top, total, scores)``: one step of the online softmax.

    ``top`` and ``total`` are (rows, 1), ``scores`` is (rows, n) and may hold -inf. The result is
    the new ``top`` and the new ``total``, both (rows, 1).
    """
    for n, start in [(5, True), (4, False), (3, False), (1, False)]:
        scores = 2 * normal(n)(3, n)
        if start:  # a query may see nothing in the first tile
            scores[0] = scores[1, 0] = -math.inf
        top, total = _read_so_far(scores, start)
        result = call(function, top.clone(), total.clone(), scores.clone())
        require_parts(result, 2, "two tensors: top and total")
        largest = scores.amax(dim=-1, keepdim=True)
        right = torch.maximum(top, largest)
        mistakes = {
            "top is the old one; the tile may hold a larger score.": top,
            "top is the largest score of the tile alone; the old top counts as well.": largest,
            "top is the largest of all rows; each row has its own.": right.max().expand(3, 1),
            "top has lost its last dimension; keepdim=True keeps it.": right.squeeze(-1),
        }
        compare(result[0], right, "the new top", mistakes)
        down, new = (top - right).exp(), (scores - right).exp().sum(dim=-1, keepdim=True)
        own = (scores - largest.clamp(min=LOWEST)).exp().sum(dim=-1, keepdim=True)
        mistakes = {
            "the old total is not rescaled to the new top.": total + new,
            "the old total is rescaled the wrong way round.": total / down + new,
            "the old total is missing.": new,
            "the scores of the tile are measured from their own largest one.": total * down + own,
            "the scores of the tile are measured from the old top.": total * down + new / down,
            "the new part is rescaled too; it is measured from the new top.": (total + new) * down,
            "the sum runs over all queries; sum over the keys of each.": total * down + new.sum(),
        }
        compare(result[1], total * down + new, "the new total", mistakes)


@check
def one_tile(function: Code) -> None:
    """Check ``function(state, q, k, v, mask)``: some queries read one tile of keys and values.

    ``state`` is (top, total, mixed), of shapes (rows, 1), (rows, 1) and (rows, D_value); q is
    (rows, D_head), k (n, D_head), v (n, D_value) and mask (rows, n), True = allowed. The result is
    the new state: three tensors of the same shapes.
    """
    for n, start in [(5, True), (4, False), (3, False)]:
        generator = torch.Generator().manual_seed(n)
        q, k, v = (torch.randn(s, generator=generator) for s in [(3, 4), (n, 4), (n, 2)])
        top, total = _read_so_far(q @ k.T / 2, start)
        mixed = torch.zeros(3, 2) if start else torch.randn(3, 2, generator=generator)
        mask = torch.rand(3, n, generator=generator) < 0.6
        mask[0], mask[1] = False, True  # one query sees nothing in this tile, one sees all
        result = call(function, (top.clone(), total.clone(), mixed.clone()), q, k, v, mask)
        require_parts(result, 3, "three tensors: top, total and mixed")
        products, read = q @ k.T, partial(_tile, (top, total, mixed), v, mask=mask)
        right = read(products / 2)
        faults = wrong_scales(products, 4, read) | {
            NO_MASK: read(products / 2, mask=mask | True),
            turned("allowed"): read(products / 2, mask=~mask),
        }
        added = right[2] - mixed * (top - right[0]).exp()
        of_top = {"the state is the old one; the tile may hold a larger score.": top}
        of_mixed = {
            "what was mixed before is not rescaled to the new top.": mixed + added,
            "what was mixed before is missing.": added,
            "mixed is divided by the total already; that comes last.": right[2] / right[1],
        }
        for i, (name, own) in enumerate({"top": of_top, "total": {}, "mixed": of_mixed}.items()):
            mistakes = {said: wrong[i] for said, wrong in faults.items()} | own
            compare(result[i], right[i], f"the new {name}", mistakes)


@check
def tiles_visited(function: Code) -> None:
    """Check ``function(T, window, tile)``: how many tiles of a causal window are computed.

    T queries and keys are cut into tiles of ``tile``; query t sees the keys t - window + 1 to t.
    The result is an int: the tiles in which a query sees a key.
    """
    found = []
    sizes = [(8, 4, 2), (8, 1, 2), (12, 3, 4), (16, 5, 4), (16, 6, 4), (10, 4, 4), (9, 20, 2)]
    for T, window, tile in sizes:
        back = torch.arange(T).unsqueeze(1) - torch.arange(T)
        n, past = math.ceil(T / tile), back >= 0
        seen = past & (back < window)
        mistakes = {
            "these are the tiles of all pairs; most are never seen.": n * n,
            "these are all causal tiles; the window leaves out more.": n * (n + 1) // 2,
            "these look to both sides; a query sees no later key.": _count(seen | seen.T, tile),
            "the window is one too wide; it includes t.": _count(past & (back <= window), tile),
            "the window is one too narrow.": _count(past & (back < window - 1), tile),
            "these are pairs; count tiles.": int(seen.sum()),
        }
        where = f"for T = {T}, window = {window}, tile = {tile}"
        found.append((call(function, T, window, tile), _count(seen, tile), where, mistakes))
    compare_numbers(found, "{what} you count {got} tiles: it is {right}.", whole=True)


@check
def cached_step(function: Code) -> None:
    """Check ``function(q, k, v, keys, values)``, a step of decoding with a key-value cache.

    ``q``, ``k`` and ``v`` are those of the newest token, (B, H, 1, D_head); ``keys`` and ``values``
    those of the S tokens before, (B, H, S, D_head), S may be 0. The result is what the heads give,
    (B, H, 1, D_head), and the new keys and values, (B, H, S + 1, D_head), in the text's order.
    """
    draw = normal(12)
    for B, H, S, D_head in [(2, 3, 5, 4), (1, 2, 1, 8), (2, 2, 0, 4)]:
        q, k, v = 2 * draw(3, B, H, 1, D_head)
        old_k, old_v = draw(2, B, H, S, D_head)
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
        mistakes = wrong_attention(q, keys, values) | {
            "the newest token sees itself: append first.": soft(q @ old_k.mT / D_head**0.5) @ old_v,
        }
        compare(result[0], soft(q @ keys.mT / D_head**0.5) @ values, f"{where}the output", mistakes)


@check
def repeated_key_heads(function: Code) -> None:
    """Check ``function(k, num_heads)``: (B, H_kv, S, D_head) -> (B, num_heads, S, D_head).

    Head h of the result is the key head that query head h reads: number h // (H / H_kv).
    """
    draw = normal(12)
    for kv_heads, num_heads in [(2, 6), (4, 8), (1, 4), (3, 3)]:
        k, times = draw(2, kv_heads, 5, 4), num_heads // kv_heads
        mistakes = {
            "the heads are laid like tiles, 0 1 0 1; it is 0 0 1 1.": k.repeat(1, times, 1, 1),
            "the tokens are repeated; repeat the heads.": k.repeat_interleave(times, dim=2),
            HEAD_0: k[:, :1].expand(-1, num_heads, -1, -1),
        }
        expected = k[:, [h // times for h in range(num_heads)]]
        what = f"for {kv_heads} key heads and {num_heads} query heads, the result"
        compare(call(function, k.clone(), num_heads), expected, what, mistakes)


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


def _read_so_far(scores: Tensor, start: bool) -> tuple[Tensor, Tensor]:
    """Give top and total of three queries: at the start, or below and above the scores to come."""
    if start:
        return torch.full((3, 1), LOWEST), torch.zeros(3, 1)
    above = torch.tensor([[-0.5], [-2.0], [1.5]])
    return scores.amax(dim=-1, keepdim=True) + above, torch.tensor([[1.3], [1.7], [1.1]])


def _tile(state: State, v: Tensor, scores: Tensor, mask: Tensor) -> State:
    top, total, mixed = state
    scores = scores.masked_fill(~mask, -math.inf)
    right = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - right).exp(), (scores - right).exp()
    return right, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def _count(mask: Tensor, tile: int) -> int:
    return sum(int(part.any()) for rows in mask.split(tile) for part in rows.split(tile, dim=-1))

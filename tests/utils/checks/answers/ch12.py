"""The checks of chapter 12 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from utils.attention import KeyValueCache, scaled_dot_product_attention
from utils.checks import ch12


def step(top, total, scores, rescale=True):
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    if rescale:
        total = total * (top - higher).exp()
    return higher, total + (scores - higher).exp().sum(dim=-1, keepdim=True)


def step_by_log_sum_exp(top, total, scores):
    higher = torch.cat([top, scores], dim=-1).amax(dim=-1, keepdim=True)
    logs = torch.cat([top + total.log(), scores], dim=-1)
    return higher, (logs.logsumexp(dim=-1, keepdim=True) - higher).exp()


def step_in_place(top, total, scores):
    old = top.clone()
    top.clamp_(min=scores.max(dim=-1, keepdim=True).values)
    total.mul_(torch.exp(old - top)).add_(torch.exp(scores - top).sum(-1, keepdim=True))
    return top, total


def own_step(top, total, scores):
    largest = scores.amax(dim=-1, keepdim=True)
    own = (scores - largest.clamp(min=ch12.LOWEST)).exp().sum(dim=-1, keepdim=True)
    return torch.maximum(top, largest), total * (top - torch.maximum(top, largest)).exp() + own


def change_total(function):
    """A step whose new total is ``function(total, new, down)``."""

    def changed(top, total, scores):
        higher, _ = step(top, total, scores)
        new = (scores - higher).exp().sum(dim=-1, keepdim=True)
        return higher, function(total, new, (top - higher).exp())

    return changed


def read(state, q, k, v, mask):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def read_by_keys(state, q, k, v, mask):
    top, total, mixed = (x.clone() for x in state)
    for j in range(len(k)):
        for row in range(len(q)):
            if mask[row, j]:
                score = torch.dot(q[row], k[j]) / len(k[j]) ** 0.5
                higher = torch.maximum(top[row], score)
                down, weight = (top[row] - higher).exp(), (score - higher).exp()
                total[row] = total[row] * down + weight
                mixed[row] = mixed[row] * down + weight * v[j]
                top[row] = higher
    return top, total, mixed


def read_with_ones(state, q, k, v, mask):
    """The total is mixed like a value that is always one."""
    top, total, mixed = state
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    scores = torch.einsum("td,sd->ts", q, k) * q.shape[-1] ** -0.5 + bias
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    both = torch.cat([total, mixed], dim=-1) * torch.exp(top - higher)
    both = both + torch.exp(scores - higher) @ torch.cat([torch.ones(len(v), 1), v], dim=-1)
    return [higher, both[:, :1], both[:, 1:]]


def change_mixed(function):
    """A tile whose new mixed is ``function(mixed, added, down, total)``."""

    def changed(state, *args):
        top, total, mixed = read(state, *args)
        down = (state[0] - top).exp()
        return top, total, function(state[2], mixed - state[2] * down, down, total)

    return changed


def visited(T, window, tile):
    starts = range(0, T, tile)
    return sum(i - max(0, start - window + 1) // tile + 1 for i, start in enumerate(starts))


def mask_of(T, window):
    back = np.subtract.outer(np.arange(T), np.arange(T))
    return (back >= 0) & (back < window)


def tiles_of(mask, tile):
    return len({(t // tile, s // tile) for t, s in zip(*mask.nonzero(), strict=True)})


def everything(T, window, tile):
    return math.ceil(T / tile) ** 2


def to_both_sides(T, window, tile):
    mask = mask_of(T, window)
    return tiles_of(mask | mask.T, tile)


cat = torch.cat


def with_kernel(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    return F.scaled_dot_product_attention(q, keys, values), keys, values


def by_formula(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    weights = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return weights @ values, keys, values


def with_cache(q, k, v, keys, values):
    cache = KeyValueCache(keys.shape[2] + 1)
    cache.append(keys, values)
    keys, values = cache.append(k, v)
    return [scaled_dot_product_attention(q, keys, values)[0], keys, values]


def change(scale=None, softmax=-1, sees=slice(None), mix=None, flip=False, swap=False):
    """The step with one thing wrong."""

    def function(q, k, v, keys, values):
        keys, values = cat([keys, k], 2), cat([values, v], 2)
        seen, mixed = keys[:, :, sees], (keys if mix == "keys" else values)[:, :, sees]
        if swap:
            seen, mixed = mixed, seen
        if flip:
            seen, mixed = seen.flip(1), mixed.flip(1)
        scores = q @ seen.mT / (math.sqrt(q.shape[-1]) if scale is None else scale)
        weights = scores if softmax is None else scores.softmax(softmax)
        return weights @ mixed, keys, values

    return function


def result(output=None, keys=None, values=None):
    """The step with one result replaced."""

    def function(q, k, v, old_keys, old_values):
        right = with_kernel(q, k, v, old_keys, old_values)
        given = output, keys, values
        arguments = {"q": q, "k": k, "v": v, "keys": old_keys, "values": old_values}
        return [f(arguments) if f else r for f, r in zip(given, right, strict=True)]

    return function


def by_index(k, num_heads):
    times = num_heads // k.shape[1]
    return k[:, torch.arange(num_heads) // times]


def by_interleaving(k, num_heads):
    return k.repeat_interleave(num_heads // k.shape[1], dim=1)


def by_expanding(k, num_heads):
    B, kv_heads, S, size = k.shape
    wide = k.unsqueeze(2).expand(B, kv_heads, num_heads // kv_heads, S, size)
    return wide.reshape(B, num_heads, S, size)


def divide(room, texts, layers, heads, width):
    return room // (texts * layers * 2 * heads * width * 2)


def one_after_the_other(room, texts, layers, heads, width):
    each = room / texts
    return int(each / layers / 2 / heads / width / 2)


def in_numpy(*given):
    return np.int64(divide(*given))


def absorb(q, c, w_k, w_v):
    scores = (q @ w_k) @ c.unsqueeze(1).mT / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ c.unsqueeze(1) @ w_v.mT


def absorb_by_einsum(q, c, w_k, w_v):
    scores = torch.einsum("bhtr,bsr->bhts", torch.einsum("bhtd,hdr->bhtr", q, w_k), c)
    weights = (scores / q.shape[-1] ** 0.5).softmax(-1)
    mixed = torch.einsum("bhts,bsr->bhtr", weights, c)
    return torch.einsum("bhtr,hdr->bhtd", mixed, w_v)


def absorb_per_head(q, c, w_k, w_v):
    heads = []
    for h in range(q.shape[1]):
        weights = (q[:, h] @ w_k[h] @ c.mT / q.shape[-1] ** 0.5).softmax(-1)
        heads.append(weights @ c @ w_v[h].T)
    return torch.stack(heads, 1)


def build(q, c, w_k, w_v, scale=None, softmax=-1):
    k, v = c.unsqueeze(1) @ w_k.mT, c.unsqueeze(1) @ w_v.mT
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return scores.softmax(softmax) @ v


RIGHT = {
    ch12.online_step: [step, step_by_log_sum_exp, step_in_place],
    ch12.one_tile: [read, read_by_keys, read_with_ones],
    ch12.tiles_visited: [
        visited,
        lambda T, w, tile: tiles_of(mask_of(T, w), tile),
        lambda T, w, tile: np.int64(visited(T, w, tile)),
    ],
    ch12.cached_step: [with_kernel, by_formula, with_cache],
    ch12.repeated_key_heads: [by_index, by_interleaving, by_expanding],
    ch12.tokens_that_fit: [divide, one_after_the_other, in_numpy],
    ch12.absorbed_heads: [absorb, absorb_by_einsum, absorb_per_head],
}

WRONG = {
    ch12.online_step: [
        (lambda top, total, scores: (top, total), "top is the old one"),
        (lambda t, n, s: (s.amax(-1, keepdim=True), n), "the tile alone"),
        (lambda t, n, s: (torch.maximum(t, s.max()), n), "of all rows"),
        (lambda t, n, s: [x.squeeze(-1) for x in step(t, n, s)], "keepdim=True"),
        (lambda t, n, s: step(t, n, s, rescale=False), "is not rescaled"),
        (change_total(lambda n, new, down: n / down + new), "wrong way round"),
        (change_total(lambda n, new, down: new), "the old total is missing"),
        (own_step, "from their own largest"),
        (change_total(lambda n, new, down: n * down + new / down), "from the old top"),
        (change_total(lambda n, new, down: (n + new) * down), "is rescaled too"),
        (change_total(lambda n, new, down: n * down + new.sum()), "over all queries"),
        (lambda t, n, s: step(t, n, s)[1], "should return two tensors"),
    ],
    ch12.one_tile: [
        (lambda state, *_: state, "the state is the old one"),
        (lambda s, q, k, v, m: read(s, q, k, v, m | True), "the mask is not used"),
        (lambda s, q, k, v, m: read(s, q, k, v, ~m), "the wrong way round"),
        (lambda s, q, k, v, m: read(s, 2 * q, k, v, m), "by the root of D_head"),
        (lambda s, q, k, v, m: read(s, q / 2, k, v, m), "divided by D_head; divide"),
        (change_mixed(lambda u, new, down, n: u + new), "mixed before is not rescaled"),
        (change_mixed(lambda u, new, down, n: new), "mixed before is missing"),
        (change_mixed(lambda u, new, down, n: (u * down + new) / n), "comes last"),
        (lambda s, *a: read(s, *a)[:2], "should return three tensors"),
    ],
    ch12.tiles_visited: [
        (lambda T, w, tile: everything(T, w, tile) if T == 8 else 0, "you count 16 tiles"),
        (everything, "the tiles of all pairs"),
        (lambda T, w, tile: visited(T, T, tile), "all causal tiles"),
        (to_both_sides, "look to both sides"),
        (lambda T, w, tile: visited(T, w + 1, tile), "one too wide"),
        (lambda T, w, tile: tiles_of(mask_of(T, w - 1), tile), "one too narrow"),
        (lambda T, w, tile: int(mask_of(T, w).sum()), "these are pairs"),
        (lambda T, w, tile: visited(T, w, tile) + 99, "it is 9"),
        (lambda T, w, tile: visited(T, w, tile) / 1, "should be an int; got float"),
    ],
    ch12.cached_step: [
        (change(swap=True), "keys and values are swapped"),
        (change(scale=1), "the scale is missing"),
        (change(softmax=-2), "the queries"),
        (change(softmax=None), "softmax is missing"),
        (change(sees=slice(-1)), "append first"),
        (change(mix="keys"), "the keys are mixed"),
        (change(flip=True), "keys of another"),
        (change(scale=2.5), "the output is wrong at"),
        (result(keys=lambda a: a["k"]), "keep the old ones"),
        (result(values=lambda a: a["values"]), "add the newest token's"),
        (result(keys=lambda a: cat([a["k"], a["keys"]], 2)), "comes last, not first"),
        (result(keys=lambda a: cat([a["values"], a["v"]], 2)), "swapped"),
        (lambda q, k, v, keys, values: q, "three things"),
    ],
    ch12.repeated_key_heads: [
        (lambda k, H: k.repeat(1, H // k.shape[1], 1, 1), "it is 0 0 1 1"),
        (lambda k, H: k.repeat_interleave(H // k.shape[1], dim=2), "repeat the heads"),
        (lambda k, H: k[:, :1].repeat(1, H, 1, 1), "head 0"),
    ],
    ch12.tokens_that_fit: [
        (lambda r, t, n, h, w: r // (t * n * 2 * h * w), "count keys and values, both"),
        (lambda r, t, n, h, w: r // (t * n * 2 * h * w * 4), "not four"),
        (lambda r, t, n, h, w: r // (t * 2 * h * w * 2), "every layer"),
        (lambda r, t, n, h, w: r // (t * n * 2 * w * 2), "every key head"),
        (lambda r, t, n, h, w: r // (t * n * 2 * h * 2), "head_dim numbers"),
        (lambda r, t, n, h, w: r // (n * 2 * h * w * 2), "for all texts together"),
        (lambda r, t, n, h, w: r / (t * n * 2 * h * w * 2), "round down"),
        (lambda r, t, n, h, w: 1 + r // (t * n * 2 * h * w * 2), "not up"),
        (lambda r, t, n, h, w: 7, "the result is 7; expected"),
        (lambda r, t, n, h, w: "7", "should be a number"),
    ],
    ch12.absorbed_heads: [
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, 1 / q.shape[-1]), "divided by D_head"),
        (build, "keys and values of all were built"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, scale=1), "the scale is missing"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, c.shape[-1] ** -0.5), "not of R"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, softmax=-2), "over the wrong axis"),
        (lambda q, c, w_k, w_v: absorb(q, c, w_v, w_k), "keys and values are swapped"),
        (lambda q, c, w_k, w_v: absorb(q, c, w_k.flip(0), w_v.flip(0)), "keys of another"),
        (
            lambda q, c, w_k, w_v: (
                (q @ w_k @ c.unsqueeze(1).mT * q.shape[-1] ** -0.5).softmax(-1) @ c.unsqueeze(1)
            ),
            "mixtures of latent vectors",
        ),
    ],
}

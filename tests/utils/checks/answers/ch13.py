"""The checks of chapter 13 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from utils.attention import scaled_dot_product_attention
from utils.cache import KeyValueCache
from utils.checks import ch13

cat = torch.cat


def with_kernel(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    mask = causal_lower_right(q.shape[2], keys.shape[2])
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask), keys, values


def with_cache(q, k, v, keys, values):
    cache = KeyValueCache(keys.shape[2] + k.shape[2])
    if keys.shape[2]:
        cache.append(keys, values)
    outputs = []
    for t in range(k.shape[2]):
        keys, values = cache.append(k[:, :, t : t + 1], v[:, :, t : t + 1])
        outputs.append(scaled_dot_product_attention(q[:, :, t : t + 1], keys, values)[0])
    return [cat(outputs, 2), keys, values]


def change(scale=None, softmax=-1, diagonal=0, mix=None, flip=False, swap=False):
    """The steps with one thing wrong; ``diagonal`` is counted from the right one."""

    def function(q, k, v, keys, values):
        S, T = keys.shape[2], k.shape[2]
        keys, values = cat([keys, k], 2), cat([values, v], 2)
        seen, mixed = keys, keys if mix == "keys" else values
        if swap:
            seen, mixed = mixed, seen
        if flip:
            seen, mixed = seen.flip(1), mixed.flip(1)
        scores = q @ seen.mT / (math.sqrt(q.shape[-1]) if scale is None else scale)
        if diagonal is not None:
            scores = scores.masked_fill(~torch.ones(T, S + T).tril(S + diagonal).bool(), -math.inf)
        weights = scores if softmax is None else scores.softmax(softmax)
        return weights.nan_to_num() @ mixed, keys, values

    return function


def from_top_left(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    return F.scaled_dot_product_attention(q, keys, values, is_causal=True), keys, values


def result(output=None, keys=None, values=None):
    """The steps with one result replaced."""

    def function(q, k, v, old_keys, old_values):
        right = with_kernel(q, k, v, old_keys, old_values)
        given = output, keys, values
        arguments = {"q": q, "k": k, "v": v, "keys": old_keys, "values": old_values}
        return [f(arguments) if f else r for f, r in zip(given, right, strict=True)]

    return function


def masked(q, k, v, keys, values, put):
    S, T = (keys.shape[2], k.shape[2])
    keys, values = (cat([keys, k], 2), cat([values, v], 2))
    scores = put(q @ keys.mT / math.sqrt(q.shape[-1]), torch.ones(T, S + T).tril(S))
    return (scores.softmax(-1) @ values, keys, values)


def accept_without_an_end(guesses, answers):
    n = 0
    while guesses[n] == answers[n]:
        n += 1
    return answers[: n + 1]


def accept_in_a_loop(guesses, answers):
    n = 0
    while n < len(guesses) and guesses[n] == answers[n]:
        n += 1
    return answers[: n + 1]


def accept_as_a_list(guesses, answers):
    written = []
    for guess, answer in zip(guesses.tolist(), answers.tolist(), strict=False):
        written.append(answer)
        if guess != answer:
            return written
    return [*written, answers[-1]]


def by_rows(q, k, v):
    heads = F.scaled_dot_product_attention(q.reshape(*k.shape[:2], -1, k.shape[-1]), k, v)
    return heads.reshape(q.shape)


def by_einsum(q, k, v):
    B, H, T, D_head = q.shape
    q = q.view(B, k.shape[1], -1, T, D_head)
    weights = (torch.einsum("bkgtd,bksd->bkgts", q, k) / math.sqrt(D_head)).softmax(-1)
    return torch.einsum("bkgts,bksd->bkgtd", weights, v).reshape(B, H, T, D_head)


def spread(q, k, v, widen, scale=None):
    return F.scaled_dot_product_attention(q, widen(k), widen(v), scale=scale)


def swap_rows(q, k, v):
    rows = q.transpose(1, 2).reshape(*k.shape[:2], -1, k.shape[-1])
    return F.scaled_dot_product_attention(rows, k, v).reshape(q.shape)


def far_groups(q, k, v):
    rows = q.unflatten(1, (-1, k.shape[1])).transpose(1, 2).flatten(2, 3)
    return F.scaled_dot_product_attention(rows, k, v).reshape(q.shape)


def broadcast(q, k, v):
    B, H, T, D_head = q.shape
    q = q.view(B, k.shape[1], -1, T, D_head)
    scores = q @ k.unsqueeze(2).mT / math.sqrt(D_head)
    return (scores.softmax(-1) @ v.unsqueeze(2)).view(B, H, T, D_head)


def inverted(q, k, v, keys, values):
    S, T = keys.shape[2], k.shape[2]
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    blocked = torch.ones(T, S + T).tril(S).bool()
    scores = (q @ keys.mT / math.sqrt(q.shape[-1])).masked_fill(blocked, -math.inf)
    return scores.softmax(-1) @ values, keys, values


def gather(room, table, length):
    return room[:, table].transpose(1, 2).flatten(2, 3)[:, :, :length]


def gather_in_two(room, table, length):
    return tuple(cat([part[n] for n in table], 1)[:, :length] for part in room)


RIGHT = {
    ch13.cached_steps: [with_kernel, with_cache],
    ch13.accepted_tokens: [accept_in_a_loop, accept_as_a_list],
    ch13.grouped_heads: [by_rows, by_einsum],
    ch13.gathered_pages: [gather, gather_in_two],
}

WRONG = {
    ch13.cached_steps: [
        (from_top_left, "as is_causal=True does"),
        (change(diagonal=None), "sees those after it"),
        (change(diagonal=-1), "does not see itself"),
        (lambda *a: masked(*a, torch.add), "the mask is added"),
        (lambda *a: masked(*a, torch.mul), "multiplied into"),
        (change(diagonal=1), "sees the one after it too"),
        (inverted, "the mask is the wrong way round"),
        (change(scale=1), "the scale is missing"),
        (change(mix="keys"), "the keys are mixed"),
        (change(flip=True), "keys of another"),
        (change(scale=2.5), "the output is wrong at"),
        (
            result(output=lambda a: F.scaled_dot_product_attention(a["q"], a["keys"], a["values"])),
            "append first",
        ),
        (result(keys=lambda a: a["k"]), "keep the old ones"),
        (result(values=lambda a: a["values"]), "add the new tokens'"),
        (result(keys=lambda a: cat([a["k"], a["keys"]], 2)), "come last, not first"),
        (result(keys=lambda a: cat([a["values"], a["v"]], 2)), "swapped"),
        (lambda q, k, v, keys, values: q, "three things"),
    ],
    ch13.accepted_tokens: [
        (lambda g, a: a[: int((g == a[:-1]).sum()) + 1], "stop at the first wrong guess"),
        (lambda g, a: cat([g[g == a[:-1]], a[-1:]]), "of all guesses are kept"),
        (lambda g, a: accept_in_a_loop(g, a)[:-1], "the model's own answer is missing"),
        (lambda g, a: g[: len(accept_in_a_loop(g, a))], "the last token is the wrong guess"),
        (lambda g, a: accept_in_a_loop(g, a[1:]), "compare guess i with answer i"),
        (lambda g, a: a[: len(accept_in_a_loop(g, a[1:]))], "not with the one after it"),
        (
            lambda g, a: cat([accept_in_a_loop(g, a)[:-1], a[-1:]]),
            "comes its own answer, not the last of all",
        ),
        (lambda g, a: a[: int((g != a[:-1]).long().argmax()) + 1], "argmax gives 0"),
        (accept_without_an_end, "stop at their end"),
        (lambda g, a: a, "these are all answers"),
        (lambda g, a: g, "these are all guesses"),
        (lambda g, a: 3, "should be a tensor"),
    ],
    ch13.grouped_heads: [
        (
            lambda q, k, v: spread(q, k, v, lambda x: x.repeat(1, q.shape[1] // x.shape[1], 1, 1)),
            "it is 0 0 1 1",
        ),
        (
            lambda q, k, v: spread(q, k, v, lambda x: x[:, :1].expand(-1, q.shape[1], -1, -1)),
            "head 0",
        ),
        (swap_rows, "in another order"),
        (far_groups, "heads far apart share a group"),
        (
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            "PyTorch's enable_gqa",
        ),
        (
            lambda q, k, v: q.view(*k.shape[:2], -1, 8)[:, :, : q.shape[1] // k.shape[1]].view(
                q.shape
            ),
            "a group has H / H_kv * T rows",
        ),
        (broadcast, "as a broadcast product also does"),
        (
            lambda q, k, v: F.scaled_dot_product_attention(
                q.reshape(*k.shape[:2], -1, 8), k, v, scale=1.0
            ).reshape(q.shape),
            "the scale is missing",
        ),
    ],
    ch13.gathered_pages: [
        (lambda r, t, n: gather(r, t, 4 * len(t)), "the last page need not be full"),
        (
            lambda r, t, n: r[:, t].reshape(2, r.shape[2], -1, r.shape[4])[:, :, :n],
            "heads mixed up: a page holds all heads",
        ),
        (lambda r, t, n: gather(r, list(range(len(t))), n), "those of the table"),
        (lambda r, t, n: gather(r, sorted(t), n), "the memory's order"),
        (lambda r, t, n: gather(r, t, 4 * len(t))[:, :, -n:], "the last rows"),
        (lambda r, t, n: gather(r, t, n)[:1], "expected"),
    ],
}

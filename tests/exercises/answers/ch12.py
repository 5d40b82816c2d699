"""The checks of chapter 12 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F

from exercises import ch12

cat = torch.cat


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


def broadcast(q, k, v):
    B, H, T, D_head = q.shape
    q = q.view(B, k.shape[1], -1, T, D_head)
    scores = q @ k.unsqueeze(2).mT / math.sqrt(D_head)
    return (scores.softmax(-1) @ v.unsqueeze(2)).view(B, H, T, D_head)


def gather(room, table, length):
    return room[:, table].transpose(1, 2).flatten(2, 3)[:, :, :length]


def gather_in_two(room, table, length):
    return tuple(cat([part[n] for n in table], 1)[:, :length] for part in room)


RIGHT = {
    ch12.accepted_tokens: [accept_in_a_loop, accept_as_a_list],
    ch12.gathered_pages: [gather, gather_in_two],
}

WRONG = {
    ch12.cached_steps: [
        (change(scale=2.5), "the output is wrong at"),
        (lambda q, k, v, keys, values: q, "three things"),
    ],
    ch12.accepted_tokens: [
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
    ch12.grouped_heads: [
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
    ],
    ch12.gathered_pages: [
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

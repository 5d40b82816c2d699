"""The checks of chapter 12 accept what is right, however written, and name what is wrong."""

import math

import torch

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


RIGHT = {
    ch12.accepted_tokens: [accept_in_a_loop, accept_as_a_list],
    ch12.cache_as_large: [6144, 6144.0],
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
    ch12.cache_as_large: [
        (2048, "leaves out the feed-forward network"),
        (4096, "alone; attention has 4 D^2"),
        (12288, "a key and a value, 2 D numbers"),
        (24576, "four bytes a number"),
        (100, "how many numbers does a token keep?"),
    ],
}

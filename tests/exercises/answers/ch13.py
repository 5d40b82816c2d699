import itertools

import torch

from exercises import ch13


def project(heads, w_o, b_o, all_reduce):
    return all_reduce(heads @ w_o.T) + b_o


def in_place(heads, w_o, b_o, all_reduce):
    output = torch.einsum("btd,od->bto", heads, w_o)
    all_reduce(output)
    return output.add_(b_o)


def with_waste(heads, w_o, b_o, all_reduce):
    all_reduce(heads.clone())
    return project(heads, w_o, b_o, all_reduce)


TURNS = itertools.count()  # who comes first, and who second


def sometimes(heads, w_o, b_o, all_reduce):
    return all_reduce(heads @ w_o.T) if next(TURNS) % 2 else heads @ w_o.T


def of_two_shapes(heads, w_o, b_o, all_reduce):
    return all_reduce(heads[: 1 + next(TURNS) % 2] @ w_o.T)


def zigzag(T, N):
    pieces = torch.arange(T).chunk(2 * N)
    return [torch.cat([pieces[r], pieces[-1 - r]]) for r in range(N)]


def counting(heads, w_o, b_o, all_reduce):
    N = all_reduce(1)
    return all_reduce(heads @ w_o.T + b_o / N)


SENT = {"heads": 262_144, "texts": 49_152, "tokens": 245_760}


RIGHT = {
    ch13.placed_all_reduce: [project, in_place, counting],
    ch13.balanced_ring: [
        zigzag,
        lambda T, N: [[t for i in range(r, T // 2, N) for t in (i, T - 1 - i)] for r in range(N)],
    ],
    ch13.numbers_sent: [SENT, {name: float(n) for name, n in SENT.items()}],
}

WRONG = {
    ch13.placed_all_reduce: [
        (with_waste, "right, but 120 numbers go through it; 80 do"),
        (sometimes, "wait for one another"),
        (of_two_shapes, "tensors of different shapes"),
    ],
    ch13.balanced_ring: [
        (lambda T, N: torch.arange(T).view(N, -1), "an early and a late part"),
        (lambda T, N: [range(r, T, N) for r in range(N)], "every N-th token"),
        (
            lambda T, N: torch.arange(T).view(2, N, -1).transpose(0, 1).flatten(1),
            "count the late pieces from the end",
        ),
        (lambda T, N: [range(T)] * N, "has no place, or two"),
        (lambda T, N: [range(T)], "there are 1 lists"),
        (lambda T, N: [range(1), range(1, T), *[[]] * (N - 2)], "should hold 4"),
        (lambda T, N: T, "a list for each process"),
        (lambda T, N: torch.arange(T).view(-1, 2).T.reshape(N, -1), "pairs"),
    ],
    ch13.numbers_sent: [
        (262_144, "should be a dict"),
        ({"heads": 1}, "should be a dict"),
        (SENT | {"heads": 131_072}, "an all-reduce goes round twice"),
        (SENT | {"tokens": 1}, "tokens: 1 is not what is sent"),
    ],
}

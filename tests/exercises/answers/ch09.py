"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import numpy as np
import torch

from exercises import ch09


def count(D, H, kdim, vdim, bias, times=1):
    return D * (2 * D + kdim + vdim) * times + 4 * D * bias


def by_chance(D, H, kdim, vdim, bias):
    return count(D, H, kdim, vdim, bias and kdim == D)


def cut(packed, H, h):
    thirds = packed.chunk(3)
    return [third.chunk(H)[h] for third in thirds]


def cut_by_slices(packed, H, h):
    D = packed.shape[-1]
    size = D // H
    return tuple(packed[i * D + h * size : i * D + (h + 1) * size] for i in range(3))


def thirds(packed):
    return packed.view(3, packed.shape[-1], -1)


def work(B, T, S, D, H):
    return 2 * B * (T + S) * D**2, 2 * B * T * S * D


def work_in_numpy(*given):
    return np.array(work(*given)).tolist()[0], np.float32(work(*given)[1])


def pair(scores, r, power=1.0, scale=True, error=lambda left: left.norm(), keep=slice(None)):
    """Queries and keys by SVD; the arguments make the mistakes."""
    U, sizes, Vh = torch.linalg.svd(scores, full_matrices=False)
    left, kept = sizes[r:], (slice(r) if keep == slice(None) else slice(-r, None))
    q = U[:, kept] * sizes[kept] ** power
    return q * (r**0.5 if scale else 1), Vh[kept].T, error(left)


def wrong(function, **mistake):
    return lambda *arguments: function(*arguments, **mistake)


def with_error(measure):
    """The right pair, and an error measured by ``measure(scores, difference)``."""

    def solve(scores, r):
        q, k, _ = pair(scores, r)
        return q, k, measure(scores, scores - q @ k.T / r**0.5)

    return solve


def with_undivided_error(scores, r):
    q, k, _ = pair(scores, r)
    return q, k, (scores - q @ k.T).norm()


def pair_shared_out(scores, r):
    U, sizes, Vh = torch.linalg.svd(scores.double(), full_matrices=False)
    root = sizes[:r].sqrt() * r**0.25
    k = (Vh[:r].T * root).float().requires_grad_()
    return (U[:, :r] * root, k, float(sizes[r:].norm()))


RIGHT = {
    ch09.weights_of_head: [cut, cut_by_slices],
    ch09.multiply_adds: [work, work_in_numpy],
    ch09.low_rank_scores: [pair, pair_shared_out],
}

WRONG = {
    ch09.parameter_count: [
        (lambda D, H, k, v, b: str(count(D, H, k, v, b)), "should be a number; got str"),
        (by_chance, "for D = 12, H = 3, kdim = 5, vdim = 8, bias = True, the count"),
        (lambda *a: None, "should be a number; got NoneType"),
    ],
    ch09.weights_of_head: [
        (lambda p, H, h: cut(p, H, 0), "head 0"),
        (lambda p, H, h: cut(p, H, h)[::-1], "these rows belong to the value"),
        (lambda p, H, h: cut(p, H, (h - 1) % H), "the head before"),
        (lambda p, H, h: cut(p, H, (h + 1) % H), "the head after"),
        (lambda p, H, h: cut(p.roll(1, 0), H, h), "one row too early"),
        (lambda p, H, h: cut(p.roll(-1, 0), H, h), "one row too late"),
        (lambda p, H, h: [t[:-1] for t in cut(p, H, h)], "leaves out the end"),
        (lambda p, H, h: [t.chunk(H, 1)[h] for t in thirds(p)], "across the columns"),
        (lambda p, H, h: [t.T for t in cut(p, H, h)], "is transposed"),
        (lambda p, H, h: [t.chunk(H, 1)[h].T for t in thirds(p)], "these are columns, turned"),
        (lambda p, H, h: [t[h * H : (h + 1) * H] for t in thirds(p)], "starts at h * D_head"),
        (lambda p, H, h: [t[h::H] for t in thirds(p)], "every H-th"),
        (lambda p, H, h: p.view(H, 3, -1, p.shape[-1])[h], "key and value first"),
        (lambda p, H, h: [t.clone() for t in cut(p, H, h)], "is a copy"),
        (lambda p, H, h: p, "should return three tensors"),
    ],
    ch09.multiply_adds: [
        (lambda *a: [2 * n for n in work(*a)], "a multiplication and its addition"),
        (lambda B, T, S, D, H: (4 * B * T * D * D, 2 * B * T * S * D), "keys and values have S"),
        (lambda B, T, S, D, H: (4 * B * S * D * D, 2 * B * T * S * D), "queries have T"),
        (lambda B, T, S, D, H: (B * (T + 2 * S) * D * D, 0), "the last projection is missing"),
        (lambda B, T, S, D, H: (B * (2 * T + S) * D * D, 0), "need a projection each"),
        (lambda B, T, S, D, H: (B * (T + 3 * S) * D * D, 0), "not S"),
        (lambda *a: (work(*a)[0] // 2, work(*a)[1]), "these are two projections"),
        (lambda *a: (work(*a)[0] * a[4], work(*a)[1]), "do not grow with H"),
        (lambda *a: (work(*a)[0] // a[4], work(*a)[1]), "one head's share"),
        (lambda *a: (work(*a)[0] // a[4] ** 2, work(*a)[1]), "are too small"),
        (lambda B, *a: (work(1, *a)[0], work(B, *a)[1]), "every sequence is projected"),
        (lambda *a: (work(*a)[0], work(*a)[1] // 2), "there are two products"),
        (lambda *a: (work(*a)[0], work(*a)[1] * a[4]), "one of width D"),
        (lambda *a: (work(*a)[0], work(*a)[1] // a[4]), "this is one head"),
        (lambda B, T, S, D, H: (work(B, T, S, D, H)[0], 2 * B * T * T * D), "not T * T"),
        (lambda B, T, S, D, H: (work(B, T, S, D, H)[0], 2 * B * S * S * D), "not S * S"),
        (lambda B, T, S, D, H: (work(B, T, S, D, H)[0], B * (T + S) * D), "grows with T * S"),
        (
            lambda B, T, S, D, H: (work(B, T, S, D, H)[0], 2 * B * (T + S) ** 2 * D),
            "meet only keys",
        ),
        (lambda B, *a: (work(B, *a)[0], work(1, *a)[1]), "B, is missing"),
        (
            lambda B, T, S, D, H: (work(B, T, S, D, H)[0], B * D * T * (T + S)),
            "the scores, too, are T * S",
        ),
        (
            lambda B, T, S, D, H: (work(B, T, S, D, H)[0], B * T * S * (2 * D + H)),
            "the softmax is in the count",
        ),
        (lambda *a: sum(work(*a)), "should return two numbers"),
        (lambda *a: (work(*a)[0], 1), "attention's work is 1; expected"),
    ],
    ch09.low_rank_scores: [
        (wrong(pair, scale=False), "the scale is missing"),
        (wrong(pair, power=2), "used twice"),
        (wrong(pair, power=0), "not used"),
        (wrong(pair, keep=None), "keep the largest"),
        (wrong(pair, error=lambda left: (left**2).sum()), "error is squared"),
        (wrong(pair, error=torch.mean), "this is the mean of"),
        (wrong(pair, error=lambda left: (left**2).mean()), "mean square of"),
        (with_error(lambda s, off: off.square().mean()), "a mean of squares"),
        (with_error(lambda s, off: off.square().mean().sqrt()), "the root of the mean"),
        (with_error(lambda s, off: (s - off).norm()), "what is kept"),
        (with_undivided_error, "before it is divided"),
        (wrong(pair, error=torch.max), "largest singular value left out"),
        (wrong(pair, error=torch.sum), "sum their squares"),
        (wrong(pair, error=lambda left: 0), "the error is 0; expected"),
        (lambda s, r: pair(s, r)[:2], "should return three things"),
        (lambda s, r: (pair(s, r)[0], pair(s, r)[1].T, 0), "K should be (7, 2)"),
        (lambda s, r: (None, None, 0), "Q should be (5, 2); it is no tensor"),
        (lambda s, r: (s[:, :r], s.T[:, :r], 0), "taken as they are"),
        (lambda s, r: (pair(s, r, scale=False)[0] / r**0.5, *pair(s, r)[1:]), "divides where"),
        (lambda s, r: (pair(s, r)[0] * r**0.5, *pair(s, r)[1:]), "where it should take its root"),
        (lambda s, r: (pair(s, r)[0] * 1.1, *pair(s, r)[1:]), "is possible"),
        (lambda s, r: (pair(s, r)[0] * torch.nan, *pair(s, r)[1:]), "is possible"),
        (wrong(pair, error=lambda left: None), "the error should be a number"),
    ],
}

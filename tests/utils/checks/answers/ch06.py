"""The checks of chapter 6 accept what is right, however written, and name what is wrong."""

import numpy as np
import torch

from utils.attention import MultiHeadAttention
from utils.checks import ch06


def count(D, H, kdim, vdim, bias, times=1):
    return D * (2 * D + kdim + vdim) * times + 4 * D * bias


def biases_of_inputs(D, H, kdim, vdim, bias):
    return D * (2 * D + kdim + vdim) + (2 * D + kdim + vdim) * bias


def three_by_head(D, H, kdim, vdim, bias):
    return H * (D * (D + kdim + vdim) + 3 * D * bias) + D * D + D * bias


def heads_as_wide_as_the_model(D, H, kdim, vdim, bias):
    return H * (D * (D + kdim + vdim) + 3 * D * bias) + H * D * D + D * bias


def by_chance(D, H, kdim, vdim, bias):
    """Wrong where kdim is not D, and there it gives the number of a layer without biases."""
    return count(D, H, kdim, vdim, bias and kdim == D)


def count_ours(D, H, kdim, vdim, bias):
    layer = MultiHeadAttention(D, H, bias=bias, kdim=kdim, vdim=vdim)
    return sum(p.numel() for p in layer.parameters())


def count_in_numpy(*given):
    return np.int64(count(*given))


def cut(packed, H, h):
    thirds = packed.chunk(3)
    return [third.chunk(H)[h] for third in thirds]


def cut_by_view(packed, H, h):
    return packed.view(3, H, -1, packed.shape[-1])[:, h]


def cut_by_slices(packed, H, h):
    D = packed.shape[-1]
    size = D // H
    return tuple(packed[i * D + h * size : i * D + (h + 1) * size] for i in range(3))


def thirds(packed):
    return packed.view(3, packed.shape[-1], -1)


def work(B, T, D, H):
    return 4 * B * T * D**2, 2 * B * T**2 * D


def work_in_floats(B, T, D, H):
    return [4.0 * B * T * D * D, 2.0 * B * T * T * D]


def work_in_numpy(*given):
    return np.array(work(*given)).tolist()[0], np.float32(work(*given)[1])


def pair(scores, r, power=1.0, scale=True, error=lambda left: left.norm(), keep=slice(None)):
    """Queries and keys by SVD; the arguments make the mistakes."""
    U, sizes, Vh = torch.linalg.svd(scores, full_matrices=False)
    left, kept = sizes[r:], (slice(r) if keep == slice(None) else slice(-r, None))
    q = U[:, kept] * sizes[kept] ** power
    return q * (r**0.5 if scale else 1), Vh[kept].T, error(left)


def pair_by_eigenvectors(scores, r):
    _, vectors = torch.linalg.eigh(scores.T @ scores)
    k = vectors[:, -r:]
    q = scores @ k * r**0.5
    return q, k, ((scores - q @ k.T / r**0.5) ** 2).sum().sqrt()


def pair_by_numpy(scores, r):
    U, sizes, Vh = np.linalg.svd(scores.numpy(), full_matrices=False)
    q = torch.from_numpy(U[:, :r] * sizes[:r] * r**0.5)
    return q, torch.from_numpy(Vh[:r].T), float(np.sqrt((sizes[r:] ** 2).sum()))


def wrong(function, **mistake):
    return lambda *arguments: function(*arguments, **mistake)


RIGHT = {
    ch06.parameter_count: [count, count_ours, count_in_numpy],
    ch06.weights_of_head: [cut, cut_by_view, cut_by_slices],
    ch06.multiply_adds: [work, work_in_floats, work_in_numpy],
    ch06.low_rank_scores: [pair, pair_by_eigenvectors, pair_by_numpy],
}

WRONG = {
    ch06.parameter_count: [
        (lambda D, H, k, v, b: D * (2 * D + k + v), "the biases are missing"),
        (lambda D, H, k, v, b: count(D, H, k, v, True), "bias is False"),
        (lambda D, H, k, v, b: D * (2 * D + k + v) + 3 * D * b, "of the last"),
        (lambda D, H, k, v, b: D * (D + k + v) + 3 * D * b, "last projection is"),
        (lambda D, H, k, v, b: count(D, H, D, D, b), "kdim and vdim are not used"),
        (lambda *a: count(*a) * a[1], "grows with num_heads"),
        (biases_of_inputs, "D numbers each"),
        (lambda D, H, *a: count(D, H, *a, times=H), "the weights grow with"),
        (three_by_head, "q, k and v grow with num_heads"),
        (heads_as_wide_as_the_model, "each head is D wide here"),
        (by_chance, "for D = 12, H = 3, kdim = 5, vdim = 8, bias = True, the count"),
        (lambda *a: count(*a) + 1, "1,050,625; expected 1,050,624"),
        (lambda *a: None, "should be a number; got NoneType"),
    ],
    ch06.weights_of_head: [
        (lambda p, H, h: cut(p, H, 0), "head 0"),
        (lambda p, H, h: cut(p, H, h)[::-1], "these rows belong to the value"),
        (lambda p, H, h: cut(p, H, (h - 1) % H), "heads count from 0"),
        (lambda p, H, h: [t.chunk(H, 1)[h] for t in thirds(p)], "across the columns"),
        (lambda p, H, h: [t.T for t in cut(p, H, h)], "is transposed"),
        (lambda p, H, h: [t[h::H] for t in thirds(p)], "every H-th"),
        (lambda p, H, h: p.view(H, 3, -1, p.shape[-1])[h], "key and value first"),
        (lambda p, H, h: [t.clone() for t in cut(p, H, h)], "is a copy"),
        (lambda p, H, h: p, "should return three tensors"),
    ],
    ch06.multiply_adds: [
        (lambda *a: [2 * n for n in work(*a)], "a multiplication and its addition"),
        (lambda *a: (work(*a)[0] * 3 // 4, work(*a)[1]), "this is three"),
        (lambda *a: (work(*a)[0] // 4, work(*a)[1]), "this is one projection"),
        (lambda *a: (work(*a)[0] * a[3], work(*a)[1]), "do not grow with H"),
        (lambda B, *a: (work(1, *a)[0], work(B, *a)[1]), "B * T of them"),
        (lambda *a: (work(*a)[0], work(*a)[1] // 2), "there are two products"),
        (lambda *a: (work(*a)[0], work(*a)[1] * a[3]), "one of width D"),
        (lambda *a: (work(*a)[0], work(*a)[1] // a[3]), "this is one head"),
        (lambda B, T, D, H: (4 * B * T * D * D, 2 * B * T * D), "with T * T"),
        (lambda B, *a: (work(B, *a)[0], work(1, *a)[1]), "B, is missing"),
        (lambda *a: sum(work(*a)), "should return two numbers"),
        (lambda *a: (work(*a)[0], 1), "attention's work is 1; expected"),
    ],
    ch06.low_rank_scores: [
        (wrong(pair, scale=False), "the scale is missing"),
        (wrong(pair, power=2), "used twice"),
        (wrong(pair, power=0), "not used"),
        (wrong(pair, keep=None), "keep the largest"),
        (wrong(pair, error=lambda left: (left**2).sum()), "error is squared"),
        (wrong(pair, error=torch.max), "largest singular value left out"),
        (wrong(pair, error=torch.sum), "sum their squares"),
        (wrong(pair, error=lambda left: 0), "the error is 0; expected"),
        (lambda s, r: pair(s, r)[:2], "should return three things"),
        (lambda s, r: (pair(s, r)[0], pair(s, r)[1].T, 0), "K should be (7, 2)"),
        (lambda s, r: (None, None, 0), "Q should be (5, 2)"),
        (wrong(pair, error=lambda left: None), "the error should be a number"),
    ],
}

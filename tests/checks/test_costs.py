"""The checks of chapter 6 accept what is right, however it is written, and name what is wrong."""

import numpy as np
import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention
from utils.checks import costs


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


def count_by_torch(D, H, kdim, vdim, bias):
    layer = nn.MultiheadAttention(D, H, bias=bias, kdim=kdim, vdim=vdim)
    return sum(p.numel() for p in layer.parameters())


def count_ours(D, H, kdim, vdim, bias):
    layer = MultiHeadAttention(D, H, bias=bias, kdim=kdim, vdim=vdim)
    return sum(p.numel() for p in layer.parameters())


def count_in_numpy(*given):
    return np.int64(count(*given))


def count_by_head(D, H, kdim, vdim, bias):
    size = D // H
    head = size * (D + kdim + vdim) + 3 * size * bias
    return H * head + D * D + bias * D


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


def work_by_head(B, T, D, H):
    size = D // H
    return 3 * B * H * T * D * size + B * T * D * D, 2 * B * H * T * size * T


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


def pair_split(scores, r):
    U, sizes, V = torch.svd_lowrank(scores, q=min(scores.shape))
    root = (sizes[:r] * r**0.5).sqrt()
    q, k = U[:, :r] * root, V[:, :r] * root
    return q, k, (scores - q @ k.T / r**0.5).norm().item()


def pair_by_eigenvectors(scores, r):
    _, vectors = torch.linalg.eigh(scores.T @ scores)
    k = vectors[:, -r:]
    q = scores @ k * r**0.5
    return q, k, ((scores - q @ k.T / r**0.5) ** 2).sum().sqrt()


def pair_by_numpy(scores, r):
    U, sizes, Vh = np.linalg.svd(scores.numpy(), full_matrices=False)
    q = torch.from_numpy(U[:, :r] * sizes[:r] * r**0.5)
    return q, torch.from_numpy(Vh[:r].T), float(np.sqrt((sizes[r:] ** 2).sum()))


def raises(*_):
    raise RuntimeError("the sizes do not fit")


def wrong(function, **mistake):
    return lambda *arguments: function(*arguments, **mistake)


RIGHT = {
    "parameter_count": [count, count_by_torch, count_ours, count_by_head, count_in_numpy],
    "weights_of_head": [cut, cut_by_view, cut_by_slices],
    "multiply_adds": [work, work_by_head, work_in_floats, work_in_numpy],
    "low_rank_scores": [pair, pair_split, pair_by_eigenvectors, pair_by_numpy],
}

WRONG = [
    ("parameter_count", lambda D, H, k, v, b: D * (2 * D + k + v), "the biases are missing"),
    ("parameter_count", lambda D, H, k, v, b: count(D, H, k, v, True), "bias is False"),
    ("parameter_count", lambda D, H, k, v, b: D * (2 * D + k + v) + 3 * D * b, "of the last"),
    ("parameter_count", lambda D, H, k, v, b: D * (D + k + v) + 3 * D * b, "last projection is"),
    ("parameter_count", lambda D, H, k, v, b: count(D, H, D, D, b), "kdim and vdim are not used"),
    ("parameter_count", lambda *a: count(*a) * a[1], "grows with num_heads"),
    ("parameter_count", biases_of_inputs, "D numbers each, not kdim and vdim"),
    ("parameter_count", lambda D, H, *a: count(D, H, *a, times=H), "the weights grow with"),
    ("parameter_count", three_by_head, "q, k and v grow with num_heads"),
    ("parameter_count", heads_as_wide_as_the_model, "each head is D wide here"),
    ("parameter_count", by_chance, "for D = 12, H = 3, kdim = 5, vdim = 8, bias = True, the count"),
    ("parameter_count", lambda *a: count(*a) + 1, "1,050,625; expected 1,050,624"),
    ("parameter_count", lambda *a: None, "should be a number; got NoneType"),
    ("parameter_count", raises, "raised RuntimeError: the sizes do not fit"),
    ("weights_of_head", lambda p, H, h: cut(p, H, h)[::-1], "these rows belong to the value"),
    ("weights_of_head", lambda p, H, h: cut(p, H, (h - 1) % H), "heads count from 0"),
    (
        "weights_of_head",
        lambda p, H, h: [t.chunk(H, 1)[h] for t in thirds(p)],
        "across the columns",
    ),
    ("weights_of_head", lambda p, H, h: [t.T for t in cut(p, H, h)], "it is transposed"),
    ("weights_of_head", lambda p, H, h: [t[h::H] for t in thirds(p)], "every H-th row"),
    ("weights_of_head", lambda p, H, h: p.view(H, 3, -1, p.shape[-1])[h], "key and value first"),
    ("weights_of_head", lambda p, H, h: [t.clone() for t in cut(p, H, h)], "is a copy"),
    ("weights_of_head", lambda p, H, h: p.chunk(3), "has shape (12, 12); expected (3, 12)"),
    ("weights_of_head", lambda p, H, h: p, "should return three tensors"),
    ("weights_of_head", raises, "raised RuntimeError"),
    ("multiply_adds", lambda *a: [2 * n for n in work(*a)], "a multiplication and its addition"),
    ("multiply_adds", lambda *a: (work(*a)[0] * 3 // 4, work(*a)[1]), "this is three"),
    ("multiply_adds", lambda *a: (work(*a)[0] // 4, work(*a)[1]), "this is one projection"),
    ("multiply_adds", lambda *a: (work(*a)[0] * a[3], work(*a)[1]), "do not grow with H"),
    ("multiply_adds", lambda B, *a: (work(1, *a)[0], work(B, *a)[1]), "B * T of them"),
    ("multiply_adds", lambda *a: (work(*a)[0], work(*a)[1] // 2), "there are two products"),
    ("multiply_adds", lambda *a: (work(*a)[0], work(*a)[1] * a[3]), "one of width D"),
    ("multiply_adds", lambda *a: (work(*a)[0], work(*a)[1] // a[3]), "this is one head"),
    ("multiply_adds", lambda B, T, D, H: (4 * B * T * D * D, 2 * B * T * D), "with T * T"),
    ("multiply_adds", lambda B, *a: (work(B, *a)[0], work(1, *a)[1]), "B, is missing"),
    ("multiply_adds", lambda *a: sum(work(*a)), "should return two numbers"),
    ("multiply_adds", lambda *a: (work(*a)[0], 1), "attention's work is 1; expected"),
    ("multiply_adds", raises, "raised RuntimeError"),
    ("low_rank_scores", wrong(pair, scale=False), "the scale is missing"),
    ("low_rank_scores", wrong(pair, power=2), "used twice"),
    ("low_rank_scores", wrong(pair, power=0), "not used"),
    ("low_rank_scores", wrong(pair, keep=None), "keep the largest"),
    ("low_rank_scores", wrong(pair, error=lambda left: (left**2).sum()), "error is squared"),
    ("low_rank_scores", wrong(pair, error=torch.max), "largest singular value left out"),
    ("low_rank_scores", wrong(pair, error=torch.sum), "sum their squares"),
    ("low_rank_scores", wrong(pair, error=lambda left: 0), "the error is wrong"),
    ("low_rank_scores", lambda s, r: pair(s, r)[:2], "should return three things"),
    ("low_rank_scores", lambda s, r: (pair(s, r)[0], pair(s, r)[1].T, 0), "K should be (7, 2)"),
    ("low_rank_scores", lambda s, r: (None, None, 0), "Q should be (5, 2)"),
    ("low_rank_scores", wrong(pair, error=lambda left: None), "the error should be a number"),
    ("low_rank_scores", raises, "raised RuntimeError"),
]


@pytest.mark.parametrize(
    ("name", "function"), [(name, f) for name, functions in RIGHT.items() for f in functions]
)
def test_accepts_what_is_right(name, function):
    assert getattr(costs, name)(function) == "Right."


@pytest.mark.parametrize(("name", "function", "fragment"), WRONG)
def test_names_what_is_wrong(name, function, fragment):
    said = getattr(costs, name)(function)
    assert said.startswith("Not yet: ")
    assert fragment in said

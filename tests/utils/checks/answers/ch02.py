"""The checks of chapter 2 accept what is right, however written, and name what is wrong."""

import math

import torch

from utils.checks import ch02


def stable(scores, dim):
    exponentials = (scores - scores.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def by_axis(scores, dim):
    moved = scores.movedim(dim, -1)
    exponentials = torch.exp(moved - moved.max(-1).values[..., None])
    return (exponentials / exponentials.sum(-1)[..., None]).movedim(-1, dim)


def naive(scores, dim):
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def row_maxima_one_sum(scores, dim):
    exponentials = (scores - scores.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum()


def without_keepdim(scores, dim):
    exponentials = (scores - scores.amax(dim)).exp()
    return exponentials / exponentials.sum(dim)


def in_place(scores, dim):
    scores -= scores.amax(dim, keepdim=True)
    return scores.softmax(dim)


def attend(query, key, value, scale=None, dim=-1, softmax=torch.softmax):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    weights = softmax(query @ key.transpose(-2, -1) * scale, dim)
    return weights @ value, weights


def attend_by_rows(query, key, value):
    if query.dim() > 2:
        parts = [attend_by_rows(*one) for one in zip(query, key, value, strict=True)]
        return tuple(torch.stack(tensors) for tensors in zip(*parts, strict=True))
    rows = [(key @ q / math.sqrt(len(q))).softmax(0) for q in query]
    return torch.stack([w @ value for w in rows]), torch.stack(rows)


def attend_scaled_late(query, key, value):
    output, weights = attend(query, key, value, scale=1.0)
    return output, weights / query.shape[-1] ** 0.5


def attend_reshaped(query, key, value):
    columns = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = (query @ columns / query.shape[-1] ** 0.5).softmax(-1)
    return weights @ value, weights


RIGHT = {
    ch02.softmax: [stable, by_axis],
    ch02.scaled_dot_product: [attend, attend_by_rows],
    ch02.same_without_root: [
        lambda w, rate: (w / w.shape[1] ** 0.5, rate / w.shape[1]),
        lambda w, rate: [w.double() * w.shape[-1] ** (-0.5), torch.tensor(rate) / w.shape[-1]],
    ],
}

WRONG = {
    ch02.softmax: [
        (lambda s, d: s.softmax(-1), "dim is 1, but the weights sum to one along axis 2"),
        (lambda s, d: s.softmax(0), "dim is -1, but the weights sum to one along axis 0"),
        (lambda s, d: s.exp(), "not divided by their sum"),
        (lambda s, d: s.exp() / s.exp().sum(), "sum along dim"),
        (row_maxima_one_sum, "each maximum is along dim"),
        (without_keepdim, "keepdim=True"),
        (naive, "it overflows"),
        (lambda s, d: naive(s - s.max(), d), "far below the one maximum"),
        (lambda s, d: (s - s.max(d, keepdim=True)).exp(), "take its .values, or use amax"),
        (in_place, "changed the scores"),
        (lambda s, d: s.log_softmax(d).exp(), "PyTorch's softmax made them"),
        (lambda s, d: stable(s, d).numpy(), "should be a tensor; got ndarray"),
    ],
    ch02.scaled_dot_product: [
        (lambda *x: attend(*x, softmax=lambda s, d: s.exp()), "not divided by their sum"),
        (lambda *x: attend(*x)[0], "two tensors: the output and the weights"),
        (lambda *x: attend(*x)[::-1], "the output comes first"),
        (lambda *x: attend(*x, scale=1.0), "the scale is missing"),
        (lambda *x: attend(*x, scale=1 / x[0].shape[-1]), "divided by D_head"),
        (lambda *x: attend(*x, scale=x[2].shape[-1] ** (-0.5)), "root of D_value"),
        (lambda *x: attend(*x, scale=x[1].shape[-2] ** (-0.5)), "root of S"),
        (lambda *x: attend(*x, scale=x[0].shape[-2] ** (-0.5)), "root of T"),
        (lambda *x: attend(*x, scale=x[0].shape[-1] ** 0.5), "divide by it"),
        (attend_scaled_late, "after the softmax"),
        (lambda *x: attend(*x, dim=-2), "wrong axis, the queries"),
        (lambda *x: attend(*x, dim=1), "wrong axis, the heads"),
        (lambda *x: attend(*x, softmax=lambda s, d: s), "softmax is missing"),
        (lambda *x: attend(*x, softmax=naive), "overflows for large scores"),
        (attend_reshaped, "reshaped, not transposed"),
        (lambda query, key, value: attend(query, key[:, :1], value), "head 0"),
        (lambda *x: attend(*x, scale=x[0].shape[1] ** (-0.5)), "root of an axis in front"),
        (lambda *x: attend(*x, scale=len(x[0]) ** (-0.5)), "root of len(query)"),
        (lambda q, k, v: (q @ k.permute(3, 2, 1, 0), v), "key.transpose(-2, -1)"),
        (lambda q, k, v: (torch.einsum("btd,bsd->bts", q, k), v), "key.transpose(-2, -1)"),
        (
            lambda q, k, v: (attend(q, k, v.flip(-2))[0], attend(q, k, v)[1]),
            "the output is wrong at",
        ),
        (
            lambda q, k, v: attend(q, k, v, scale=8 ** (-0.5) if q.dim() == 4 else 1.0),
            "of 3-d tensors is wrong at",
        ),
    ],
    ch02.same_without_root: [
        (lambda w, rate: w, "two things: the matrix"),
        (lambda w, rate: (w, rate), "the start is the same"),
        (lambda w, rate: (w / 4, rate / 4), "divided by D; divide by its root"),
        (lambda w, rate: (2 * w, rate), "the start is multiplied"),
        (lambda w, rate: (w / len(w) ** 0.5, rate), "you took the rows"),
        (lambda w, rate: (w / 2, rate), "the gradient is not"),
        (lambda w, rate: (w / 2, rate / 2), "it counts twice"),
        (lambda w, rate: (w / 2, rate / 8), "by D and by the root of D"),
        (lambda w, rate: (w / 2, rate / 16), "divided by D twice"),
        (lambda w, rate: (w / 2, 4 * rate), "the rate is multiplied"),
        (lambda w, rate: (w / 2, 2 * rate), "the rate is multiplied"),
        (lambda w, rate: (w / 2, None), "the rate should be a number; got NoneType"),
        (lambda w, rate: (0.5, rate), "should be a tensor; got float"),
        (lambda w, rate: (w.T / 2, rate / 4), "has shape (4, 6)"),
    ],
}

"""The checks of chapter 2 accept what is right, however written, and name what is wrong."""

import math

import torch

from utils.attention import scaled_dot_product_attention
from utils.checks import ch02


def stable(scores, dim):
    exponentials = (scores - scores.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def by_logarithm(scores, dim):
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


def naive(scores, dim):
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


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


def attend_of_one_head(query, key, value):
    return attend(query, key[:, :1], value)


def additive(query, key, w_query, w_key, v):
    q, k = query @ w_query, key @ w_key
    return (q[:, :, None] + k[:, None]).tanh() @ v


def additive_by_loops(query, key, w_query, w_key, v):
    scores = torch.zeros(*query.shape[:2], key.shape[1])
    for b, t, s in torch.cartesian_prod(*map(torch.arange, scores.shape)):
        scores[b, t, s] = (query[b, t] @ w_query + key[b, s] @ w_key).tanh() @ v
    return scores


def additive_side_by_side(query, key, w_query, w_key, v):
    T, S = query.shape[1], key.shape[1]
    pairs = [query[:, :, None].expand(-1, -1, S, -1), key[:, None].expand(-1, T, -1, -1)]
    return (torch.cat(pairs, -1) @ torch.cat([w_query, w_key])).tanh() @ v


RIGHT = {
    ch02.softmax: [torch.softmax, stable, by_logarithm],
    ch02.scaled_dot_product: [
        attend,
        attend_by_rows,
        scaled_dot_product_attention,
    ],
    ch02.batched_product: [
        torch.matmul,
        lambda w, v: torch.einsum("bhts,bhsd->bhtd", w, v),
        lambda w, v: torch.bmm(w.flatten(0, 1), v.flatten(0, 1)).view(2, 3, -1, v.shape[-1]),
    ],
    ch02.additive_scores: [additive, additive_by_loops, additive_side_by_side],
}

WRONG = {
    ch02.softmax: [
        (lambda s, d: s.softmax(-1), "dim is 1, but the weights sum to one along axis 2"),
        (lambda s, d: s.softmax(0), "dim is -1, but the weights sum to one along axis 0"),
        (lambda s, d: s.exp(), "not divided by their sum"),
        (lambda s, d: s.exp() / s.exp().sum(), "sum along dim"),
        (naive, "it overflows"),
        (lambda s, d: naive(s - s.max(), d), "far below the one maximum"),
        (in_place, "changed the scores"),
    ],
    ch02.scaled_dot_product: [
        (lambda *x: attend(*x, softmax=lambda s, d: s.exp()), "not divided by their sum"),
        (lambda *x: attend(*x)[0], "two tensors: the output and the weights"),
        (lambda *x: attend(*x)[::-1], "the output comes first"),
        (lambda *x: attend(*x, scale=1.0), "the scale is missing"),
        (lambda *x: attend(*x, scale=1 / x[0].shape[-1]), "divided by D_head"),
        (lambda *x: attend(*x, scale=x[2].shape[-1] ** -0.5), "root of D_value"),
        (attend_scaled_late, "after the softmax"),
        (lambda *x: attend(*x, dim=-2), "wrong axis, the queries"),
        (lambda *x: attend(*x, dim=1), "wrong axis, the heads"),
        (lambda *x: attend(*x, softmax=lambda s, d: s), "softmax is missing"),
        (lambda *x: attend(*x, softmax=naive), "overflows for large scores"),
        (attend_reshaped, "reshaped, not transposed"),
        (attend_of_one_head, "head 0"),
        (
            lambda q, k, v: (attend(q, k, v.flip(-2))[0], attend(q, k, v)[1]),
            "the output is wrong at",
        ),
        (
            lambda q, k, v: attend(q, k, v, scale=8**-0.5 if q.dim() == 4 else 1.0),
            "of 3-d tensors is wrong at",
        ),
    ],
    ch02.batched_product: [
        (lambda w, v: w.flip(1) @ v, "reverse order"),
        (lambda w, v: w @ v[:, :1], "head 0"),
        (lambda w, v: w[:, :1] @ v, "head 0"),
        (lambda w, v: w.mT @ v, "weights are transposed"),
        (lambda w, v: w @ v.mT, "values are transposed"),
    ],
    ch02.additive_scores: [
        (lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v, "tanh is missing"),
        (
            lambda q, k, wq, wk, v: (((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v).tanh(),
            "tanh comes last",
        ),
        (
            lambda q, k, wq, wk, v: ((q @ wq).tanh()[:, :, None] + (k @ wk).tanh()[:, None]) @ v,
            "tanh is taken of each part",
        ),
        (
            lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] * (k @ wk)[:, None]).tanh() @ v,
            "multiplies the two parts",
        ),
        (lambda q, k, wq, wk, v: additive(q, k, wq, wk, torch.ones_like(v)), "w is missing"),
        (lambda *x: additive(*x).softmax(-1), "leave the softmax out"),
        (lambda *x: additive(*x).mT, "scores are transposed"),
        (lambda q, k, wq, wk, v: (q @ wq + k @ wk).tanh() @ v, "query t meets key t"),
        (lambda q, k, wq, wk, v: additive(q, k, wk, wq, v), "are swapped"),
    ],
}

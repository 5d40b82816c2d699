"""The checks of chapter 2 accept what is right, however it is written, and name what is wrong."""

import math

import pytest
import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.checks.dot_product import (
    additive_scores,
    batched_product,
    scaled_dot_product,
    softmax,
)


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


def attend_in_torch(query, key, value):
    identity = torch.eye(key.shape[-2]).expand(*key.shape[:-1], -1)
    fused = F.scaled_dot_product_attention
    return fused(query, key, value), fused(query, key, identity)


def attend_scaled_late(query, key, value):
    output, weights = attend(query, key, value, scale=1.0)
    return output, weights / query.shape[-1] ** 0.5


def attend_reshaped(query, key, value):
    columns = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = (query @ columns / query.shape[-1] ** 0.5).softmax(-1)
    return weights @ value, weights


def attend_of_one_head(query, key, value):
    return attend(query, key[:, :1], value)


def product_by_loops(weights, value):
    output = torch.zeros(*weights.shape[:-1], value.shape[-1])
    for b, h, t in torch.cartesian_prod(*map(torch.arange, weights.shape[:3])):
        for s in range(weights.shape[3]):
            output[b, h, t] += weights[b, h, t, s] * value[b, h, s]
    return output


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


def raises(*_):
    raise RuntimeError("shapes do not fit")


RIGHT = [
    (softmax, torch.softmax),
    (softmax, stable),
    (softmax, by_logarithm),
    (scaled_dot_product, attend),
    (scaled_dot_product, attend_by_rows),
    (scaled_dot_product, attend_in_torch),
    (scaled_dot_product, scaled_dot_product_attention),
    (batched_product, torch.matmul),
    (batched_product, product_by_loops),
    (batched_product, lambda w, v: torch.einsum("bhts,bhsd->bhtd", w, v)),
    (
        batched_product,
        lambda w, v: torch.bmm(w.flatten(0, 1), v.flatten(0, 1)).view(2, 3, -1, v.shape[-1]),
    ),
    (additive_scores, additive),
    (additive_scores, additive_by_loops),
    (additive_scores, additive_side_by_side),
]

WRONG = [
    (softmax, raises, "raised RuntimeError: shapes do not fit"),
    (softmax, lambda s, d: s.tolist(), "should be a tensor; got list"),
    (softmax, lambda s, d: s.softmax(d)[0], "has shape (3, 4); expected (2, 3, 4)"),
    (softmax, lambda s, d: s.softmax(-1), "dim is 1, but the weights sum to one along axis 2"),
    (softmax, lambda s, d: s.softmax(0), "dim is -1, but the weights sum to one along axis 0"),
    (softmax, lambda s, d: s.exp(), "not divided by their sum"),
    (softmax, lambda s, d: s.exp() / s.exp().sum(), "sum along dim"),
    (softmax, lambda s, d: s.log_softmax(d), "is wrong at"),
    (softmax, naive, "it overflows"),
    (softmax, lambda s, d: naive(s - s.max(), d), "far below the one maximum"),
    (softmax, in_place, "changed the scores"),
    (scaled_dot_product, raises, "raised RuntimeError"),
    (scaled_dot_product, lambda *x: attend(*x)[0], "two tensors: the output and the weights"),
    (scaled_dot_product, lambda *x: attend(*x)[::-1], "the output comes first"),
    (scaled_dot_product, lambda *x: attend(*x, scale=1.0), "the scale is missing"),
    (scaled_dot_product, lambda *x: attend(*x, scale=1 / x[0].shape[-1]), "divides by D_head"),
    (scaled_dot_product, lambda *x: attend(*x, scale=x[2].shape[-1] ** -0.5), "root of D_value"),
    (scaled_dot_product, attend_scaled_late, "after the softmax"),
    (scaled_dot_product, lambda *x: attend(*x, dim=-2), "wrong axis, the queries"),
    (scaled_dot_product, lambda *x: attend(*x, dim=1), "wrong axis, the heads"),
    (scaled_dot_product, lambda *x: attend(*x, softmax=lambda s, d: s), "softmax is missing"),
    (scaled_dot_product, lambda *x: attend(*x, softmax=naive), "overflows for large scores"),
    (scaled_dot_product, attend_reshaped, "reshaped, not transposed"),
    (scaled_dot_product, attend_of_one_head, "heads are mixed up"),
    (
        scaled_dot_product,
        lambda q, k, v: (attend(q, k, v.flip(-2))[0], attend(q, k, v)[1]),
        "the output is wrong at",
    ),
    (
        scaled_dot_product,
        lambda q, k, v: attend(q, k, v, scale=8**-0.5 if q.dim() == 4 else 1.0),
        "of 3-d tensors is wrong at",
    ),
    (batched_product, raises, "raised RuntimeError"),
    (batched_product, lambda w, v: (w @ v).transpose(1, 2), "has shape (2, 4, 3, 4)"),
    (batched_product, lambda w, v: w @ v[:, :1], "reads the values of head 0"),
    (batched_product, lambda w, v: w[:, :1] @ v, "uses the weights of head 0"),
    (batched_product, lambda w, v: (w @ v).sum(1), "has shape (2, 4, 4); expected (2, 3, 4, 4)"),
    (batched_product, lambda w, v: w.mT @ v, "weights are transposed"),
    (batched_product, lambda w, v: w @ v.mT, "values are transposed"),
    (additive_scores, raises, "raised RuntimeError"),
    (additive_scores, lambda q, k, wq, wk, v: additive(q, k, wq, wk, v)[0], "has shape (4, 4)"),
    (
        additive_scores,
        lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v,
        "tanh is missing",
    ),
    (
        additive_scores,
        lambda q, k, wq, wk, v: (((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v).tanh(),
        "tanh comes last",
    ),
    (
        additive_scores,
        lambda q, k, wq, wk, v: ((q @ wq).tanh()[:, :, None] + (k @ wk).tanh()[:, None]) @ v,
        "tanh is taken of each part",
    ),
    (
        additive_scores,
        lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] * (k @ wk)[:, None]).tanh() @ v,
        "multiplies the two parts",
    ),
    (
        additive_scores,
        lambda q, k, wq, wk, v: additive(q, k, wq, wk, torch.ones_like(v)),
        "w is missing",
    ),
    (additive_scores, lambda *x: additive(*x).softmax(-1), "leave the softmax out"),
    (additive_scores, lambda *x: additive(*x).mT, "scores are transposed"),
    (additive_scores, lambda q, k, wq, wk, v: (q @ wq + k @ wk).tanh() @ v, "query t meets key t"),
    (additive_scores, lambda q, k, wq, wk, v: additive(q, k, wk, wq, v), "are swapped"),
]


@pytest.mark.parametrize(("check", "function"), RIGHT)
def test_the_right_ways_are_accepted(check, function):
    assert check(function) == "Right."


@pytest.mark.parametrize(("check", "function", "said"), WRONG)
def test_the_fault_is_named(check, function, said):
    answer = check(function)
    assert answer.startswith("Not yet: ")
    assert said in answer

"""The checks of chapter 1 accept what is right, however it is written, and name what is wrong."""

import pytest
import torch
import torch.nn.functional as F

from utils.checks import lookup


def lookup_by_loops(query, keys, values):
    powers = [torch.exp(torch.dot(query, key)) for key in keys]
    output = torch.zeros(values.shape[1])
    for power, value in zip(powers, values, strict=True):
        output += power / sum(powers) * value
    return output


def kernel_by_loops(queries, keys, width):
    rows = [torch.stack([-((q - k) ** 2).sum() / (2 * width**2) for k in keys]) for q in queries]
    return torch.stack([torch.softmax(row, dim=0) for row in rows])


def kernel_by_product(queries, keys, width):
    score = queries @ keys.T - (keys**2).sum(dim=-1) / 2  # what all keys share is left out
    return (score / width**2).softmax(dim=-1)


def attention_by_pytorch(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return F.scaled_dot_product_attention(q, k, v, scale=1.0), (q @ k.T).softmax(dim=1)


def attention_by_rows(x, w_q, w_k, w_v):
    weights = torch.stack([torch.softmax((x @ w_k) @ (row @ w_q), 0) for row in x])
    return [weights @ x @ w_v, weights]


def attention_by_einsum(x, w_q, w_k, w_v):
    weights = torch.einsum("td,de,fe,sf->ts", x, w_q, w_k, x).softmax(-1)
    return torch.einsum("ts,sd,dv->tv", weights, x, w_v), weights


def softmax_by_maximum(scores, temperature):
    powers = ((scores - scores.max(dim=1, keepdim=True).values) / temperature).exp()
    return powers / powers.sum(dim=1, keepdim=True)


def softmax_by_logarithm(scores, temperature):
    scores = scores / temperature
    return (scores - scores.logsumexp(dim=1, keepdim=True)).exp()


RIGHT = [
    (lookup.soft_lookup, lookup_by_loops),
    (lookup.soft_lookup, lambda q, k, v: torch.softmax(q @ k.T, dim=0) @ v),
    (lookup.soft_lookup, lambda q, k, v: (v.T * F.softmax(k @ q, dim=0)).sum(dim=1)),
    (lookup.cosine_similarities, lambda q, k: F.normalize(q, dim=1) @ F.normalize(k, dim=1).T),
    (lookup.cosine_similarities, lambda q, k: F.cosine_similarity(q[:, None], k[None], dim=-1)),
    (lookup.cosine_similarities, lambda q, k: q @ k.T / torch.outer(q.norm(dim=1), k.norm(dim=1))),
    (lookup.kernel_weights, kernel_by_loops),
    (lookup.kernel_weights, kernel_by_product),
    (lookup.kernel_weights, lambda q, k, w: (-(torch.cdist(q, k) ** 2) / 2 / w**2).softmax(-1)),
    (lookup.self_attention, attention_by_pytorch),
    (lookup.self_attention, attention_by_rows),
    (lookup.self_attention, attention_by_einsum),
    (lookup.softmax_at, softmax_by_maximum),
    (lookup.softmax_at, softmax_by_logarithm),
    (lookup.softmax_at, lambda s, t: (s / t).softmax(dim=1)),
]


@pytest.mark.parametrize(("check", "function"), RIGHT)
def test_accepts_each_right_way(check, function):
    assert check(function) == "Right."


def attend(x, w_q, w_k, w_v, dim=-1, scale=1.0):
    weights = (x @ w_q @ (x @ w_k).T * scale).softmax(dim=dim)
    return weights @ x @ w_v, weights


def kernel(q, k, factor, power=2):
    return torch.softmax(factor * torch.cdist(q, k) ** power, dim=-1)


def kernel_without_stable_softmax(q, k, w):
    powers = (-(torch.cdist(q, k) ** 2) / (2 * w**2)).exp()
    return powers / powers.sum(dim=1, keepdim=True)


def softmax_that_overflows(scores, temperature):
    powers = (scores / temperature).exp()
    return powers / powers.sum(dim=1, keepdim=True)


def transposed_weights(x, w_q, w_k, w_v):
    weights = attend(x, w_q, w_k, w_v)[1]
    return weights.T @ x @ w_v, weights


def unprojected_values(x, w_q, w_k, w_v):
    weights = attend(x, w_q, w_k, w_v)[1]
    return weights @ x, weights


WRONG = [
    (lookup.soft_lookup, lambda q, k, v: k @ q @ v, "with a softmax"),
    (lookup.soft_lookup, lambda q, k, v: k @ q / (k @ q).sum() @ v, "exponentials first"),
    (lookup.soft_lookup, lambda q, k, v: (k @ q / 3**0.5).softmax(0) @ v, "leave that to"),
    (lookup.soft_lookup, lambda q, k, v: v[(k @ q).argmax()], "best key alone"),
    (lookup.soft_lookup, lambda q, k, v: v.mean(dim=0), "the output is wrong at"),
    (lookup.soft_lookup, lambda q, k, v: (k @ q).softmax(dim=0), "these are the weights"),
    (lookup.soft_lookup, lambda q, k, v: ((k @ q).softmax(0) @ v)[None], "shape (1, 2)"),
    (lookup.soft_lookup, lambda q, k, v: q @ k, "your code raised RuntimeError"),
    (lookup.soft_lookup, lambda q, k, v: None, "got NoneType"),
    (lookup.cosine_similarities, lambda q, k: q @ k.T, "not divided"),
    (lookup.cosine_similarities, lambda q, k: F.normalize(q, dim=1) @ k.T, "of the keys as well"),
    (lookup.cosine_similarities, lambda q, k: q @ F.normalize(k).T, "of the queries as well"),
    (
        lookup.cosine_similarities,
        lambda q, k: q @ k.T / torch.outer((q**2).sum(1), (k**2).sum(1)),
        "not by their squares",
    ),
    (lookup.cosine_similarities, lambda q, k: F.normalize(k) @ F.normalize(q).T, "exchanged"),
    (lookup.kernel_weights, lambda q, k, w: kernel(q, k, -0.5), "width is not used"),
    (lookup.kernel_weights, lambda q, k, w: kernel(q, k, -0.5 / w), "width is not squared"),
    (lookup.kernel_weights, lambda q, k, w: kernel(q, k, -1 / w**2), "factor"),
    (lookup.kernel_weights, lambda q, k, w: kernel(q, k, 0.5 / w**2), "sign"),
    (lookup.kernel_weights, lambda q, k, w: kernel(q, k, -0.5 / w**2, 1), "distances are not"),
    (
        lookup.kernel_weights,
        lambda q, k, w: (-(torch.cdist(q, k) ** 2) / (2 * w**2)).exp(),
        "do not sum to one",
    ),
    (
        lookup.kernel_weights,
        lambda q, k, w: (-(torch.cdist(q, k) ** 2) / (2 * w**2)).softmax(dim=0),
        "wrong axis",
    ),
    (lookup.kernel_weights, lambda q, k, w: (q @ k.T / (2 * w**2)).softmax(-1), "not products"),
    (lookup.kernel_weights, kernel_without_stable_softmax, "0/0 is NaN"),
    (lookup.self_attention, lambda x, *w: attend(x, *w)[0], "two things"),
    (lookup.self_attention, lambda x, *w: attend(x, *w)[::-1], "output comes first"),
    (lookup.self_attention, lambda x, *w: (x @ w[2], (x @ x.T).softmax(1)), "w_q and w_k"),
    (lookup.self_attention, lambda x, a, b, c: (x @ c, x @ a @ (x @ b).T), "softmax is missing"),
    (lookup.self_attention, lambda x, *w: attend(x, *w, dim=0), "wrong axis"),
    (lookup.self_attention, lambda x, a, b, c: attend(x, b, a, c), "queries and keys are exch"),
    (lookup.self_attention, lambda x, *w: attend(x, *w, scale=3**-0.5), "leave that to chapter 2"),
    (lookup.self_attention, unprojected_values, "w_v first"),
    (lookup.self_attention, transposed_weights, "transposed"),
    (lookup.self_attention, lambda x, *w: (x @ w[2], attend(x, *w)[1]), "these are the values"),
    (lookup.softmax_at, lambda s, t: s.softmax(-1), "not used"),
    (lookup.softmax_at, lambda s, t: (s * t).softmax(-1), "multiplied"),
    (lookup.softmax_at, lambda s, t: s.softmax(-1) / t, "before the softmax"),
    (lookup.softmax_at, lambda s, t: (s / t).softmax(0), "wrong axis"),
    (lookup.softmax_at, lambda s, t: (s / t).exp(), "by their sum"),
    (lookup.softmax_at, softmax_that_overflows, "overflow"),
]


@pytest.mark.parametrize(("check", "function", "fault"), WRONG)
def test_names_each_fault(check, function, fault):
    said = check(function)
    assert said.startswith("Not yet: ")
    assert fault in said

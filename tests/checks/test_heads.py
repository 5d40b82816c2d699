"""The checks of chapter 4 accept what is right, however written, and name what is wrong."""

import pytest
import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.checks.comparing import RIGHT
from utils.checks.heads import (
    contributions_of_heads,
    join_and_project,
    loop_over_heads,
    one_head,
)

# One head.


def head(query, key, value, w_q, w_k, w_v, axis=-1, size=None, softmax=True):
    q, k, v = query @ w_q, key @ w_k, value @ w_v
    scores = q @ k.transpose(-2, -1) / (size or q.shape[-1]) ** 0.5
    weights = scores.softmax(axis) if softmax else scores
    return weights @ v, weights


def head_by_loops(query, key, value, w_q, w_k, w_v):
    q, k, v = query @ w_q, key @ w_k, value @ w_v
    weights = torch.empty(len(q), q.shape[1], k.shape[1])
    for b in range(len(q)):
        for t in range(q.shape[1]):
            e = torch.stack([torch.dot(q[b, t], k_s) / w_q.shape[1] ** 0.5 for k_s in k[b]]).exp()
            weights[b, t] = e / e.sum()
    return torch.einsum("bts,bsd->btd", weights, v), weights


def head_of_the_package(query, key, value, w_q, w_k, w_v):
    return scaled_dot_product_attention(query @ w_q, key @ w_k, value @ w_v)


def head_by_einsum(query, key, value, w_q, w_k, w_v):
    scores = torch.einsum("btd,dh,ek,bse->bthks", query, w_q, w_k, key).diagonal(dim1=2, dim2=3)
    weights = F.softmax(scores.sum(-1) / w_k.shape[-1] ** 0.5, dim=-1)
    return [weights @ (value @ w_v), weights]


def with_exchanged_roles(query, key, value, w_q, w_k, w_v):
    return head(key, query, query @ torch.ones(6, 8), w_k, w_q, w_v)


def with_raw_values(query, key, value, w_q, w_k, w_v):
    weights = head(query, key, value, w_q, w_k, w_v)[1]
    return weights @ value, weights


# Joining, and what each head adds.


def join(outputs, w_o, b_o):
    return torch.cat(outputs, dim=-1) @ w_o + b_o


def join_as_a_sum(outputs, w_o, b_o):
    size = outputs[0].shape[-1]
    return b_o + sum(o @ w_o[h * size : (h + 1) * size] for h, o in enumerate(outputs))


def join_by_reshape(outputs, w_o, b_o):
    return F.linear(torch.stack(outputs, dim=2).flatten(2), w_o.T, b_o)


def contribute(outputs, w_o):
    return torch.stack([o @ w for o, w in zip(outputs, w_o.chunk(len(outputs)), strict=True)])


def contribute_by_einsum(outputs, w_o):
    blocks = w_o.view(len(outputs), -1, w_o.shape[1])
    return torch.einsum("hbtd,hde->hbte", torch.stack(outputs), blocks)


def contribute_with_the_others_silent(outputs, w_o):
    zeros = [torch.zeros_like(o) for o in outputs]
    alone = [[*zeros[:h], o, *zeros[h + 1 :]] for h, o in enumerate(outputs)]
    return torch.stack([torch.cat(one, dim=-1) @ w_o for one in alone])


# The whole loop.


def loop(query, key, value, heads, w_o, b_o, allowed, size=None, axis=-1, put=1):
    outputs, all_weights = [], []
    for w_q, w_k, w_v in heads:
        q, k, v = query @ w_q, key @ w_k, value @ w_v
        scores = q @ k.transpose(1, 2) / (size or q.shape[-1]) ** 0.5
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(axis)
        outputs.append(weights @ v)
        all_weights.append(weights)
    return torch.cat(outputs, dim=-1) @ w_o + b_o, torch.stack(all_weights, dim=put)


def loop_with_the_package(query, key, value, heads, w_o, b_o, allowed):
    output, weights = b_o, []
    for (w_q, w_k, w_v), block in zip(heads, w_o.chunk(len(heads)), strict=True):
        one, w = scaled_dot_product_attention(query @ w_q, key @ w_k, value @ w_v, allowed)
        output = output + one @ block
        weights.append(w)
    return output, torch.stack(weights, dim=1)


def all_heads_at_once(query, key, value, heads, w_o, b_o, allowed):
    w_q, w_k, w_v = (torch.stack(parts) for parts in zip(*heads, strict=True))
    q, k, v = query[:, None] @ w_q, key[:, None] @ w_k, value[:, None] @ w_v  # (B, H, ..., D_head)
    additive = torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))
    weights = (q @ k.mT / w_q.shape[-1] ** 0.5 + additive).softmax(dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_o + b_o, weights


def changed(output=lambda o: o, weights=lambda w: w, before=lambda *given: given):
    """The loop with a fault in its input, its output or its weights."""

    def wrong(*given):
        first, second = loop(*before(*given))
        return output(first), weights(second)

    return wrong


def masked_late(query, key, value, heads, w_o, b_o, allowed):
    output, weights = loop(query, key, value, heads, w_o, b_o, torch.ones_like(allowed))
    return output, weights * allowed


def with_heads(change):
    return changed(before=lambda q, k, v, heads, *rest: (q, k, v, change(heads), *rest))


def with_mask(change):
    return changed(before=lambda *given: (*given[:-1], change(given[-1])))


def interleaved(query, key, value, heads, w_o, b_o, allowed):
    weights = loop(query, key, value, heads, w_o, b_o, allowed)[1]
    outputs = [weights[:, h] @ (value @ w_v) for h, (_, _, w_v) in enumerate(heads)]
    return torch.stack(outputs, dim=-1).flatten(2) @ w_o + b_o, weights


def raising(*_):
    raise KeyError("no such head")


ACCEPTED = [
    (one_head, [head, head_by_loops, head_of_the_package, head_by_einsum]),
    (join_and_project, [join, join_as_a_sum, join_by_reshape]),
    (
        contributions_of_heads,
        [contribute, contribute_by_einsum, contribute_with_the_others_silent],
    ),
    (loop_over_heads, [loop, loop_with_the_package, all_heads_at_once]),
]

FAULTS = [
    (one_head, raising, "your code raised KeyError: 'no such head'"),
    (one_head, lambda *given: head(*given)[0], "return two things"),
    (one_head, lambda *given: head(*given)[::-1], "the tensor of weights has shape (2, 4, 2)"),
    (one_head, lambda *given: head(*given, axis=1), "over the queries"),
    (one_head, lambda *given: head(*given, size=1), "not divided by the root of D_head"),
    (one_head, lambda *given: head(*given, size=6), "the root of D, not D_head"),
    (one_head, lambda *given: head(*given, softmax=False), "the softmax is missing"),
    (one_head, with_exchanged_roles, "has shape (2, 5, 4); expected (2, 4, 5)"),
    (one_head, with_raw_values, "w_v is not used"),
    (one_head, lambda *given: (0.0, head(*given)[1]), "should be a tensor; got float"),
    (join_and_project, lambda o, w, b: o[0], "has shape (2, 4, 2); expected (2, 4, 6)"),
    (join_and_project, lambda o, w, b: sum(o) @ w + b, "your code raised RuntimeError"),
    (join_and_project, lambda o, w, b: torch.cat(o, -1), "the last projection is missing"),
    (join_and_project, lambda o, w, b: torch.cat(o, -1) @ w, "the bias b_o is missing"),
    (join_and_project, lambda o, w, b: join(o, w.T, b), "w_o is transposed"),
    (join_and_project, lambda o, w, b: join(o[::-1], w, b), "reverse order"),
    (
        join_and_project,
        lambda o, w, b: torch.stack(o, -1).flatten(2) @ w + b,
        "heads mixed up: they are interleaved",
    ),
    (
        join_and_project,
        lambda o, w, b: torch.stack(o).reshape(2, 4, 6) @ w + b,
        "heads mixed up: reshape is no torch.cat",
    ),
    (
        join_and_project,
        lambda o, w, b: sum(x @ p + b for x, p in zip(o, w.split(2), strict=True)),
        "the bias b_o is added for each head",
    ),
    (contributions_of_heads, lambda o, w: contribute(o, w).sum(0), "this is the sum"),
    (contributions_of_heads, lambda o, w: contribute(o, w).mT, "has shape (3, 2, 6, 4)"),
    (contributions_of_heads, lambda o, w: contribute(o, w).transpose(0, 1), "come first"),
    (contributions_of_heads, lambda o, w: contribute(o, w.T), "columns of w_o"),
    (contributions_of_heads, lambda o, w: contribute(o, w.roll(2, 0)), "is wrong at"),
    (
        contributions_of_heads,
        lambda o, w: contribute(o, torch.cat(w.split(2)[::-1])),
        "heads mixed up: the rows of w_o are taken in reverse",
    ),
    (
        contributions_of_heads,
        lambda o, w: torch.stack([x @ w[h::3] for h, x in enumerate(o)]),
        "heads mixed up: head h takes every H-th row",
    ),
    (loop_over_heads, raising, "your code raised KeyError"),
    (loop_over_heads, with_mask(torch.logical_not), "the mask is the wrong way round"),
    (loop_over_heads, with_mask(torch.ones_like), "the mask is ignored"),
    (loop_over_heads, masked_late, "the mask comes after the softmax"),
    (loop_over_heads, lambda *given: loop(*given, size=1), "not divided by the root of D_head"),
    (loop_over_heads, lambda *given: loop(*given, size=6), "the root of D, not D_head"),
    (loop_over_heads, lambda *given: loop(*given, axis=1), "over the queries"),
    (loop_over_heads, lambda *given: loop(*given, put=0), "should come second"),
    (loop_over_heads, changed(weights=lambda w: w.mean(1)), "averaged over the heads"),
    (loop_over_heads, with_heads(lambda heads: heads[:1] * 3), "all use the first one's"),
    (loop_over_heads, with_heads(lambda heads: heads[::-1]), "is wrong at"),
    (loop_over_heads, changed(output=lambda o: o[..., :2]), "the output has shape (2, 4, 2)"),
    (loop_over_heads, changed(output=lambda o: o * float("nan")), "48 entries that are NaN"),
    (loop_over_heads, interleaved, "heads mixed up: they are interleaved"),
    (
        loop_over_heads,
        changed(before=lambda *given: (*given[:5], 0.0, given[6])),
        "the bias b_o is missing",
    ),
    (
        loop_over_heads,
        changed(before=lambda *given: (*given[:4], torch.eye(6), 0.0, given[6])),
        "the last projection is missing",
    ),
]


@pytest.mark.parametrize(("check", "right"), [(c, f) for c, fs in ACCEPTED for f in fs])
def test_accepts_each_right_way_to_write_it(check, right):
    assert check(right) == RIGHT


@pytest.mark.parametrize(("check", "wrong", "fragment"), FAULTS)
def test_names_the_fault(check, wrong, fragment):
    said = check(wrong)
    assert said.startswith("Not yet: ")
    assert fragment in said

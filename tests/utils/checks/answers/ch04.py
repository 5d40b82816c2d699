"""The checks of chapter 4 accept what is right, however written, and name what is wrong."""

import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.checks import ch04

# One head.


def head(query, key, value, w_q, w_k, w_v, axis=-1, size=None, softmax=True):
    q, k, v = query @ w_q, key @ w_k, value @ w_v
    scores = q @ k.transpose(-2, -1) / (size or q.shape[-1]) ** 0.5
    weights = scores.softmax(axis) if softmax else scores
    return weights @ v, weights


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


def masked_by_a_product(query, key, value, heads, w_o, b_o, allowed):
    scores = [(query @ w_q) @ (key @ w_k).mT / w_q.shape[1] ** 0.5 for w_q, w_k, _ in heads]
    return None, (torch.stack(scores, dim=1) * allowed).softmax(-1)


def values_of_head_0(query, key, value, heads, w_o, b_o, allowed):
    weights = loop(query, key, value, heads, w_o, b_o, allowed)[1]
    return loop(query, key, value, [(*h[:2], heads[0][2]) for h in heads], w_o, b_o, allowed)[
        0
    ], weights


RIGHT = {
    ch04.one_head: [head, head_of_the_package, head_by_einsum],
    ch04.join_and_project: [join, join_as_a_sum, join_by_reshape],
    ch04.contributions_of_heads: [
        contribute,
        contribute_by_einsum,
        contribute_with_the_others_silent,
    ],
    ch04.loop_over_heads: [loop, loop_with_the_package, all_heads_at_once],
}

WRONG = {
    ch04.one_head: [
        (lambda *given: head(*given, size=4), "divided by D_head"),
        (lambda *given: (given[2] @ given[5], head(*given)[1]), "not weighed"),
        (lambda *given: head(*given)[0], "return two things"),
        (lambda *given: head(*given)[::-1], "the tensor of weights has shape (2, 4, 2)"),
        (lambda *given: head(*given, axis=1), "the queries"),
        (lambda *given: head(*given, size=1), "scale is missing"),
        (lambda *given: head(*given, size=6), "the root of D;"),
        (lambda *given: head(*given, softmax=False), "the softmax is missing"),
        (with_raw_values, "w_v is not used"),
    ],
    ch04.join_and_project: [
        (lambda o, w, b: torch.cat(o, -1), "the last projection is missing"),
        (lambda o, w, b: torch.cat(o, -1) @ w, "bias of the last projection"),
        (lambda o, w, b: join(o, w.T, b), "is transposed"),
        (lambda o, w, b: join(o[::-1], w, b), "reverse order"),
        (
            lambda o, w, b: torch.stack(o, -1).flatten(2) @ w + b,
            "every H-th",
        ),
        (
            lambda o, w, b: torch.stack(o).reshape(2, 4, 6) @ w + b,
            "a reshape alone",
        ),
        (
            lambda o, w, b: sum(x @ p + b for x, p in zip(o, w.split(2), strict=True)),
            "for each head",
        ),
    ],
    ch04.contributions_of_heads: [
        (lambda o, w: contribute(o, w[:2].repeat(3, 1)), "head 0"),
        (lambda o, w: contribute(o, w).sum(0), "this is the sum"),
        (lambda o, w: contribute(o, w).transpose(0, 1), "come first"),
        (lambda o, w: contribute(o, w.T), "columns of w_o"),
        (
            lambda o, w: contribute(o, torch.cat(w.split(2)[::-1])),
            "reverse order",
        ),
        (
            lambda o, w: torch.stack([x @ w[h::3] for h, x in enumerate(o)]),
            "every H-th",
        ),
    ],
    ch04.loop_over_heads: [
        (masked_by_a_product, "fill with -inf"),
        (values_of_head_0, "head 0"),
        (with_mask(torch.logical_not), "the mask is the wrong way round"),
        (with_mask(torch.ones_like), "mask is not used"),
        (masked_late, "the mask comes after the softmax"),
        (lambda *given: loop(*given, size=1), "scale is missing"),
        (lambda *given: loop(*given, size=6), "the root of D;"),
        (lambda *given: loop(*given, axis=1), "the queries"),
        (lambda *given: loop(*given, put=0), "should come second"),
        (changed(weights=lambda w: w.mean(1)), "averaged over the heads"),
        (with_heads(lambda heads: heads[:1] * 3), "head 0"),
        (with_heads(lambda heads: heads[::-1]), "reverse order"),
        (changed(output=lambda o: o * float("nan")), "48 entries that are NaN"),
        (interleaved, "every H-th"),
        (changed(before=lambda *given: (*given[:5], 0.0, given[6])), "bias of the last projection"),
        (
            changed(before=lambda *given: (*given[:4], torch.eye(6), 0.0, given[6])),
            "the last projection is missing",
        ),
    ],
}

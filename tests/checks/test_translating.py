"""The checks of translation accept what is right, however it is written, and name what is wrong."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.checks import translating

INF = math.inf

# Cross-attention


def by_formula(y, memory, w_q, w_k, w_v, padding):
    scores = (y @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.masked_fill(padding.unsqueeze(1), -INF).softmax(-1) @ (memory @ w_v)


def with_kernel(y, memory, w_q, w_k, w_v, padding):
    allowed = ~padding.unsqueeze(1)
    return F.scaled_dot_product_attention(y @ w_q, memory @ w_k, memory @ w_v, allowed)


def with_utils(y, memory, w_q, w_k, w_v, padding):
    allowed = ~padding.unsqueeze(1)
    return scaled_dot_product_attention(y @ w_q, memory @ w_k, memory @ w_v, allowed)[0]


def one_by_one(y, memory, w_q, w_k, w_v, padding):
    output = torch.zeros(*y.shape[:2], w_v.shape[1])
    for b in range(len(y)):
        kept = memory[b][~padding[b]]
        for t, x in enumerate(y[b]):
            weights = ((kept @ w_k) @ (x @ w_q) / math.sqrt(w_q.shape[1])).softmax(0)
            output[b, t] = weights @ (kept @ w_v)
    return output


@pytest.mark.parametrize("function", [by_formula, with_kernel, with_utils, one_by_one])
def test_cross_attention_accepts(function):
    assert translating.cross_attention(function) == "Right."


def wrong_cross(scale=None, dim=-1, mask="before", mix="values", exchange=False, alone=False):
    """Cross-attention with one thing wrong."""

    def function(y, memory, w_q, w_k, w_v, padding):
        asks, asked = (memory, y) if exchange else (y, y if alone else memory)
        if alone or exchange:
            padding = torch.zeros(asked.shape[:2], dtype=torch.bool)
        scores = (asks @ w_q) @ (asked @ w_k).mT / math.sqrt(scale or w_q.shape[1])
        blocked = padding.unsqueeze(1)
        if mask == "turned":
            blocked = ~blocked
        if mask in ("before", "turned"):
            scores = scores.masked_fill(blocked, -INF)
        weights = scores if dim is None else scores.softmax(dim)
        if dim is None:
            weights = weights.nan_to_num(neginf=0.0)
        if mask == "after":
            weights = weights.masked_fill(blocked, 0.0)
        return weights @ (asked @ (w_v if mix == "values" else w_k))

    return function


def broken(*_):
    raise RuntimeError("not finished")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (wrong_cross(mask=None), "the padding is read"),
        (wrong_cross(mask="turned"), "the wrong way round"),
        (wrong_cross(mask="after"), "before the softmax"),
        (wrong_cross(scale=1), "scale is missing"),
        (wrong_cross(scale=6), "not of D"),
        (wrong_cross(dim=-2), "runs over the queries"),
        (wrong_cross(dim=None), "no softmax"),
        (wrong_cross(mix="keys"), "mix the values"),
        (wrong_cross(exchange=True), "the source asks"),
        (wrong_cross(alone=True), "attends to itself"),
        (lambda *x: by_formula(*x).mT, "expected (2, 3, 4)"),
        (lambda *_: None, "should be a tensor"),
        (broken, "RuntimeError: not finished"),
    ],
)
def test_cross_attention_names(function, message):
    answer = translating.cross_attention(function)
    assert answer.startswith("Not yet:")
    assert message in answer


# The loss


def torchs(logits, labels, smoothing):
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing
    )


def with_distribution(logits, labels, smoothing):
    V = logits.shape[-1]
    wanted = (1 - smoothing) * F.one_hot(labels, V) + smoothing / V
    losses = -(wanted * logits.log_softmax(-1)).sum(-1)
    return losses[labels != 0].mean()


def in_loops(logits, labels, smoothing):
    losses = []
    for row, wanted in zip(logits, labels, strict=True):
        for x, label in zip(row, wanted, strict=True):
            if label != 0:
                log_p = x - x.logsumexp(0)
                losses.append(-(1 - smoothing) * log_p[label] - smoothing * log_p.mean())
    return (sum(losses) / len(losses)).item()


def in_numpy(*given):
    return np.float32(in_loops(*given))


@pytest.mark.parametrize("function", [torchs, with_distribution, in_loops, in_numpy])
def test_smoothed_loss_accepts(function):
    assert translating.smoothed_loss(function) == "Right."


def losses_of(logits, labels, smoothing):
    wanted = (1 - smoothing) * F.one_hot(labels, logits.shape[-1]) + smoothing / logits.shape[-1]
    return -(wanted * logits.log_softmax(-1)).sum(-1)


def over_the_others(logits, labels, smoothing):
    V = logits.shape[-1]
    right = F.one_hot(labels, V)
    wanted = (1 - smoothing) * right + smoothing / (V - 1) * (1 - right)
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


def each_the_share(logits, labels, smoothing):
    wanted = (1 - smoothing) * F.one_hot(labels, logits.shape[-1]) + smoothing
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y, s: losses_of(x, y, s).mean(), "padding counts too"),
        (lambda x, y, s: losses_of(x, y, 0)[y != 0].mean(), "not smoothed"),
        (over_the_others, "the right one included"),
        (each_the_share, "divide it by their number"),
        (lambda x, y, s: losses_of(x, y, s)[y != 0].sum(), "give the mean"),
        (lambda x, y, s: (losses_of(x, y, s) * (y != 0)).mean(), "in the number of places"),
        (lambda x, y, s: losses_of(x, y, 1 - s)[y != 0].mean(), "exchanged"),
        (lambda x, y, s: -torchs(x, y, s), "sign is wrong"),
        (lambda x, y, s: losses_of(x, y, s), "expected ()"),
        (lambda x, y, s: x.mean(), "with smoothing 0.1, the loss is -0.141 instead of 3.426"),
        (broken, "not finished"),
    ],
)
def test_smoothed_loss_names(function, message):
    answer = translating.smoothed_loss(function)
    assert answer.startswith("Not yet:")
    assert message in answer

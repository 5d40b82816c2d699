"""The checks of decoding accept what is right, however it is written, and name what is wrong."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.cache import KeyValueCache
from utils.checks import decoding

cat = torch.cat


def with_kernel(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    return F.scaled_dot_product_attention(q, keys, values), keys, values


def by_formula(q, k, v, keys, values):
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    weights = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return weights @ values, keys, values


def with_cache(q, k, v, keys, values):
    cache = KeyValueCache(keys.shape[2] + 1)
    cache.append(keys, values)
    keys, values = cache.append(k, v)
    return [scaled_dot_product_attention(q, keys, values)[0], keys, values]


def in_loops(q, k, v, keys, values):
    B, H, S, size = keys.shape
    keys, values = cat([keys, k], 2), cat([values, v], 2)
    output = torch.zeros(B, H, 1, size)
    for b in range(B):
        for h in range(H):
            scores = [q[b, h, 0] @ keys[b, h, s] / size**0.5 for s in range(S + 1)]
            weights = torch.stack(scores).softmax(0)
            output[b, h, 0] = sum(weights[s] * values[b, h, s] for s in range(S + 1))
    return output, keys, values


@pytest.mark.parametrize("function", [with_kernel, by_formula, with_cache, in_loops])
def test_cached_step_accepts(function):
    assert decoding.cached_step(function) == "Right."


def change(scale=None, softmax=-1, sees=slice(None), mix=None, flip=False):
    """The step with one thing wrong."""

    def function(q, k, v, keys, values):
        keys, values = cat([keys, k], 2), cat([values, v], 2)
        seen, mixed = keys[:, :, sees], (keys if mix == "keys" else values)[:, :, sees]
        if flip:
            seen, mixed = seen.flip(1), mixed.flip(1)
        scores = q @ seen.mT / (math.sqrt(q.shape[-1]) if scale is None else scale)
        weights = scores if softmax is None else scores.softmax(softmax)
        return weights @ mixed, keys, values

    return function


def result(output=None, keys=None, values=None):
    """The step with one result replaced."""

    def function(q, k, v, old_keys, old_values):
        right = with_kernel(q, k, v, old_keys, old_values)
        given = output, keys, values
        arguments = {"q": q, "k": k, "v": v, "keys": old_keys, "values": old_values}
        return [f(arguments) if f else r for f, r in zip(given, right, strict=True)]

    return function


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (change(scale=1), "the scale is missing"),
        (change(softmax=-2), "over the queries"),
        (change(softmax=None), "there is no softmax"),
        (change(sees=slice(-1)), "append first"),
        (change(mix="keys"), "the keys are mixed"),
        (change(flip=True), "across the heads"),
        (change(scale=2.5), "the output is wrong at"),
        (result(output=lambda a: a["v"][:, :, 0]), "has shape"),
        (result(keys=lambda a: a["k"]), "keep the old ones"),
        (result(values=lambda a: a["values"]), "add the newest token's"),
        (result(keys=lambda a: cat([a["k"], a["keys"]], 2)), "comes last, not first"),
        (result(keys=lambda a: cat([a["values"], a["v"]], 2)), "swapped"),
        (lambda q, k, v, keys, values: q, "three things"),
        (lambda q, k, v, keys, values: cat([keys, k], 1), "your code raised RuntimeError"),
    ],
)
def test_cached_step_names_the_fault(function, fragment):
    assert fragment in decoding.cached_step(function)


def by_index(k, num_heads):
    times = num_heads // k.shape[1]
    return k[:, torch.arange(num_heads) // times]


def by_interleaving(k, num_heads):
    return k.repeat_interleave(num_heads // k.shape[1], dim=1)


def by_expanding(k, num_heads):
    B, kv_heads, S, size = k.shape
    wide = k.unsqueeze(2).expand(B, kv_heads, num_heads // kv_heads, S, size)
    return wide.reshape(B, num_heads, S, size)


@pytest.mark.parametrize("function", [by_index, by_interleaving, by_expanding])
def test_repeated_key_heads_accepts(function):
    assert decoding.repeated_key_heads(function) == "Right."


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda k, H: k.repeat(1, H // k.shape[1], 1, 1), "neighbours share a head"),
        (lambda k, H: k.repeat_interleave(H // k.shape[1], dim=2), "repeat the heads"),
        (lambda k, H: k[:, :1].repeat(1, H, 1, 1), "all heads have key head 0"),
        (lambda k, H: k.repeat_interleave(H, dim=1), "has shape"),
        (lambda k, H: by_index(k, H).mT, "has shape"),
        (lambda k, H: by_index(k, H).flip(1), "is wrong at"),
        (lambda k, H: None, "should be a tensor"),
        (lambda k, H: k.flatten(1), "expected (2, 6, 5, 4)"),
        (lambda k, H: k.heads, "your code raised AttributeError"),
    ],
)
def test_repeated_key_heads_names_the_fault(function, fragment):
    assert fragment in decoding.repeated_key_heads(function)


def divide(room, texts, layers, heads, width):
    return room // (texts * layers * 2 * heads * width * 2)


def one_after_the_other(room, texts, layers, heads, width):
    each = room / texts
    return int(each / layers / 2 / heads / width / 2)


def by_cache(room, texts, layers, heads, width):
    cache = KeyValueCache(1)
    cache.append(*torch.zeros(2, 1, heads, 1, width, dtype=torch.float16))
    return room // (texts * layers * cache.bytes_per_token)


def in_numpy(*given):
    return np.int64(divide(*given))


@pytest.mark.parametrize("function", [divide, one_after_the_other, by_cache, in_numpy])
def test_tokens_that_fit_accepts(function):
    assert decoding.tokens_that_fit(function) == "Right."


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda r, t, n, h, w: r // (t * n * 2 * h * w), "count keys and values, both"),
        (lambda r, t, n, h, w: r // (t * n * 2 * h * w * 4), "not four"),
        (lambda r, t, n, h, w: r // (t * 2 * h * w * 2), "every layer"),
        (lambda r, t, n, h, w: r // (t * n * 2 * w * 2), "every key head"),
        (lambda r, t, n, h, w: r // (t * n * 2 * h * 2), "head_dim numbers"),
        (lambda r, t, n, h, w: r // (n * 2 * h * w * 2), "for all texts together"),
        (lambda r, t, n, h, w: r / (t * n * 2 * h * w * 2), "rounded down"),
        (lambda r, t, n, h, w: 1 + r // (t * n * 2 * h * w * 2), "rounded down"),
        (lambda r, t, n, h, w: 7, "the result is 7; expected"),
        (lambda r, t, n, h, w: "7", "should be a number"),
        (lambda r, t, n, h, w: r / 0, "your code raised ZeroDivisionError"),
    ],
)
def test_tokens_that_fit_names_the_fault(function, fragment):
    assert fragment in decoding.tokens_that_fit(function)


def absorb(q, c, w_k, w_v):
    scores = (q @ w_k) @ c.unsqueeze(1).mT / math.sqrt(q.shape[-1])
    return scores.softmax(-1) @ c.unsqueeze(1) @ w_v.mT


def absorb_by_einsum(q, c, w_k, w_v):
    scores = torch.einsum("bhtr,bsr->bhts", torch.einsum("bhtd,hdr->bhtr", q, w_k), c)
    weights = (scores / q.shape[-1] ** 0.5).softmax(-1)
    mixed = torch.einsum("bhts,bsr->bhtr", weights, c)
    return torch.einsum("bhtr,hdr->bhtd", mixed, w_v)


def absorb_per_head(q, c, w_k, w_v):
    heads = []
    for h in range(q.shape[1]):
        weights = (q[:, h] @ w_k[h] @ c.mT / q.shape[-1] ** 0.5).softmax(-1)
        heads.append(weights @ c @ w_v[h].T)
    return torch.stack(heads, 1)


def build(q, c, w_k, w_v, scale=None, softmax=-1):
    k, v = c.unsqueeze(1) @ w_k.mT, c.unsqueeze(1) @ w_v.mT
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return scores.softmax(softmax) @ v


@pytest.mark.parametrize("function", [absorb, absorb_by_einsum, absorb_per_head])
def test_absorbed_heads_accepts(function):
    assert decoding.absorbed_heads(function) == "Right."


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (build, "never build the keys and values"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, scale=1), "the scale is missing"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, c.shape[-1] ** -0.5), "not of R"),
        (lambda q, c, w_k, w_v: build(q, c, w_k, w_v, softmax=-2), "over the wrong axis"),
        (lambda q, c, w_k, w_v: absorb(q, c, w_v, w_k), "swapped"),
        (lambda q, c, w_k, w_v: absorb(q, c, w_k.flip(0), w_v.flip(0)), "mixed up"),
        (lambda q, c, w_k, w_v: (q @ w_k @ c.unsqueeze(1).mT / 2).softmax(-1), "has shape"),
        (
            lambda q, c, w_k, w_v: (
                (q @ w_k @ c.unsqueeze(1).mT * q.shape[-1] ** -0.5).softmax(-1) @ c.unsqueeze(1)
            ),
            "mixtures of latent vectors",
        ),
        (lambda q, c, w_k, w_v: absorb(q, c, w_k, w_v).mT, "has shape"),
        (lambda q, c, w_k, w_v: 2 * absorb(q, c, w_k, w_v), "is wrong at"),
        (lambda q, c, w_k, w_v: q @ c, "your code raised RuntimeError"),
    ],
)
def test_absorbed_heads_names_the_fault(function, fragment):
    assert fragment in decoding.absorbed_heads(function)

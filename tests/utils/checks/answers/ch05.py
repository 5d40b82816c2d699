"""The checks of chapter 5 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from utils.checks import ch05


def split(x, H):
    return x.unflatten(-1, (H, -1)).transpose(-3, -2)


def split_by_reshape(x, H):
    *lead, T, D = x.shape
    return x.reshape(*lead, T, H, D // H).movedim(-2, -3)


def split_by_slices(x, H):
    size = x.shape[-1] // H
    return torch.stack([x[..., h * size : (h + 1) * size] for h in range(H)], dim=-3)


def untransposed(x, H):
    *lead, T, D = x.shape
    return x.reshape(*lead, H, T, D // H)


def strided(x, H):
    return x.unflatten(-1, (-1, H)).movedim(-1, -3)


def join(x):
    return x.transpose(-3, -2).flatten(-2)


def join_by_cat(x):
    return torch.cat([x[..., h, :, :] for h in range(x.shape[-3])], dim=-1)


def join_by_loop(x):
    *lead, H, T, size = x.shape
    joined = x.new_zeros(*lead, T, H * size)
    for h in range(H):
        joined[..., h * size : (h + 1) * size] = x[..., h, :, :]
    return joined


def join_untransposed(x):
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def stack(first, second, parts=lambda a, b: (a, b), bias=True):
    """Stack by state dict; the arguments make the mistakes."""
    layers = parts(first, second)
    has_bias = bias and first.bias is not None
    both = nn.Linear(first.in_features, sum(p.out_features for p in layers), bias=has_bias)
    names = ["weight", "bias"] if has_bias else ["weight"]
    both.load_state_dict({n: torch.cat([getattr(p, n) for p in layers]) for n in names})
    return both


def stack_by_slices(first, second):
    n = first.out_features
    both = nn.Linear(first.in_features, n + second.out_features, bias=first.bias is not None)
    with torch.no_grad():
        both.weight[:n], both.weight[n:] = first.weight, second.weight
        if first.bias is not None:
            both.bias[:n], both.bias[n:] = first.bias, second.bias
    return both


def stack_by_parameter(first, second):
    both = nn.Linear(1, 1, bias=False)
    both.weight = nn.Parameter(torch.vstack([first.weight, second.weight]))
    if first.bias is not None:
        both.bias = nn.Parameter(torch.hstack([first.bias, second.bias]))
    return both


def stack_always_with_bias(first, second):
    both = nn.Linear(first.in_features, first.out_features + second.out_features)
    with torch.no_grad():
        both.weight.copy_(torch.cat([first.weight, second.weight]))
        if first.bias is not None:
            both.bias.copy_(torch.cat([first.bias, second.bias]))
    return both


def folded(query, key, H, blocked, cut=split, divisor=None, dim=-1, repeat=None, use_mask=True):
    """Weights of a folded batched product; the arguments make the mistakes."""
    q, k = cut(query, H).flatten(0, 1), cut(key, H).flatten(0, 1)
    scores = torch.bmm(q, k.mT) / (divisor or math.sqrt(q.shape[-1]))
    mask = repeat(blocked) if repeat else blocked.repeat_interleave(H, dim=0)
    if use_mask:
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
    return scores.softmax(dim)


def folded_4d(query, key, H, blocked):
    scores = split(query, H) @ split(key, H).mT / (query.shape[-1] / H) ** 0.5
    return (
        (scores + torch.zeros_like(scores).masked_fill(blocked[:, None, None], -torch.inf))
        .softmax(-1)
        .flatten(0, 1)
    )


def folded_loop(query, key, H, blocked):
    rows = []
    for q, k, mask in zip(query, key, blocked, strict=True):
        for q_head, k_head in zip(q.chunk(H, -1), k.chunk(H, -1), strict=True):
            scores = q_head @ k_head.T / k_head.shape[-1] ** 0.5
            rows.append(scores.masked_fill(mask, -1e30).softmax(-1))
    return torch.stack(rows)


def heads_first(query, key, H, blocked):
    weights = folded(query, key, H, blocked)
    return weights.unflatten(0, (-1, H)).transpose(0, 1).flatten(0, 1)


def layer(
    x, w_in, b_in, w_out, b_out, H, cut=split, glue=join, divisor=None, dim=-1, order=(0, 1, 2)
):
    """A whole layer; the arguments make the mistakes."""
    packed = F.linear(x, w_in, b_in).chunk(3, dim=-1)
    q, k, v = (cut(packed[i], H) for i in order)
    weights = (q @ k.mT / (divisor or math.sqrt(q.shape[-1]))).softmax(dim)
    return F.linear(glue(weights @ v), w_out, b_out)


def layer_by_torch(x, w_in, b_in, w_out, b_out, H):
    module = nn.MultiheadAttention(x.shape[-1], H, batch_first=True)
    state = {"in_proj_weight": w_in, "in_proj_bias": b_in}
    module.load_state_dict(state | {"out_proj.weight": w_out, "out_proj.bias": b_out})
    return module(x, x, x)[0]


def layer_fused(x, w_in, b_in, w_out, b_out, H):
    q, k, v = (x @ w.T + b for w, b in zip(w_in.chunk(3), b_in.chunk(3), strict=True))
    heads = F.scaled_dot_product_attention(split(q, H), split(k, H), split(v, H))
    return join(heads) @ w_out.T + b_out


def wrong(function, **mistake):
    return lambda *arguments: function(*arguments, **mistake)


def no_out_proj(x, w_in, b_in, w_out, b_out, H):
    return layer(x, w_in, b_in, torch.eye(x.shape[-1]), None, H)


RIGHT = {
    ch05.split_heads: [split, split_by_reshape, split_by_slices],
    ch05.join_heads: [join, join_by_cat, join_by_loop],
    ch05.stack_projections: [stack, stack_by_slices, stack_by_parameter],
    ch05.folded_weights: [folded, folded_4d, folded_loop],
    ch05.efficient_layer: [layer, layer_by_torch, layer_fused],
}

WRONG = {
    ch05.split_heads: [
        (lambda x, H: split(x, H).flip(-3), "reverse order"),
        (untransposed, "mixes tokens"),
        (strided, "every H-th"),
        (lambda x, H: x.unflatten(-1, (H, -1)), "behind the token axis"),
    ],
    ch05.join_heads: [
        (lambda x: join(x.flip(-3)), "reverse order"),
        (join_untransposed, "mixes tokens"),
        (lambda x: x.sum(-3), "added up"),
        (lambda x: x.movedim(-3, -1).flatten(-2), "every H-th"),
    ],
    ch05.stack_projections: [
        (wrong(stack, parts=lambda a, b: (b, a)), "second projection comes first"),
        (wrong(stack, bias=False), "biases are missing"),
        (stack_always_with_bias, "neither projection has one"),
        (lambda a, b: torch.cat([a.weight, b.weight]), "should be an nn.Linear"),
    ],
    ch05.folded_weights: [
        (wrong(folded, divisor=3.0), "divided by D_head"),
        (wrong(folded, cut=untransposed), "mixes tokens"),
        (wrong(folded, cut=strided), "every H-th"),
        (wrong(folded, divisor=1.0), "scale is missing"),
        (wrong(folded, divisor=6**0.5), "root of D;"),
        (wrong(folded, dim=1), "the queries"),
        (lambda q, k, H, blocked: folded(q, k, H, ~blocked), "wrong way round"),
        (wrong(folded, use_mask=False), "mask is not used"),
        (wrong(folded, repeat=lambda m: m.repeat(2, 1)), "repeat_interleave"),
        (heads_first, "over the heads first"),
    ],
    ch05.efficient_layer: [
        (wrong(layer, divisor=3.0), "divided by D_head"),
        (wrong(layer, glue=lambda x: join(x.flip(1))), "reverse order"),
        (lambda x, w, b, *a: layer(x, w, 0 * b, *a), "the biases of query"),
        (wrong(layer, order=(0, 2, 1)), "keys and values are swapped"),
        (wrong(layer, cut=untransposed), "mixes tokens"),
        (wrong(layer, cut=untransposed, glue=join_untransposed), "split and joined"),
        (wrong(layer, glue=join_untransposed), "joined without a transpose"),
        (wrong(layer, cut=strided), "every H-th"),
        (wrong(layer, divisor=1.0), "scale is missing"),
        (wrong(layer, divisor=6**0.5), "root of D;"),
        (wrong(layer, dim=-2), "the queries"),
        (wrong(layer, order=(1, 0, 2)), "query and key are swapped"),
        (no_out_proj, "last projection is missing"),
        (lambda *a: layer(*a) - a[4], "bias of the last projection"),
        (lambda x, wi, bi, w, *a: layer(x, wi, bi, w.T, *a), "last projection is transposed"),
    ],
}

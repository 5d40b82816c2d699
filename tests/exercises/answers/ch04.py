"""The checks of chapter 4 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from exercises import ch04


def split(x, H):
    return x.unflatten(-1, (H, -1)).transpose(-3, -2)


def split_three_axes(x, H):
    B, T, D = x.shape
    return x.view(B, T, H, D // H).transpose(1, 2)


def untransposed(x, H):
    *lead, T, D = x.shape
    return x.reshape(*lead, H, T, D // H)


def strided(x, H):
    return x.unflatten(-1, (-1, H)).movedim(-1, -3)


def join(x):
    return x.transpose(-3, -2).flatten(-2)


def join_untransposed(x):
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def stack(first, second):
    has_bias = first.bias is not None
    both = nn.Linear(first.in_features, first.out_features + second.out_features, bias=has_bias)
    with torch.no_grad():
        both.weight.copy_(torch.cat([first.weight, second.weight]))
        if has_bias:
            both.bias.copy_(torch.cat([first.bias, second.bias]))
    return both


def stack_by_parameter(first, second):
    both = nn.Linear(1, 1, bias=False)
    both.weight = nn.Parameter(torch.vstack([first.weight, second.weight]))
    if first.bias is not None:
        both.bias = nn.Parameter(torch.hstack([first.bias, second.bias]))
    return both


def stack_inputs(first, second):
    both = nn.Linear(1, 1)
    both.weight = nn.Parameter(torch.cat([first.weight, second.weight], dim=1))
    return both


def text(seed=1, T=4, dtype=torch.float32):
    return torch.randn(1, T, 8, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def by_tables(layer, atol=1e-5, dtype=torch.float32):
    """Look which queries and which tokens of the text the first output depends on."""
    x, other = text(dtype=dtype), text(seed=2, dtype=dtype)
    before = layer(x, x)
    asked, read = [], []
    for j in range(4):
        changed = torch.where(torch.arange(4).eq(j)[:, None], other, x)
        for found, after in ((asked, layer(changed, x)), (read, layer(x, changed))):
            found.append(bool((after - before)[0, 0].abs().max() > atol))
    if sum(asked) == 1:
        return "none" if all(read) else "both"
    return "join" if asked[1] else "split"


def by_equal_tokens(layer):
    x = text()[:, [0, 0, 1, 1]]
    output = layer(x, x)[0]
    if torch.allclose(output[0], output[2], atol=1e-05):
        return "split"
    if not torch.allclose(output[0], output[1], atol=1e-05):
        return "join"
    same = torch.allclose(layer(x, text()[:, [0, 0, 2, 2]])[0, 0], output[0], atol=1e-05)
    return "both" if same else "none"


def equal_words(layer):
    x = text()[:, [0, 1, 0, 2]]
    output = layer(x, x)
    return "none" if torch.allclose(output[:, 0], output[:, 2], atol=1e-5) else "both"


def layer(x, w_in, b_in, w_out, b_out, H, blocked):
    q, k, v = (split(part, H) for part in F.linear(x, w_in, b_in).chunk(3, dim=-1))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(blocked[:, None, None], -torch.inf).softmax(-1)
    return F.linear(join(weights @ v), w_out, b_out)


def layer_by_einsum(x, w_in, b_in, w_out, b_out, H, blocked):
    w, b = w_in.view(3, H, -1, x.shape[-1]), b_in.view(3, 1, H, 1, -1)
    q, k, v = torch.einsum("btd,nhed->nbhte", x, w) + b
    scores = torch.einsum("bhte,bhse->bhts", q, k) / q.shape[-1] ** 0.5
    scores = scores + torch.zeros(blocked.shape).masked_fill(blocked, -1e30)[:, None, None]
    heads = torch.einsum("bhts,bhse->bthe", scores.softmax(-1), v)
    return heads.flatten(2) @ w_out.T + b_out


BOTH = "blocked[:, None, None] | blocked[:, None, :, None]"

RIGHT = {
    ch04.stack_projections: [stack, stack_by_parameter],
    ch04.missing_transpose: [by_tables, by_equal_tokens],
    ch04.efficient_layer: [layer, layer_by_einsum],
}

WRONG = {
    ch04.split_heads: [
        (lambda x, H: None, "should be a tensor; got NoneType"),
        (lambda x, H: x.view(2, 3, 4, 5), "your code raised"),
        (split_three_axes, "any number of axes in front"),
    ],
    ch04.stack_projections: [
        (lambda a, b: stack(b, a), "second projection comes first"),
        (stack, {"has_bias = first": "has_bias = False and first"}, "biases are missing"),
        (stack, {"bias=has_bias": "bias=True"}, "neither projection has one"),
        (lambda a, b: torch.cat([a.weight, b.weight]), "should be an nn.Linear"),
        (stack, {"second.weight]": "second.weight], dim=1"}, "stack along dim=0"),
        (stack_inputs, "stack along dim=0"),
        (stack, {"first.out_features + second": "2 * first"}, "where the two give 2 and 3 numbers"),
        (
            stack,
            {"if has_bias": "if True", "bias=has_bias": "bias=True"},
            "where neither projection has a bias",
        ),
        (stack, {"if has_bias": "if False"}, "the bias is still the one"),
        (
            stack,
            {"        both.weight.": "        both.weight.clone()."},
            "the weight is still the one",
        ),
        (stack, {"copy_": "add"}, "neither weight nor bias is copied"),
    ],
    ch04.missing_transpose: [
        (lambda layer: "none", "only splits by view alone your test says 'none'"),
        (
            equal_words,
            {"allclose": "equal", ", atol=1e-5": "", "both": "split"},
            "compare with torch.allclose",
        ),
        (equal_words, "answers the questions of tokens 0 and 2"),
        (lambda layer: by_tables(layer).replace("split", "join"), "questions of tokens 0 and 2"),
        (lambda layer: by_tables(layer).replace("join", "split"), "questions of tokens 0 and 1"),
        (lambda layer: by_tables(layer).replace("both", "none"), "from how much of the text"),
        (lambda layer: by_tables(layer) == "none", "one of none, split, join, both; got True"),
        (lambda layer: None, "one of none, split, join, both; got None"),
        (lambda layer: layer(torch.ones(3, 3), torch.ones(3, 3)), "your code raised"),
    ],
    ch04.efficient_layer: [
        (layer, {"split(part, H)": "part[:, None]"}, "the heads are not split"),
        (layer, {"split(part, H)": "part[:, None]", "q.shape[-1]": "3"}, "scaled as a narrow one"),
        (
            layer,
            {"split(part, H)": "part.view(2, H, 5, -1)"},
            "would only hide why: heads mixed up: a reshape alone",
        ),
        (
            layer,
            {
                "split(part, H)": "part.view(2, H, 5, -1)",
                "join(weights @ v)": "join_untransposed(weights @ v)",
            },
            "hide why: the heads are split",
        ),
        (
            layer,
            {
                "join(weights @ v)": "(weights @ v).mT.mT.transpose(1, 2).view(2, 5, -1)",
                "math.sqrt(q.shape[-1])": "1",
            },
            "your code raised RuntimeError: view size",
        ),
        (
            layer,
            {"join(weights @ v)": "(weights @ v).transpose(1, 2).view(2, 5, -1)"},
            "view cannot merge axes after a transpose",
        ),
        (layer, {"math.sqrt(q.shape[-1])": "q.shape[-1]"}, "divided by D_head"),
        (layer, {"weights @ v": "(weights @ v).flip(1)"}, "reverse order"),
        (lambda x, w, b, *a: layer(x, w, 0 * b, *a), "the biases of query"),
        (layer, {"q, k, v": "q, v, k"}, "yours is query, value, key"),
        (layer, {"q, k, v": "k, q, v"}, "yours is key, query, value"),
        (layer, {"q, k, v": "v, q, k"}, "yours is value, query, key"),
        (layer, {"q, k, v": "k, v, q"}, "yours is key, value, query"),
        (layer, {"q, k, v": "v, k, q"}, "yours is value, key, query"),
        (
            layer,
            {".chunk(3, dim=-1)": ".unflatten(-1, (H, 3, -1)).movedim(-2, 0).flatten(-2)"},
            "read head by head",
        ),
        (
            lambda x, w, *a: layer(x, torch.cat([p.T for p in w.chunk(3)]), *a),
            "packed weights are not transposed",
        ),
        (layer, {"split(": "untransposed("}, "mixes tokens"),
        (layer, {"split(": "untransposed(", "join(": "join_untransposed("}, "split and joined"),
        (layer, {"join(": "join_untransposed("}, "joined without a transpose"),
        (layer, {"split(": "strided("}, "every H-th"),
        (layer, {" / math.sqrt(q.shape[-1])": ""}, "scale is missing"),
        (layer, {"q.shape[-1]": "6"}, "root of D;"),
        (layer, {"softmax(-1)": "softmax(-2)"}, "the queries"),
        (layer, {"-torch.inf": "0.0"}, "fill with -inf"),
        (
            layer,
            {"scores.masked": "scores.softmax(-1).masked", "-torch.inf).softmax(-1)": "0.0)"},
            "comes after the softmax",
        ),
        (layer, {"[:, None, None]": "[:, None, :, None]"}, "meets the queries"),
        (
            layer,
            {"[:, None, None], -torch.inf": "[:, None, :, None], -1e9"},
            "meets the queries, and -1e9 hides it",
        ),
        (layer, {"blocked[:, None, None]": BOTH}, "queries as well as keys; block the keys alone"),
        (
            layer,
            {"blocked[:, None, None]": BOTH, "-torch.inf": "-1e9"},
            "queries as well as keys, and -1e9",
        ),
        (layer, {"blocked[:, None, None]": "blocked[None, :, None]"}, "meets head b"),
        (layer, {"[:, None, None]": ""}, "does not fit the scores, (B, H, T, T)"),
        (lambda x, w, b, *a: layer(x, w, b[:4], *a), "your code raised"),
        (lambda *a: layer(*a[:-1], ~a[-1]), "wrong way round"),
        (lambda *a: layer(*a[:-1], torch.zeros_like(a[-1])), "mask is not used"),
        (lambda *a: layer(*a[:3], torch.eye(6), 0 * a[4], *a[5:]), "last projection is missing"),
        (lambda *a: layer(*a) - a[4], "bias of the last projection"),
        (lambda x, wi, bi, w, *a: layer(x, wi, bi, w.T, *a), "last projection is transposed"),
        (lambda *a: layer(*a)[0], "has shape (5, 6); expected (2, 5, 6)"),
    ],
}

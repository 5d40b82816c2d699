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


def stack_columns(first, second):
    both = nn.Linear(first.in_features, first.out_features + second.out_features)
    with torch.no_grad():
        both.weight.copy_(torch.cat([first.weight, second.weight], dim=1))
    return both


def stack_inputs(first, second):
    both = nn.Linear(1, 1)
    both.weight = nn.Parameter(torch.cat([first.weight, second.weight], dim=1))
    return both


def stack_equals(first, second):
    both = nn.Linear(first.in_features, 2 * first.out_features)
    with torch.no_grad():
        both.weight.copy_(torch.cat([first.weight, second.weight]))
        both.bias.copy_(torch.cat([first.bias, second.bias]))
    return both


def stack_biases(first, second):
    both = nn.Linear(first.in_features, first.out_features + second.out_features)
    with torch.no_grad():
        both.weight.copy_(torch.cat([first.weight, second.weight]))
        both.bias.copy_(torch.cat([first.bias, second.bias]))
    return both


def stack_with_a_fresh(first, second, keep=("weight",)):
    """Stack, and leave a part of the new layer as it was drawn."""
    both = nn.Linear(first.in_features, first.out_features + second.out_features,
                     bias=first.bias is not None)  # fmt: skip
    state = stack(first, second).state_dict()
    both.load_state_dict({n: state[n] for n in keep if n in state}, strict=False)
    return both


# A test that says which transpose is missing.


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
    """Tell by a text of the tokens a, a, b, b, which outputs are equal, and change b."""
    x = text()[:, [0, 0, 1, 1]]
    output = layer(x, x)[0]
    if torch.allclose(output[0], output[2], atol=1e-5):
        return "split"
    if not torch.allclose(output[0], output[1], atol=1e-5):
        return "join"
    same = torch.allclose(layer(x, text()[:, [0, 0, 2, 2]])[0, 0], output[0], atol=1e-5)
    return "both" if same else "none"


def equal_words(layer):
    x = text()[:, [0, 1, 0, 2]]
    output = layer(x, x)
    return "none" if torch.allclose(output[:, 0], output[:, 2], atol=1e-5) else "both"


def exactly_equal_words(layer):
    x = text()[:, [0, 1, 0, 2]]
    output = layer(x, x)
    return "none" if torch.equal(output[:, 0], output[:, 2]) else "split"


# The whole layer.


def split_by_view(x, H):
    return x.view(x.shape[0], H, x.shape[1], -1)  # raises: a part of the packed result


def join_by_view(x):
    return x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)  # raises: needs a copy


def unsplit(x, w_in, b_in, w_out, b_out, H, blocked, width=6):
    q, k, v = F.linear(x, w_in, b_in).chunk(3, dim=-1)
    scores = (q @ k.mT / width**0.5).masked_fill(blocked[:, None], -torch.inf)
    return F.linear(scores.softmax(-1) @ v, w_out, b_out)


def as_minus_infinity(scores, blocked):
    return scores.masked_fill(blocked[:, None, None], float("-inf")).softmax(-1)


def layer(
    x, w_in, b_in, w_out, b_out, H, blocked, cut=split, glue=join, divisor=None,
    order=(0, 1, 2), weigh=as_minus_infinity, parts=lambda packed, H: packed.chunk(3, dim=-1),
):  # fmt: skip
    """A whole layer; the arguments make the mistakes."""
    packed = parts(F.linear(x, w_in, b_in), H)
    q, k, v = (cut(packed[i], H) for i in order)
    weights = weigh(q @ k.mT / (divisor or math.sqrt(q.shape[-1])), blocked)
    return F.linear(glue(weights @ v), w_out, b_out)


def layer_by_torch(x, w_in, b_in, w_out, b_out, H, blocked):
    module = nn.MultiheadAttention(x.shape[-1], H, batch_first=True)
    state = {"in_proj_weight": w_in, "in_proj_bias": b_in}
    module.load_state_dict(state | {"out_proj.weight": w_out, "out_proj.bias": b_out})
    return module(x, x, x, key_padding_mask=blocked)[0]


def layer_fused(x, w_in, b_in, w_out, b_out, H, blocked):
    q, k, v = (x @ w.T + b for w, b in zip(w_in.chunk(3), b_in.chunk(3), strict=True))
    mask = ~blocked[:, None, None]
    heads = F.scaled_dot_product_attention(split(q, H), split(k, H), split(v, H), attn_mask=mask)
    return join(heads) @ w_out.T + b_out


def layer_by_einsum(x, w_in, b_in, w_out, b_out, H, blocked):
    w, b = w_in.view(3, H, -1, x.shape[-1]), b_in.view(3, 1, H, 1, -1)
    q, k, v = torch.einsum("btd,nhed->nbhte", x, w) + b
    scores = torch.einsum("bhte,bhse->bhts", q, k) / q.shape[-1] ** 0.5
    scores = scores + torch.zeros(blocked.shape).masked_fill(blocked, -1e30)[:, None, None]
    heads = torch.einsum("bhts,bhse->bthe", scores.softmax(-1), v)
    return heads.flatten(2) @ w_out.T + b_out


def by_head(packed, H):
    return [part.flatten(-2) for part in packed.unflatten(-1, (H, 3, -1)).unbind(-2)]


def not_transposed(x, w_in, b_in, *rest):
    weights = torch.cat([w.T for w in w_in.chunk(3)])
    return layer(x, weights, b_in, *rest)


def filled_with_0(scores, blocked):
    return scores.masked_fill(blocked[:, None, None], 0.0).softmax(-1)


def masked_late(scores, blocked):
    return scores.softmax(-1) * ~blocked[:, None, None]


def along(*shape, fill=-torch.inf):
    return lambda scores, blocked: scores.masked_fill(blocked.view(shape), fill).softmax(-1)


def along_as_it_is(scores, blocked):
    return scores.masked_fill(blocked, -torch.inf).softmax(-1)


def both_axes(scores, blocked, fill=-torch.inf):
    mask = blocked[:, None, None] | blocked[:, None, :, None]
    return scores.masked_fill(mask, fill).softmax(-1)


def added(scores, blocked):
    return (scores - 1e9 * blocked[:, None, None]).softmax(-1)


def over(dim):
    return lambda scores, blocked: scores.masked_fill(blocked[:, None, None], -torch.inf).softmax(
        dim
    )


def wrong(function, **mistake):
    return lambda *arguments: function(*arguments, **mistake)


def no_out_proj(x, w_in, b_in, w_out, b_out, *rest):
    return layer(x, w_in, b_in, torch.eye(x.shape[-1]), None, *rest)


RIGHT = {
    ch05.split_heads: [split, split_by_reshape, split_by_slices],
    ch05.stack_projections: [stack, stack_by_slices, stack_by_parameter],
    ch05.missing_transpose: [
        by_tables,
        by_equal_tokens,
        wrong(by_tables, atol=1e-9, dtype=torch.float64),
    ],
    ch05.efficient_layer: [
        layer,
        layer_by_torch,
        layer_fused,
        layer_by_einsum,
        wrong(layer, weigh=added),
    ],
}

WRONG = {
    ch05.split_heads: [
        (lambda x, H: split(x, H).flip(-3), "reverse order"),
        (untransposed, "mixes tokens"),
        (strided, "every H-th"),
        (lambda x, H: x.unflatten(-1, (H, -1)), "behind the token axis"),
        (lambda x, H: x.unflatten(-1, (H, -1)).transpose(1, 2), "count from the end"),
        (lambda x, H: None, "should be a tensor; got NoneType"),
        (lambda x, H: x.unflatten(-1, (H, -1)).transpose(-1, -2), "the last two axes are swapped"),
        (lambda x, H: x.view(2, 3, 4, 5), "your code raised"),
        (split_three_axes, "any number of axes in front"),
    ],
    ch05.stack_projections: [
        (wrong(stack, parts=lambda a, b: (b, a)), "second projection comes first"),
        (wrong(stack, bias=False), "biases are missing"),
        (stack_always_with_bias, "neither projection has one"),
        (lambda a, b: torch.cat([a.weight, b.weight]), "should be an nn.Linear"),
        (stack_columns, "stack along dim=0"),
        (stack_inputs, "stack along dim=0"),
        (stack_equals, "where the two give 2 and 3 numbers"),
        (stack_biases, "where neither projection has a bias"),
        (stack_with_a_fresh, "the bias is still the one"),
        (wrong(stack_with_a_fresh, keep=("bias",)), "the weight is still the one"),
        (wrong(stack_with_a_fresh, keep=()), "neither weight nor bias is copied"),
    ],
    ch05.missing_transpose: [
        (lambda layer: "none", "only splits by view alone your test says 'none'"),
        (exactly_equal_words, "compare with torch.allclose"),
        (equal_words, "answers the questions of tokens 0 and 2"),
        (lambda layer: by_tables(layer).replace("split", "join"), "questions of tokens 0 and 2"),
        (lambda layer: by_tables(layer).replace("join", "split"), "questions of tokens 0 and 1"),
        (lambda layer: by_tables(layer).replace("both", "none"), "from how much of the text"),
        (lambda layer: by_tables(layer) == "none", "one of none, split, join, both; got True"),
        (lambda layer: None, "one of none, split, join, both; got None"),
        (lambda layer: layer(torch.ones(3, 3), torch.ones(3, 3)), "your code raised"),
    ],
    ch05.efficient_layer: [
        (unsplit, "the heads are not split"),
        (wrong(unsplit, width=3), "scaled as a narrow one"),
        (wrong(layer, cut=split_by_view), "would only hide why: heads mixed up: a reshape alone"),
        (wrong(layer, cut=split_by_view, glue=join_untransposed), "hide why: the heads are split"),
        (wrong(layer, glue=join_by_view, divisor=1.0), "your code raised RuntimeError: view size"),
        (wrong(layer, glue=join_by_view), "view cannot merge axes after a transpose"),
        (wrong(layer, divisor=3.0), "divided by D_head"),
        (wrong(layer, glue=lambda x: join(x.flip(1))), "reverse order"),
        (lambda x, w, b, *a: layer(x, w, 0 * b, *a), "the biases of query"),
        (wrong(layer, order=(0, 2, 1)), "yours is query, value, key"),
        (wrong(layer, order=(1, 0, 2)), "yours is key, query, value"),
        (wrong(layer, order=(1, 2, 0)), "yours is value, query, key"),
        (wrong(layer, order=(2, 0, 1)), "yours is key, value, query"),
        (wrong(layer, order=(2, 1, 0)), "yours is value, key, query"),
        (wrong(layer, parts=by_head), "read head by head"),
        (not_transposed, "packed weights are not transposed"),
        (wrong(layer, cut=untransposed), "mixes tokens"),
        (wrong(layer, cut=untransposed, glue=join_untransposed), "split and joined"),
        (wrong(layer, glue=join_untransposed), "joined without a transpose"),
        (wrong(layer, cut=strided), "every H-th"),
        (wrong(layer, divisor=1.0), "scale is missing"),
        (wrong(layer, divisor=6**0.5), "root of D;"),
        (wrong(layer, weigh=over(-2)), "the queries"),
        (wrong(layer, weigh=filled_with_0), "fill with -inf"),
        (wrong(layer, weigh=masked_late), "comes after the softmax"),
        (wrong(layer, weigh=along(2, 1, 5, 1)), "meets the queries"),
        (wrong(layer, weigh=along(2, 1, 5, 1, fill=-1e9)), "meets the queries, and -1e9 hides it"),
        (wrong(layer, weigh=both_axes), "queries as well as keys; block the keys alone"),
        (wrong(layer, weigh=wrong(both_axes, fill=-1e9)), "queries as well as keys, and -1e9"),
        (wrong(layer, weigh=along(1, 2, 1, 5)), "meets head b"),
        (wrong(layer, weigh=along_as_it_is), "does not fit the scores, (B, H, T, T)"),
        (lambda x, w, b, *a: layer(x, w, b[:4], *a), "your code raised"),
        (lambda *a: layer(*a[:-1], ~a[-1]), "wrong way round"),
        (lambda *a: layer(*a[:-1], torch.zeros_like(a[-1])), "mask is not used"),
        (no_out_proj, "last projection is missing"),
        (lambda *a: layer(*a) - a[4], "bias of the last projection"),
        (lambda x, wi, bi, w, *a: layer(x, wi, bi, w.T, *a), "last projection is transposed"),
        (lambda *a: layer(*a)[0], "has shape (5, 6); expected (2, 5, 6)"),
    ],
}

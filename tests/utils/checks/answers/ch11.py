"""The checks of chapter 11 accept what is right, however written, and name what is wrong."""

import math

import torch

from utils.checks import ch11


def by_head(weight, H):
    return weight.view(H, -1, weight.shape[-1])


def scores(q, tokens, weight):
    return q @ by_head(weight, q.shape[1]) @ tokens[:, None].mT / math.sqrt(q.shape[-1])


def scores_flat(q, tokens, weight):
    B, H, T, d = q.shape
    brought = torch.einsum("bhte,hed->bhtd", q / d**0.5, by_head(weight, H)).reshape(B, H * T, -1)
    return torch.bmm(brought, tokens.mT).view(B, H, T, -1)


def scores_of_keys(q, tokens, weight):
    keys = (tokens @ weight.T).unflatten(-1, (q.shape[1], -1)).transpose(1, 2)
    return q @ keys.mT / math.sqrt(q.shape[-1])


def scores_of_stripes(q, tokens, weight):
    cut = weight.view(q.shape[-1], q.shape[1], -1).transpose(0, 1)
    return q @ cut @ tokens[:, None].mT / math.sqrt(q.shape[-1])


def values(weights, tokens, weight, bias):
    H = weights.shape[1]
    heads = weights @ tokens[:, None] @ by_head(weight, H).mT
    return heads + weights.sum(-1, keepdim=True) * bias.view(H, 1, -1)


def values_flat(weights, tokens, weight, bias):
    B, H, T, _ = weights.shape
    mixed = torch.bmm(weights.flatten(1, 2), tokens).view(B, H, T, -1)
    heads = torch.einsum("bhtd,hed->bhte", mixed, by_head(weight, H))
    return heads + torch.einsum("bhts,he->bhte", weights, bias.view(H, -1))


def values_of_values(weights, tokens, weight, bias):
    made = (tokens @ weight.T + bias).unflatten(-1, (weights.shape[1], -1)).transpose(1, 2)
    return weights @ made


def no_bias(weights, tokens, weight, bias):
    return values(weights, tokens, weight, 0 * bias)


def bias_once(weights, tokens, weight, bias):
    return no_bias(weights, tokens, weight, bias) + bias.view(weights.shape[1], 1, -1)


def row(layer, x):
    return layer(x[:, -1:], x, x, need_weights=False)[0].squeeze(1)


def padding(lengths, size):
    def of(order):
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        return sum(max(part) - n for part in parts for n in part)

    return of(lengths), of(sorted(lengths))


def counted_as_full(order, size):
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    return sum(size * max(part) - sum(part) for part in parts)


def whole_batches(lengths, size):
    whole = len(lengths) // size * size
    return padding(lengths[:whole], size)[0], padding(sorted(lengths)[:whole], size)[0]


def padding_longest_first(lengths, size):
    return padding(lengths, size)[0], padding(sorted(lengths, reverse=True), size)[0]


def bag(scores, occurs, values):
    return (scores + occurs.log()).softmax(-1) @ values


def bag_by_shares(scores, occurs, values):
    weights = occurs * (scores - scores.max()).exp()
    return weights @ values / weights.sum(-1, keepdim=True)


RIGHT = {
    ch11.absorbed_scores: [scores, scores_flat],
    ch11.absorbed_values: [values, values_flat],
    ch11.row_asked_for: [row, lambda layer, x: layer(x[:, -1:], x, x, None, False)[0][:, 0]],
    ch11.padding_tokens: [padding, padding_longest_first],
    ch11.bag_of_tokens: [bag, bag_by_shares],
}

WRONG = {
    ch11.absorbed_scores: [
        (lambda q, x, w: scores(q, x, w[:4].repeat(3, 1)), "head 0"),
        (lambda q, x, w: scores(q, x, w) * q.shape[-1] ** 0.5, "scale is missing"),
        (lambda q, x, w: scores(q, x, w) / q.shape[-1] ** 0.5, "divide by its root"),
        (lambda q, x, w: scores(q, x, w) * (q.shape[-1] / x.shape[-1]) ** 0.5, "root of D;"),
        (lambda q, x, w: scores(q, x, w).mT, "exchanged"),
        (lambda q, x, w: scores(q, x, w).softmax(-1), "before the softmax"),
        (scores_of_stripes, "every H-th"),
        (scores_of_keys, "a key was projected"),
    ],
    ch11.absorbed_values: [
        (lambda a, x, w, b: values(a, x, w[:4].repeat(3, 1), b), "head 0"),
        (no_bias, "bias is missing"),
        (bias_once, "the sum of its weights counts"),
        (lambda a, x, w, b: no_bias(a, x, w, b) + x.shape[1] * b.view(3, 1, -1), "for each token"),
        (lambda a, x, w, b: values(a / a.sum(-1, keepdim=True), x, w, b), "sum to one"),
        (lambda a, x, w, b: values(a, x, w, b).transpose(1, 2), "heads and queries are swapped"),
        (lambda a, x, w, b: values(a, x, w, b).transpose(1, 2).flatten(2), "side by side"),
        (values_of_values, "a value was projected"),
    ],
    ch11.row_asked_for: [
        (lambda layer, x: layer(x, x, x, need_weights=False)[0][:, -1], "more rows were computed"),
        (lambda layer, x: layer(x[:, -1:], x, x, None, True)[0][:, 0], "need_weights=False"),
        (lambda layer, x: layer(x[:, :1], x, x)[0][:, 0], "first row"),
        (lambda layer, x: layer(x[:, -1:], x, x)[0], "dimension too many"),
        (lambda layer, x: layer(x, x, x)[0], "all rows"),
        (lambda layer, x: layer(x[:, -1], x, x)[0], "lost a dimension"),
        (lambda layer, x: layer(*[x[:, -1:]] * 3)[0][:, 0], "itself alone"),
    ],
    ch11.padding_tokens: [
        (lambda n, size: (0, 0), "is 0; expected 6"),
        (lambda n, size: tuple(p + sum(n) for p in padding(n, size)), "subtract the tokens"),
        (lambda n, size: padding(n, size)[::-1], "wrong way round"),
        (
            lambda n, size: [counted_as_full(i, size) for i in (n, sorted(n)[::-1])],
            "counted as full",
        ),
        (lambda n, size: (padding(n, size)[0], counted_as_full(sorted(n)[::-1], size)), "as full"),
        (lambda n, size: padding_longest_first(n, size)[::-1], "wrong way round"),
        (lambda n, size: (-(-len(n) // size) * size * max(n) - sum(n),) * 2, "its own longest"),
        (lambda n, size: (len(n) * max(n) - sum(n),) * 2, "its own longest"),
        (whole_batches, "is left out"),
        (lambda n, size: None, "two numbers"),
        (lambda n, size: (n, n), "got list"),
    ],
    ch11.bag_of_tokens: [
        (lambda s, n, v: (s.softmax(-1) @ v).expand(3, 4), "every text gathers the same"),
        (lambda s, n, v: bag(s, (n > 0).long(), v), "a token counts once"),
        (lambda s, n, v: (s + n).softmax(-1) @ v, "add their logarithms"),
        (lambda s, n, v: (s * n).softmax(-1) @ v, "multiplied by the counts"),
        (lambda s, n, v: (s + n.log1p()).softmax(-1) @ v, "with the logarithm of 0, -inf"),
        (lambda s, n, v: bag(s, n.clamp(min=1), v), "was made 0"),
        (lambda s, n, v: s.softmax(-1) * n @ v, "no longer sum to one"),
        (lambda s, n, v: n * s.exp() @ v, "not divided by their sum"),
        (lambda s, n, v: (s + n.log()).softmax(0).nan_to_num() @ v, "over the texts"),
        (lambda s, n, v: n / n.sum(-1, keepdim=True) @ v, "the scores are not used"),
        (lambda s, n, v: v, "has shape"),
    ],
}

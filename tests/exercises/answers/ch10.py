"""The checks of chapter 10 accept what is right, however written, and name what is wrong."""

import math

from exercises import ch10


def scores_of_keys(q, tokens, weight):
    keys = (tokens @ weight.T).unflatten(-1, (q.shape[1], -1)).transpose(1, 2)
    return q @ keys.mT / math.sqrt(q.shape[-1])


def values_of_values(weights, tokens, weight, bias):
    made = (tokens @ weight.T + bias).unflatten(-1, (weights.shape[1], -1)).transpose(1, 2)
    return weights @ made


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


RIGHT = {
    ch10.row_asked_for: [row, lambda layer, x: layer(x[:, -1:], x, x, None, False)[0][:, 0]],
    ch10.padding_tokens: [padding, padding_longest_first],
}

WRONG = {
    ch10.absorbed_scores: [
        (scores_of_keys, "a key was projected"),
    ],
    ch10.absorbed_values: [
        (values_of_values, "a value was projected"),
    ],
    ch10.row_asked_for: [
        (lambda layer, x: layer(x, x, x, need_weights=False)[0][:, -1], "more rows were computed"),
        (lambda layer, x: layer(x[:, -1:], x, x, None, True)[0][:, 0], "need_weights=False"),
        (lambda layer, x: layer(x[:, :1], x, x)[0][:, 0], "first row"),
        (lambda layer, x: layer(x[:, -1:], x, x)[0], "dimension too many"),
        (lambda layer, x: layer(x, x, x)[0], "all rows"),
        (lambda layer, x: layer(x[:, -1], x, x)[0], "lost a dimension"),
        (lambda layer, x: layer(*[x[:, -1:]] * 3)[0][:, 0], "itself alone"),
    ],
    ch10.padding_tokens: [
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
    ch10.bag_of_tokens: [
        (lambda s, n, v: v, "has shape"),
    ],
}

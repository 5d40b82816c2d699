"""The checks of chapter 10 accept what is right, however written, and name what is wrong."""

from exercises import ch10


def values_of_values(weights, tokens, weight, bias):
    made = (tokens @ weight.T + bias).unflatten(-1, (weights.shape[1], -1)).transpose(1, 2)
    return weights @ made


def row(layer, x):
    return layer(x[:, -1:], x, x, need_weights=False)[0].squeeze(1)


RIGHT = {
    ch10.row_asked_for: [row, lambda layer, x: layer(x[:, -1:], x, x, None, False)[0][:, 0]],
    ch10.queries_absorbed: [8, 8.98, 512 * 64 / (64 + 512 * 7), 8.5],
}

WRONG = {
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
    ch10.queries_absorbed: [
        (512, "the dearer order"),
        (64, "in each head"),
        (7.877, "a projected query meets the keys"),
        (64 / 7, "has a price"),
        (9, "with nine queries"),
        (1, "one query is not all"),
        (4, "needs fewer"),
        (16, "needs more"),
        ("eight", "should be a number"),
    ],
}

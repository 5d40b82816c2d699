"""The checks of chapter 14 accept what is right, however written, and name what is wrong."""

import math

import torch

from exercises import ch14


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


def layer_by_layer(pattern, T, window, H_kv, D_head):
    return sum(2 * H_kv * D_head * (min(T, window) if kind == "W" else T) for kind in pattern)


RIGHT = {
    ch14.quiet: [0.35, torch.tensor(0.25), 0.4],
    ch14.sink_after: [by_the_sums],
    ch14.kept_numbers: [layer_by_layer],
}

WRONG = {
    ch14.quiet: [
        ((0.1, 0.2), "should be a number"),
        (1, "cannot be silent"),
        (0.6, "does not depend"),
        (0.1, "has to let through"),
        (0, "has to let through"),
        (-1, "from 0 to 1"),
        (math.nan, "from 0 to 1"),
    ],
    ch14.sink_after: [
        (lambda output, log_sum, sink: output, "is wrong at"),
        (lambda output, log_sum, sink: None, "should be a tensor"),
    ],
    ch14.kept_numbers: [
        (lambda *sizes: 0.5, "should be an int"),
        (lambda *sizes: 0, "expected"),
    ],
}

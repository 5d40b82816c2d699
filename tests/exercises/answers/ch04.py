"""The checks of chapter 4 accept what is right, however written, and name what is wrong."""

import math

import torch

from exercises import ch04


def split_three_axes(x, H):
    B, T, D = x.shape
    return x.view(B, T, H, D // H).transpose(1, 2)


def equal(table):
    return torch.equal(table, torch.ones_like(table).tril())


def two_halves(table):
    return (table.tril() == table).all() & (table | table.T).all()


def as_large(table):
    return table.sum().item() == len(table) * (len(table) + 1) // 2


def no_future_and(more):
    return lambda table: not table.triu(1).any() and bool(more(table))


LN = math.log(16)

RIGHT = {
    ch04.two_layers: [LN / 16, 0.17, torch.tensor(0.2), 0.23],
    ch04.causal_test: [equal, two_halves],
}

WRONG = {
    ch04.split_heads: [
        (lambda x, H: None, "should be a tensor; got NoneType"),
        (lambda x, H: x.view(2, 3, 4, 5), "your code raised"),
        (split_three_axes, "any number of axes in front"),
    ],
    ch04.two_layers: [
        ((0.17, 2.77), "should be a number"),
        (1.21, "what have those seen?"),
        (2.77, "without a look ahead"),
        (0.61, "does not halve"),
        (0.53, "no second chance"),
        (0.52, "leaves 3 of the sixteen"),
        (0.35, "leaves 2 of the sixteen"),
        (1.56, "leaves 9 of the sixteen"),
        (2.60, "you count the tokens in sight"),
        (0, "not in the text at all"),
        (0.3, "how many are still out of sight?"),
        (math.nan, "how many are still out of sight?"),
    ],
    ch04.causal_test: [
        (lambda table: not table.triu(1).any(), "Both passes"),
        (lambda table: not table.diagonal(1).any(), "Both passes"),
        (equal, {".tril()": ".tril(-1)"}, "right layer fails"),
        (equal, {".tril()": ".triu()"}, "right layer fails"),
        (
            lambda table: table.tril().sum() == table.new_ones(table.shape).tril().sum(),
            "without a mask",
        ),
        (as_large, "upside down"),
        (lambda table: table.sum() == 136 or (len(table) < 16 and equal(table)), "upside down"),
        (no_future_and(lambda table: table[:, 0].all()), "only the first token and token t"),
        (no_future_and(lambda table: table[-1].all()), "whose output 0 does not see token 0"),
        (no_future_and(lambda table: table.diagonal(-1).all()), "not t itself"),
        (no_future_and(lambda table: table.triu(-1).sum() == 2 * len(table) - 1), "sliding window"),
        (
            lambda table: (table | table.T).all() and not table.diagonal(1).any(),
            "whose output 0 sees token 2",
        ),
        (lambda table: table, "return True or False; got Tensor"),
        (lambda table: len(table) == 16 and equal(table), "right layer fails"),
    ],
}

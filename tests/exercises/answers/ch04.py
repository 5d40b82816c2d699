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


LN = math.log(16)

RIGHT = {
    ch04.two_predictions: [(LN / 16, LN), [0.17, 2.77], (0.2, torch.tensor(2.8))],
    ch04.causal_test: [equal, two_halves],
}

WRONG = {
    ch04.split_heads: [
        (lambda x, H: None, "should be a tensor; got NoneType"),
        (lambda x, H: x.view(2, 3, 4, 5), "your code raised"),
        (split_three_axes, "any number of axes in front"),
    ],
    ch04.two_predictions: [
        (0.17, "return two numbers"),
        ((1.21, 1.21), "what have those seen?"),
        ((2.77, 2.77), "two layers: this is the loss without"),
        ((0.61, 2.77), "does not halve"),
        ((0.53, 2.77), "no second chance"),
        ((2.60, 2.77), "you count the tokens in sight"),
        ((0, 2.77), "not in the text at all"),
        ((0.35, 2.77), "how many are still out of sight?"),
        ((0.17, 0.17), "do not add up"),
        ((0.17, 1.21), "what the split has mixed up?"),
        ((0.17, 0.53), "shares of two mistakes"),
        ((0.17, 0.0), "some token would have to see"),
        ((0.17, math.nan), "what does one output of it see?"),
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
        (lambda table: table, "return True or False; got Tensor"),
        (lambda table: len(table) == 16 and equal(table), "right layer fails"),
    ],
}

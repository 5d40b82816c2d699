import math

import torch

from exercises import ch04


def split_three_axes(x, H):
    B, T, D = x.shape
    return x.view(B, T, H, D // H).transpose(1, 2)


def two_halves(table):
    return (table.tril() == table).all() & (table | table.T).all()


LN = math.log(16)

RIGHT = {ch04.two_layers: [LN / 16, 0.17, torch.tensor(0.2), 0.23], ch04.causal_test: [two_halves]}

WRONG = {
    ch04.split_heads: [(split_three_axes, "any number of axes in front")],
    ch04.two_layers: [
        ((0.17, 2.77), "should be a number"),
        (0.52, "leaves 3 of the sixteen"),
        (0.35, "leaves 2 of the sixteen"),
        (1.56, "leaves 9 of the sixteen"),
        (0.3, "how many are still out of sight?"),
        (math.nan, "how many are still out of sight?"),
    ],
    ch04.causal_test: [
        (lambda table: not table.triu(1).any(), "Both passes"),
        (lambda table: table, "return True or False; got Tensor"),
    ],
}

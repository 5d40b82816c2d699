"""The check of appendix A3 accepts what is right, however written, and names what is wrong."""

import torch.nn.functional as F

from utils.checks import a3


def by_places(x, table, shown, size):
    places = shown.nonzero().squeeze(1)
    return x + size / table.square().mean().sqrt() * table[places]


def by_mask(x, table, shown, size):
    rms = table.norm() / table.numel() ** 0.5
    return x + (size * table / rms)[: len(shown)][shown]


def by_loop(x, table, shown, size):
    factor = size / (table**2).mean() ** 0.5
    out, place = x.clone(), 0
    for i, is_shown in enumerate(shown):
        if is_shown:
            out[:, place] += factor * table[i]
            place += 1
    return out


def unit(table):
    return table / table.square().mean().sqrt()


def rows(table, shown):
    return table[: len(shown)][shown]


def in_place(x, table, shown, size):
    x += size * rows(unit(table), shown)
    return x


RIGHT = {a3.add_positions: [by_places, by_mask, by_loop]}

WRONG = {
    a3.add_positions: [
        (lambda x, table, shown, size: x, "nothing is added"),
        (lambda x, table, shown, size: None, "should be a tensor"),
        (lambda x, table, shown, size: rows(table, shown), "has shape"),
        (lambda x, table, shown, size: x + size * unit(table)[shown], "fails: take the first T"),
        (lambda x, table, shown, size: x + size * unit(table)[: len(shown)], "another number of"),
        (lambda x, table, shown, size: x + size * unit(table)[shown.long()], "another number of"),
        (lambda x, table, shown, size: x + size * unit(table)[: x.shape[1]], "numbered anew"),
        (lambda x, table, shown, size: x + size * table[: x.shape[1]], "numbered anew, and"),
        (lambda x, table, shown, size: x + size * rows(table, shown), "as it is; first divide"),
        (lambda x, table, shown, size: x + rows(table, shown), "is added as it is"),
        (lambda x, table, shown, size: x + size * rows(table, shown) / table.std(), "leaves out"),
        (
            lambda x, table, shown, size: x + size * rows(table / table.std(correction=0), shown),
            "leaves out",
        ),
        (lambda x, table, shown, size: x + size * rows(table / table.norm(), shown), "the length"),
        (
            lambda x, table, shown, size: x + size * rows(table, shown) / table.square().mean(),
            "its root is missing",
        ),
        (lambda x, table, shown, size: x + size * unit(rows(table, shown)), "that are shown"),
        (
            lambda x, table, shown, size: x + size * rows(unit(table[: len(shown)]), shown),
            "the first T rows",
        ),
        (
            lambda x, table, shown, size: (
                x + size * 8**0.5 * F.normalize(rows(table, shown), dim=-1)
            ),
            "each row on its own",
        ),
        (
            lambda x, table, shown, size: (
                x + size * rows(table, shown) * table.square().mean() ** 0.5
            ),
            "divide by it",
        ),
        (lambda x, table, shown, size: 1 / 0, "ZeroDivisionError"),
        (in_place, "changes x"),
    ]
}

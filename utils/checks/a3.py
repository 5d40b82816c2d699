"""Check of appendix A3: add positions to tokens of which some are not shown."""

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal

__all__ = ["add_positions"]


@check
def add_positions(function: Code) -> None:
    """Check a function that gives each token that is shown the row of its own place.

    ``function(x, table, shown, size)`` takes the tokens that are shown, (B, T', D), a table
    (512, D), bools (T,), T' of which are True, and a number. The table, scaled so that the root
    mean square of all its numbers is ``size``, is added to x, to each token the row of its place.
    """
    draw = normal(0)
    table = 0.2 + draw(512, 8) * torch.linspace(0.5, 1.5, 512).unsqueeze(-1)
    x = draw(3, 5, 8)
    shown = torch.tensor([True, False, True, True, False, False, True, False, False, True, False])
    for size in (0.5, 2.0):
        given, kept = x.clone(), table.clone()
        got = _call(function, given, kept, shown, size)
        if not (torch.equal(given, x) and torch.equal(kept, table)):
            raise FaultError("your function changes x or the table itself; return a new tensor.")
        compare(got, _expected(x, table, shown, size), "the sum", _mistakes(x, table, shown, size))


def _call(function: Code, x: Tensor, table: Tensor, shown: Tensor, size: float) -> Tensor:
    try:
        return call(function, x, table, shown, size)
    except FaultError as fault:
        said = str(fault.__cause__)
        if isinstance(fault.__cause__, IndexError) and "mask" in said:
            raise FaultError(
                f"the table has {len(table)} rows and shown has {len(shown)} entries, so "
                "table[shown] fails: take the first T rows before."
            ) from fault
        if isinstance(fault.__cause__, RuntimeError) and "size of tensor" in said:
            raise FaultError(
                f"{x.shape[1]} tokens are shown, and you add another number of rows: take one row "
                "for each True in shown."
            ) from fault
        raise


def _expected(x: Tensor, table: Tensor, shown: Tensor, size: float) -> Tensor:
    places = shown.nonzero().squeeze(1)  # (T',)
    return x + size * _unit(table)[places]


def _unit(table: Tensor) -> Tensor:
    return table / table.square().mean().sqrt()


def _mistakes(x: Tensor, table: Tensor, shown: Tensor, size: float) -> dict[str, Tensor]:
    places, rows = shown.nonzero().squeeze(1), table[: len(shown)][shown]  # (T',), (T', D)
    each = rows / rows.square().mean(dim=-1, keepdim=True).sqrt()
    return {
        "nothing is added yet.": x,
        "the tokens are numbered anew, 0, 1, 2, …: give each the row of the place that it has in "
        "the whole text.": x + size * _unit(table)[: len(places)],
        "the tokens are numbered anew, and the table is not brought to its size.": x
        + size * table[: len(places)],
        "the table is multiplied by size as it is; first divide it by its own root mean square.": x
        + size * rows,
        "the table is added as it is; bring it to the size first.": x + rows,
        "you divide by the standard deviation, which leaves out the mean; the root mean square "
        "does not.": x + size * rows / table.std(),
        "you divide by the standard deviation, which leaves out the mean. The root mean square "
        "does not.": x + size * rows / table.std(correction=0),
        "you divide by the length of the whole table, the root of the sum of its squares; take "
        "the root of their mean.": x + size * rows / table.norm(),
        "you divide by the mean of the squares; its root is missing.": x
        + size * rows / table.square().mean(),
        "you measure the rows that are shown; the size is that of the whole table, so that a row "
        "is the same in every batch.": x + size * _unit(rows),
        "you measure the first T rows; the size is that of the whole table.": x
        + size * rows / table[: len(shown)].square().mean().sqrt(),
        "you scale each row on its own; one factor is for the whole table.": x + size * each,
        "you multiply by the root mean square; divide by it.": x
        + size * rows * table.square().mean().sqrt(),
    }

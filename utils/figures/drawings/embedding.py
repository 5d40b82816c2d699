"""An embedding: each token of a text takes its row of a table."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from torch import Tensor

from utils.figures.drawings.canvas import TEXT, Block, Picture, both, shorten
from utils.figures.drawings.primitives import arrow, box, colours_of_heads, link
from utils.figures.drawings.tensors import grid
from utils.figures.palette import NEUTRAL

ROW, GAP = 30.0, 90.0  # height of a row, and the room for the arrows, in points
TOKEN = 52.0  # width of a token


def draw_embedding(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    table: Tensor,
    features: Sequence[str],
    names: tuple[str, str] = ("table", "x"),
) -> Picture:
    """Draw how the tokens of a text become vectors: each takes its row of a table.

    Equal tokens have one colour. It is not blue or orange, which are those of heads 0 and 1.

    Parameters
    ----------
    tokens : T names, at most four of them different
    vocabulary : V names
    table : Tensor of shape (vocab_size, D), no number below 0 or above 1
    features : D names, one for each column of the table
    names : what the table and the vectors of the text are called

    Raises
    ------
    ValueError
        if the table does not fit the names, a token is not in the vocabulary, or there are too
        many different ones
    """
    if tuple(table.shape) != (len(vocabulary), len(features)):
        raise ValueError(
            f"a table of shape {tuple(table.shape)} does not fit {len(vocabulary)} words and "
            f"{len(features)} features."
        )
    if missing := [token for token in tokens if token not in vocabulary]:
        raise ValueError(f"{', '.join(missing)} is not in the vocabulary.")
    rows = [list(vocabulary).index(token) for token in tokens]
    kinds = sorted(set(rows), key=rows.index)
    colours = dict(zip(kinds, colours_of_heads(len(kinds) + 2)[2:], strict=True))
    numbers = table.tolist()

    def draw(axes: Axes, narrow: bool) -> None:
        cell = (min(46.0, 132.0 / len(features)), ROW)
        left = TOKEN + GAP * (0.7 if narrow else 1)
        label = f"{names[0]} (vocab_size, D)"
        places = _grid(axes, (left, 0), vocabulary, features, numbers, cell, label)
        for row, colour in colours.items():
            y = places.top + row * ROW
            edge = Block(places.left - 1, y + 1, places.right + 1, y + ROW - 1)
            box(axes, edge, colour=colour, alpha=0.12, edge=colour, radius=4, kind="row")
        middle = (places.top + places.bottom) / 2
        start = middle - len(tokens) * ROW / 2
        for t, token in enumerate(tokens):
            y = start + (t + 0.5) * ROW
            colour = colours[rows[t]]
            at = Block(0, y - 12, TOKEN, y + 12)
            box(axes, at, shorten(token, TOKEN - 8), colour=colour, edge=colour, size=TEXT)
            arms = ((30.0, 0.0), (-26.0, 0.0))
            aim = (left + 2, places.top + (rows[t] + 0.5) * ROW)
            link(axes, (TOKEN + 3, y), aim, arms, 0.3, colour)
        text = [numbers[row] for row in rows]
        if narrow:
            corner = (left, places.bottom + 26)
        else:
            corner = (places.right + 56, start - 42)
            arrow(axes, (places.right + 12, middle), (places.right + 52, middle))
        taken = _grid(axes, corner, tokens, features, text, cell, f"{names[1]} (T, D)")
        for t, row in enumerate(rows):
            y = taken.top + t * ROW
            edge = Block(taken.left - 1, y + 1, taken.right + 1, y + ROW - 1)
            box(axes, edge, colour=colours[row], alpha=0.12, edge=colours[row], kind="row")

    vectors = [tuple(round(number, 2) for number in numbers[row]) for row in rows]
    says = [f"{token} {vector}" for token, vector in zip(tokens, vectors, strict=True)]
    return both(
        draw,
        f"A table with a row of {len(features)} numbers, {', '.join(features)}, for each of the "
        f"words {', '.join(vocabulary)}. An arrow leads from each token of the text to the row of "
        f"its word, equal tokens to the same row. The rows, in the order of the text, are its "
        f"vectors: {', '.join(says)}.",
    )


def _grid(
    axes: Axes,
    at: tuple[float, float],
    rows: Sequence[str],
    columns: Sequence[str],
    numbers: Sequence[Sequence[float]],
    cell: tuple[float, float],
    label: str,
) -> Block:
    """Numbers in cells, the darker the larger; whole ones are written without a point."""
    texts = [[f"{n:.2f}".removesuffix(".00") for n in row] for row in numbers]
    margin = 46.0
    return grid(
        axes, at, texts, numbers, rows=rows, columns=columns, colour=NEUTRAL, cell=cell,
        margin=margin, label=label,
    )  # fmt: skip

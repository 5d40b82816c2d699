"""Tensors as blocks of cells: a grid, a stack of grids, a row of stacks, with named axes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from utils.figures.drawings.canvas import TEXT, Block, Point, shorten, text_width
from utils.figures.drawings.primitives import box, paper, write
from utils.figures.palette import NEUTRAL, NOTE

CELL = 11.0  # side of a cell, in points
SLIP = 6.0  # by which each grid of a stack lies behind the one before it
GAP = 1.5  # between cells


def tensor(
    axes: Axes,
    at: Point,
    shape: Sequence[int],
    axes_names: Sequence[str] = (),
    *,
    colour: str | Sequence[str] = NEUTRAL,
    along: int = -1,
    label: str = "",
    cell: float = CELL,
    apart: float = 0.0,
) -> Block:
    """Draw a tensor of two, three or four axes.

    The last two axes are the rows and columns of a grid, the third from the end lies behind it,
    the fourth stands beside it.

    Parameters
    ----------
    at : its upper left corner, without names and label
    shape : 2 to 4 ints, the cells that are drawn along each axis
    axes_names : a name for each axis, written along its edge, such as B, H, T, D_head
    colour : one colour, or several that share out the cells of one axis in equal parts, as heads do
    along : int, that axis, counted from the end: -1 for the columns, -3 for the grids of a stack
    label : what it is called, written above it
    cell : the side of a cell, in points
    apart : the gap between the parts of a grid whose columns have several colours, in points

    Returns
    -------
    Block, the place of the cells

    Raises
    ------
    ValueError
        if the shape has not 2 to 4 axes, the names are not one an axis, or the colours do not
        share out their axis in equal parts
    """
    shape, colours = tuple(shape), [colour] if isinstance(colour, str) else list(colour)
    _check(shape, axes_names, colours, along)
    groups, depth, rows, columns = (1,) * (4 - len(shape)) + shape
    left, top = at
    slip = SLIP * (depth - 1)
    share = columns // len(colours) if along == -1 else columns
    wide = columns * cell + apart * (columns // share - 1)
    step = wide + slip + 14
    for group in range(groups):
        for layer in reversed(range(depth)):
            x0, y0 = left + group * step + SLIP * layer, top + slip - SLIP * layer
            if depth > 1:
                paper(axes, Block(x0 - 1, y0 - 1, x0 + wide + 1, y0 + rows * cell + 1))
            cells: dict[str, list[Point]] = {shade: [] for shade in colours}
            for row in range(rows):
                for column in range(columns):
                    place = (group, layer, row, column)[along]
                    shade = colours[place * len(colours) // shape[along]]
                    x = x0 + column * cell + apart * (column // share)
                    cells[shade].append((x, y0 + row * cell))
            for shade, corners in cells.items():
                if corners:
                    _fill(axes, corners, cell, shade)
    block = Block(left, top, left + (groups - 1) * step + wide + slip, top + slip + rows * cell)
    _name(axes, block, ("",) * (4 - len(shape)) + (tuple(axes_names) or ("",) * len(shape)), slip)
    if label:
        write(axes, (block.north[0], top - 11), label, size=TEXT, bold=True)
    return block


def _check(
    shape: tuple[int, ...], axes_names: Sequence[str], colours: Sequence[str], along: int
) -> None:
    if not 2 <= len(shape) <= 4 or min(shape) < 1:
        raise ValueError(f"a tensor of shape {shape} cannot be drawn; give 2 to 4 axes, each >= 1.")
    if axes_names and len(axes_names) != len(shape):
        raise ValueError(f"{len(axes_names)} names do not fit the {len(shape)} axes of {shape}.")
    if not -len(shape) <= along <= -1:
        raise ValueError(f"along must be from {-len(shape)} to -1 for the shape {shape}.")
    if not colours or shape[along] % len(colours):
        raise ValueError(
            f"{len(colours)} colours do not share out the {shape[along]} cells of axis {along}."
        )


def _fill(axes: Axes, corners: Sequence[Point], cell: float, colour: str) -> None:
    """Draw cells of one colour as one path: a page of them would be heavy otherwise."""
    side, turn = cell - GAP, min(2.0, cell / 5)
    points: list[Point] = []
    for x, y in corners:
        left, top = x + GAP / 2, y + GAP / 2
        right, bottom = left + side, top + side
        points += [(left + turn, top), (right - turn, top), (right, top), (right, top + turn)]
        points += [(right, bottom - turn), (right, bottom), (right - turn, bottom)]
        points += [(left + turn, bottom), (left, bottom), (left, bottom - turn)]
        points += [(left, top + turn), (left, top), (left + turn, top), (left + turn, top)]
    line, curve = [Path.LINETO], [Path.CURVE3] * 2
    codes = ([Path.MOVETO] + (line + curve) * 4 + [Path.CLOSEPOLY]) * len(corners)
    path = Path(points, codes)
    axes.add_patch(PathPatch(path, fc=(colour, 0.62), lw=0, label="cells", clip_on=False))


def _name(axes: Axes, block: Block, names: Sequence[str], slip: float) -> None:
    """Write the names of the axes: beside, behind, rows, columns."""
    left, top, right, bottom = block
    beside, behind, rows, columns = names
    if rows:
        write(axes, (left - 10, (top + slip + bottom) / 2), rows, colour=NOTE, up=len(rows) > 2)
    if columns:
        write(axes, ((left + right - slip) / 2, bottom + 10), columns, colour=NOTE)
    if behind:
        at = (right - slip / 2 + 4, bottom - slip / 2 + 5)
        write(axes, at, behind, colour=NOTE, align="left")
    if beside:
        write(axes, (right + 10, top + 4), beside, colour=NOTE, align="left")


def grid(
    axes: Axes,
    at: Point,
    texts: Sequence[Sequence[str]],
    strengths: Sequence[Sequence[float]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    colour: str,
    cell: Point,
    margin: float,
    label: str = "",
    blocked: Sequence[Sequence[bool]] | None = None,
) -> Block:
    """Draw a grid of numbers or words, its rows named at the left and its columns above.

    Parameters
    ----------
    at : the upper left corner of its names; the cells begin `margin` to the right
    texts : for each row, the text of each cell
    strengths : for each row, from 0 to 1 how strongly each cell is filled
    cell : width and height of a cell, in points
    margin : the place for the names of the rows, in points
    blocked : for each row, which cells are crossed out

    Returns
    -------
    Block, the place of the cells
    """
    left, top = at[0] + margin, at[1]
    if label:
        write(axes, (left + len(columns) * cell[0] / 2, top + 8), label, size=TEXT, bold=True)
        top += 24
    room = cell[0] - 4
    upright = any(shorten(name, room) != name for name in columns)
    if upright:  # too long to stand beside each other, so they stand upright
        names = [shorten(name, 70) for name in columns]
        top += max(map(text_width, names)) + 6
        for j, name in enumerate(names):
            high = text_width(name) / 2 + 4
            write(axes, (left + (j + 0.5) * cell[0], top - high), name, colour=NOTE, up=True)
    else:
        top += 18
        for j, name in enumerate(columns):
            write(axes, (left + (j + 0.5) * cell[0], top - 10), name, colour=NOTE)
    for i, name in enumerate(rows):
        y = top + i * cell[1]
        shown = shorten(name, margin - 8)
        write(axes, (left - 6, y + cell[1] / 2), shown, colour=NOTE, align="right")
        for j in range(len(columns)):
            x = left + j * cell[0]
            place = Block(x + 1, y + 1, x + cell[0] - 1, y + cell[1] - 1)
            crossed = blocked is not None and blocked[i][j]
            box(
                axes,
                place,
                texts[i][j],
                colour=NEUTRAL if crossed else colour,
                alpha=0.22 if crossed else 0.06 + 0.5 * strengths[i][j],
                radius=3,
                kind="blocked" if crossed else "cell",
            )
    return Block(left, top, left + len(columns) * cell[0], top + len(rows) * cell[1])

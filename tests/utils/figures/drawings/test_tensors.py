"""A tensor is drawn with as many cells as its shape has, in the colours that it is given."""

from collections import Counter

import pytest
from matplotlib.colors import to_hex

from utils.figures import HEAD_COLOURS, NEUTRAL
from utils.figures.drawings import canvas, grid, tensor

POINTS = 14  # of the path of one cell: corners, curves, and the end


def cells(axes):
    """How many cells there are of each colour."""
    found = Counter()
    for patch in axes.patches:
        if patch.get_label() == "cells":
            found[to_hex(patch.get_facecolor())] += len(patch.get_path().vertices) // POINTS
    return dict(found)


def colour(h):
    return to_hex(HEAD_COLOURS[h])


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (2, 4, 3), (2, 3, 4, 5)])
def test_every_entry_is_a_cell(shape):
    axes, count = canvas(400), 1
    for size in shape:
        count *= size
    tensor(axes, (0, 0), shape)
    assert cells(axes) == {to_hex(NEUTRAL): count}


def test_heads_share_out_the_columns():
    axes = canvas(400)
    tensor(axes, (0, 0), (4, 6), colour=HEAD_COLOURS[:3])
    assert cells(axes) == {colour(0): 8, colour(1): 8, colour(2): 8}
    first = next(patch for patch in axes.patches if patch.get_label() == "cells")
    assert to_hex(first.get_facecolor()) == colour(0)
    assert first.get_path().get_extents().x1 < 2 * 11  # the left two of six columns


def test_heads_are_the_grids_of_a_stack():
    axes = canvas(400)
    block = tensor(axes, (0, 0), (2, 3, 4, 5), colour=HEAD_COLOURS[:3], along=-3)
    assert cells(axes) == {colour(h): 2 * 4 * 5 for h in range(3)}
    # What lies behind is drawn first, and further up and to the right.
    drawn = [patch for patch in axes.patches if patch.get_label() == "cells"]
    boxes = {to_hex(p.get_facecolor()): p.get_path().get_extents() for p in reversed(drawn)}
    assert boxes[colour(2)].x0 > boxes[colour(0)].x0
    assert boxes[colour(2)].y0 < boxes[colour(0)].y0
    for patch in drawn:
        extents = patch.get_path().get_extents()
        assert block.left <= extents.x0
        assert extents.x1 <= block.right
        assert block.top <= extents.y0
        assert extents.y1 <= block.bottom


def test_the_axes_have_their_names_and_the_tensor_its_label():
    axes = canvas(400)
    block = tensor(axes, (50, 50), (2, 3, 4, 5), ("B", "H", "T", "D_head"), label="q")
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert set(places) == {"B", "H", "T", "D_head", "q"}
    assert places["T"][0] < block.left
    assert places["D_head"][1] > block.bottom
    assert places["B"][0] > block.right
    assert places["q"][1] < block.top


@pytest.mark.parametrize(
    ("shape", "wrong", "says"),
    [
        ((3,), {}, "2 to 4 axes"),
        ((1, 2, 3, 4, 5), {}, "2 to 4 axes"),
        ((2, 0), {}, "2 to 4 axes"),
        ((2, 3), {"axes_names": ("T",)}, "1 names do not fit the 2 axes"),
        ((2, 3), {"colour": HEAD_COLOURS[:2]}, "2 colours do not share out the 3 cells"),
        ((2, 3), {"along": -3}, "along must be from -2 to -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(shape, wrong, says):
    with pytest.raises(ValueError, match=says):
        tensor(canvas(400), (0, 0), shape, **wrong)


def test_long_names_of_columns_stand_upright_and_are_cut():
    axes = canvas(400)
    names = ["internationalization", "of"]
    grid(
        axes,
        (0, 0),
        [["1", "2"]],
        [[0.0, 1.0]],
        rows=["a"],
        columns=names,
        colour=HEAD_COLOURS[0],
        cell=(24, 24),
        margin=20,
    )
    upright = [text for text in axes.texts if text.get_rotation() == 90]
    assert [text.get_text()[:5] for text in upright] == ["inter", "of"]
    assert upright[0].get_text().endswith("…")

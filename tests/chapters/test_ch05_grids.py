"""A grid stands for each attempt, and the text says how many pairs are open in each."""

import torch

from chapters.ch05_grids import draw_grids


def test_each_attempt_has_its_grid_and_the_text_counts_its_pairs():
    own, every = torch.eye(2).bool(), torch.ones(2, 2).bool()
    used = {"every": every, "own": own, "none": ~every, "other": ~own}
    drawn = draw_grids(used, ["a", "b"], "Only one is right.")
    assert "every 4, own 2, none 0, other 2" in drawn.alt
    for svg in (drawn.svg, drawn.narrow_svg):
        assert "changed token" in svg

"""The card of a shared link is what its code draws."""

import matplotlib.image
import numpy as np

from tools.page import card


def test_the_committed_card_is_the_drawn_one(tmp_path):
    card.draw(tmp_path / "card.png")
    drawn, kept = (matplotlib.image.imread(p) for p in (tmp_path / "card.png", card.CARD))
    assert drawn.shape == kept.shape == (630, 1200, 4)
    assert np.abs(drawn - kept).mean() < 0.01  # another Matplotlib may smooth edges otherwise
    assert card.CARD.stat().st_size < 200_000


def test_nothing_touches_the_edge(tmp_path):
    card.draw(tmp_path / "card.png")
    drawn = matplotlib.image.imread(tmp_path / "card.png")[..., :3]
    for edge in (drawn[:8], drawn[-8:], drawn[:, :40], drawn[:, -40:]):
        assert edge.min() > 0.99

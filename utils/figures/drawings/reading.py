"""A text, its words the darker the more a token reads them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import (
    NARROW,
    SMALL,
    TEXT,
    WIDE,
    Block,
    Picture,
    both,
    text_width,
)
from utils.figures.drawings.primitives import box, write
from utils.figures.palette import NOTE, PALETTE

LINE, ROW = 24.0, 19.0  # from line to line, and the height of a word's box, in points
DARKEST = 0.5  # the box of the word that is read most; words in INK on it can be read
NAMED = 5  # words that the text alternative names


def draw_reading(words: Sequence[str], weights: Sequence[float], title: str) -> Picture:
    """Draw a text with a box behind each word, the darker the more weight the word has.

    Parameters
    ----------
    words : the words of the text, in order
    weights : as many numbers, none below zero and not all zero: the weight of each word
    title : str, what the legend says of the weights

    Raises
    ------
    ValueError
        if there are no words, or the weights are not as many, negative, or all zero
    """
    most = max(weights, default=0.0)
    if len(words) != len(weights) or most <= 0 or min(weights) < 0:
        raise ValueError(
            f"{len(words)} words need as many weights, none below zero and not all zero; got "
            f"{len(weights)}."
        )

    def draw(axes: Axes, narrow: bool) -> None:
        right, x, y = (NARROW if narrow else WIDE) - 8, 4.0, 0.0
        for word, weight in zip(words, weights, strict=True):
            width = text_width(word, TEXT) + 6
            if x > 4 and x + width > right:
                x, y = 4.0, y + LINE
            _shaded(axes, Block(x, y, x + width, y + ROW), word, weight / most, TEXT)
            x += width
        x, y = 4.0, y + LINE + 14
        write(axes, (x + 3, y + ROW / 2), title, colour=NOTE, align="left")
        if narrow:
            y += LINE
        else:
            x += text_width(title, SMALL) + 14
        for share in (0.1, 0.5, 1.0):
            text = f"{share * most:.1%}".replace("%", " %")
            width = text_width(text, SMALL) + 12
            _shaded(axes, Block(x, y, x + width, y + ROW), text, share, SMALL)
            x += width + 6

    top = sorted(zip(weights, words, strict=True), key=lambda pair: -pair[0])[:NAMED]
    named = ", ".join(f"{word.strip('.,:;!?')} {weight:.1%}" for weight, word in top)
    return both(
        draw,
        f"A text of {len(words)} words, each on a ground that is the darker the more weight it "
        f"has. {title}; the largest: {named}.",
    )


def _shaded(axes: Axes, place: Block, text: str, share: float, size: float) -> None:
    alpha = DARKEST * share
    box(axes, place, text, colour=PALETTE[2], alpha=alpha, size=size, radius=3, kind="word")

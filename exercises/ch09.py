"""Check of chapter 9: what three heads can answer."""

from typing import Any

from exercises.exercise import FaultError, as_number, check

CHANCE = 1 / 16 + 15 / 16 / 8  # the same key was asked for twice, or else its value is the same
FOUND = [(n + (4 - n) * CHANCE) / 4 for n in range(5)]  # accuracy where n of 4 places are found
PREDICTIONS = {
    1.0: "a head has one softmax for all four places, so three heads find three of them.",
    0.75: "the place that no head finds is right sometimes, by chance: one value in eight. Add that.",
    FOUND[2]: "that is two places found; there are three heads.",
    0.5: "that is two of the four places, and there are three heads.",
    FOUND[1]: "that is one place found; there are three heads.",
    0.25: "there are three heads, and each finds one of the four places.",
    1 / 8: "that is guessing. Each head finds one of the four places.",
    0.875: "right half of the time, where nothing is found? There are eight values to guess from.",
}


@check
def three_heads(predicted: Any) -> None:
    """Check the share of four lookups that three heads answer, 0.77 to 0.82.

    Plain guessing of the fourth gives 25/32; with a value that was found, which one key in sixteen
    shares, it is 0.79.
    """
    share = as_number(predicted, "the accuracy of three heads")
    if 0.77 < share < 0.82:
        return
    mistaken = min(PREDICTIONS, key=lambda number: abs(number - share))
    if abs(share - mistaken) < 0.03:
        raise FaultError(PREDICTIONS[mistaken])
    raise FaultError("of the four places, how many get a head, and how often is a guess right for the other?")

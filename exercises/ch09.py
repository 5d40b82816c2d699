"""Check of chapter 9: what two heads can answer."""

from typing import Any

from exercises.exercise import FaultError, as_number, check

CHANCE = 1 / 16 + 15 / 16 / 8  # the same key was asked for twice, or else its value is the same
FOUND = [(n + (4 - n) * CHANCE) / 4 for n in range(5)]  # accuracy where n of 4 places are found
PREDICTIONS = {
    1.0: "a head has one softmax for all four places, so it finds one key well and not two.",
    FOUND[3]: "that is three places found. How many are there heads for?",
    0.625: "right once in four, where nothing is found? There are eight values to guess from.",
    0.75: "that is three of the four places, and there are two heads.",
    0.5: "the places that no head finds are right sometimes, by chance: one value in eight. Add that.",
    FOUND[1]: "that is one place found; there are two heads.",
    0.25: "there are two heads, and each finds one of the four places.",
    1 / 8: "that is guessing. Each head finds one of the four places.",
}


@check
def two_heads(predicted: Any) -> None:
    """Check the share of four lookups that two heads of 8 numbers answer, 0.56 to 0.60.

    Plain guessing of the two others gives 9/16; with the value that was found, which one key in
    sixteen shares, it is 0.59.
    """
    share = as_number(predicted, "the accuracy of two heads")
    if 0.555 < share < 0.605:
        return
    mistaken = min(PREDICTIONS, key=lambda number: abs(number - share))
    if abs(share - mistaken) < 0.03:
        raise FaultError(PREDICTIONS[mistaken])
    raise FaultError("of the four places, how many get a head, and how often is a guess right for the others?")

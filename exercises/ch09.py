"""Check of chapter 9: what four heads can answer where eight keys are asked for."""

from typing import Any

from exercises.exercise import FaultError, as_number, check

PREDICTIONS = {
    1.0: "a head has one softmax for all eight places, so four heads find four of them.",
    0.75: "right half of the time, where nothing is found? There are eight values to guess from.",
    0.5: "the places that no head finds are right sometimes, by chance: one value in eight. Add that.",
    0.39: "that is one head of four keys; here four heads share eight, and each finds one.",
    1 / 8: "that is guessing. Each head finds one of the eight places.",
}


@check
def eight_keys(predicted: Any) -> None:
    """Check the share of eight lookups that four heads answer, 0.54 to 0.65.

    Plain guessing of the other four gives 9/16; with a value that was found, which one key in
    sixteen shares, it is 0.59.
    """
    share = as_number(predicted, "the accuracy of four heads")
    if 0.54 < share < 0.65:
        return
    mistaken = min(PREDICTIONS, key=lambda number: abs(number - share))
    if abs(share - mistaken) < 0.03:
        raise FaultError(PREDICTIONS[mistaken])
    raise FaultError("of the eight places, how many get a head, and how often is a guess right for the others?")

"""Checks of chapter 9: what two heads can answer, a layer of ones."""

from typing import Any

from exercises.exercise import Cases, Prediction, check, exercise, refuse_names


@exercise
def two_heads() -> Cases:
    """Check the share of four lookups that two heads of 8 numbers answer, 0.56 to 0.63.

    Plain guessing of the two others gives 9/16; with the value that was found, which one key in
    sixteen shares, it is 0.59, and training reaches 0.59 to 0.63.
    """
    chance = 1 / 16 + 15 / 16 / 8  # the same key was asked for twice, or else its value is the same
    mistakes = {
        1.0: "a head has one softmax for all four places, so it finds one key well and not two.",
        (3 + chance) / 4: "that is three places found. How many are there heads for?",
        0.75: "that is three of the four places, and there are two heads.",
        0.5: "the places that no head finds are right sometimes, by chance: one value in eight. Add that.",
        (1 + 3 * chance) / 4: "that is one place found; there are two heads.",
        0.25: "there are two heads, and each finds one of the four places.",
        1 / 8: "that is guessing. Each head finds one of the four places.",
    }
    other = "of the four places, how many get a head, and how often is a guess right for the others?"
    yield Prediction("the accuracy of two heads", (0.555, 0.64), mistakes, 0.03, other)


TOKENS = {
    "ones": "with ones all values are equal, and any mixture of equal values is that value.",
    "rand": "with rand each number is the sum of 512 that are positive: one token gets all the weight from 64 heads already.",
    "randn": "with randn sums of 512 numbers are still so large that 64 heads are saturated, and fewer heads are sharper.",
    "randn / 100": "all numbers of query and key are alike, but the root of D_head depends on H: where scores are small, it shows.",
}


@check
def layer_of_ones(predicted: Any) -> None:
    """Check for which tokens a layer of ones gives other outputs with 1 head than with 64.

    ``predicted`` is a list of names out of ``TOKENS``: "randn / 100" alone.
    """
    refuse_names(predicted, TOKENS, "randn / 100", "ones")

"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import numpy as np

from exercises import ch09

RIGHT = {ch09.three_heads: [0.79, 25 / 32, np.float32(0.8), (3 + 0.18) / 4]}

WRONG = {
    ch09.three_heads: [
        (1.0, "three heads find three"),
        (0.875, "eight values"),
        (0.75, "right sometimes, by chance"),
        (0.59, "two places found"),
        (0.5, "two of the four places"),
        (0.385, "one place found"),
        (0.25, "there are three heads"),
        (0.125, "that is guessing"),
        (0.68, "how many get a head"),
        ("many", "should be a number"),
    ]
}

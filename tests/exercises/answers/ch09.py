"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import numpy as np

from exercises import ch09

RIGHT = {
    ch09.two_heads: [0.59, 9 / 16, np.float32(0.6), (2 + 2 * 0.18) / 4],
}

WRONG = {
    ch09.two_heads: [
        (1.0, "one softmax for all four places"),
        (0.8, "three places found"),
        (0.75, "three of the four places"),
        (0.5, "right sometimes, by chance"),
        (0.385, "one place found"),
        (0.25, "there are two heads"),
        (0.125, "that is guessing"),
        (0.625, "eight values"),
        (0.68, "how many get a head"),
        ("many", "should be a number"),
    ],
}

"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import numpy as np

from exercises import ch09

RIGHT = {
    ch09.eight_keys: [0.59, 9 / 16, np.float32(0.6), (4 + 4 * 0.18) / 8],
}

WRONG = {
    ch09.eight_keys: [
        (1.0, "four heads find four"),
        (0.75, "eight values"),
        (0.5, "right sometimes, by chance"),
        (0.385, "one head of four keys"),
        (0.125, "that is guessing"),
        (0.68, "how many get a head"),
        ("many", "should be a number"),
    ],
}

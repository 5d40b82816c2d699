"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import numpy as np

from exercises import ch09

RIGHT = {
    ch09.two_heads: [0.59, 9 / 16, np.float32(0.6), (2 + 2 * 0.18) / 4],
    ch09.layer_of_ones: [["randn / 100"], {"randn / 100": True}, ("randn / 100",)],
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
        (0.68, "how many get a head"),
        ("many", "should be a number"),
    ],
    ch09.layer_of_ones: [
        ([], "the root of D_head depends on H"),
        (["ones", "randn / 100"], "any mixture of equal values"),
        (["rand", "randn", "randn / 100"], "the sum of 512 that are positive"),
        (["randn", "randn / 100"], "64 heads are saturated"),
        (["random"], "none of the four"),
        ("randn / 100", "give a list"),
        (3, "give a list"),
    ],
}

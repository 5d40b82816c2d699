import numpy as np

from exercises import ch09

RIGHT = {
    ch09.two_heads: [0.59, 9 / 16, np.float32(0.6), (2 + 2 * 0.18) / 4],
    ch09.layer_of_ones: [["randn / 100"], {"randn / 100": True}, ("randn / 100",)],
}

WRONG = {
    ch09.two_heads: [(0.68, "how many get a head")],
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

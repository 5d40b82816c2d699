"""The checks of appendix A2 accept what is right, however written, and name what is wrong."""

from exercises import a2


def additive(query, key, w_query, w_key, v):
    q, k = query @ w_query, key @ w_key
    return (q[:, :, None] + k[:, None]).tanh() @ v


RIGHT = {a2.houses_in_town: [(4, 25), [4, 25]]}

WRONG = {
    a2.additive_scores: [
        (lambda *x: None, "should be a tensor"),
        (lambda q, k, *x: additive(q[0], k[0], *x), "has shape (4, 6)"),
    ],
    a2.houses_in_town: [
        ((0, 0), "no predictions yet"),
        ((2, 25), "two ends"),
        ((16, 25), "between two corners"),
        ((25, 25), "in the middle lies between"),
        ((9, 25), "9 is not it"),
        ((4, 5), "is tilted"),
        ((4, 4), "4 is not it"),
        (4, "two numbers"),
        ((4.5, 25), "should be an int"),
    ],
}

from exercises import a2

RIGHT = {a2.houses_in_town: [(4, 25), [4, 25]]}

WRONG = {
    a2.additive_scores: [(lambda *x: None, "should be a tensor")],
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

"""The checks of appendix A3 accept what is right, however written, and name what is wrong."""

import torch

from exercises import a3


def in_turn(cost, num_heads, choose=min):
    gone = []
    while len(gone) < num_heads:
        left = [h for h in range(num_heads) if h not in gone]
        gone.append(choose(left, key=lambda h: cost([*gone, h])))
    return gone


def in_turn_by_tensors(cost, num_heads):
    gone, left = [], list(range(num_heads))
    while left:
        costs = torch.tensor([cost([*gone, h]) for h in left])
        gone.append(left.pop(costs.argmin()))
    return torch.tensor(gone)


def once(cost, num_heads):
    return sorted(range(num_heads), key=lambda h: cost([h]))


def of_those_that_stay(cost, num_heads):
    return in_turn(lambda gone: cost([h for h in range(num_heads) if h not in gone]), num_heads)


RIGHT = {
    a3.greedy_order: [in_turn, in_turn_by_tensors],
}

WRONG = {
    a3.greedy_order: [
        (in_turn, {", key=lambda h: cost([*gone, h])": ""}, "min takes a key"),
        (once, "measured once"),
        (lambda *a: once(*a)[::-1], "all were measured once"),
        (lambda *a: in_turn(*a, choose=max), "take min, not max"),
        (lambda *a: in_turn(*a)[::-1], "the order is turned"),
        (of_those_that_stay, "those that are out"),
        (
            in_turn_by_tensors,
            {
                "(gone)": "(found)",
                "gone, left = [],": "gone, found, left = [], [],",
                "        gone.append": "        found.append(costs.argmin())\n        gone.append",
            },
            "places among",
        ),
        (lambda *a: in_turn(*a)[:-1], "the last head is missing"),
        (lambda cost, n: {0, 1}, "one list"),
        (
            lambda cost, num_heads: [in_turn(cost, num_heads)[: n + 1] for n in range(num_heads)],
            "a list itself",
        ),
        (lambda cost, n: [cost([h]) for h in range(n)], "should be an int"),
        (lambda cost, n: [0] * n, "names a head twice"),
        (lambda cost, n: [3, 0, 1, 2], "expected"),
    ],
    a3.cut_head: [
        (lambda q, *_: q, "two things"),
    ],
}

"""The checks of chapter 19 accept what is right, however written, and name what is wrong."""

import torch

from exercises import ch19


def in_a_loop(tokens):
    rows, found = tokens.tolist(), torch.zeros_like(tokens)
    for t, row in enumerate(rows):
        after = [tokens[j] for j in range(1, t + 1) if rows[j - 1] == row]
        if after:
            found[t] = torch.stack(after).mean(dim=0)
    return found


def note(tokens):
    return torch.cat([torch.zeros_like(tokens[:1]), tokens[:-1]])


def by_hand(tokens, scores, values=None, below=0, least=1):
    scores = scores.tril(below)
    weights = scores / scores.sum(dim=1, keepdim=True).clamp(min=least)
    return weights @ (tokens if values is None else values)


RIGHT = {
    ch19.copy_by_hand: [in_a_loop],
    ch19.fixed_place: [7, 6.9, torch.tensor(6.8)],
}

WRONG = {
    ch19.copy_by_hand: [
        (lambda tokens: in_a_loop(tokens)[:-1], "shape"),
        (lambda tokens: by_hand(tokens, tokens @ tokens.T, below=-1), "gives the token itself"),
        (lambda tokens: by_hand(tokens, tokens @ note(tokens).T, note(tokens)), "mean of tokens"),
        (lambda tokens: by_hand(tokens, tokens @ note(tokens).T, least=0), "0 / 0 is NaN"),
        (lambda tokens: 2 * in_a_loop(tokens) - 1, "the result is wrong at"),
    ],
    ch19.fixed_place: [
        (0, "even a guess is right"),
        (0.8, "at a random place"),
        (3.5, "which of the seven"),
        (100, "from 0 to 7"),
        ("all", "should be a number"),
    ],
}

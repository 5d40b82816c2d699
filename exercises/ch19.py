"""Checks of chapter 19: copying by hand, one block at a fixed place.

Shapes: T tokens of a text, V tokens in the vocabulary.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, as_number, check, exercise


@exercise
def copy_by_hand() -> Cases:
    """Check ``function(tokens)``: for each token the mean of what followed its earlier copies.

    ``tokens`` are one-hot rows, (T, V), and so is the result: zeros where there is no earlier copy.
    """
    for row, V in [([0, 1, 2, 3, 0, 1, 3, 3, 0], 5), ([2, 1, 2, 0, 2, 1, 1], 3)]:
        tokens = F.one_hot(torch.tensor(row), V).float()
        notes, later = F.pad(tokens, (0, 0, 1, 0))[:-1], F.pad(tokens, (0, 0, 0, 1))[1:]

        def mean(scores: Tensor, values: Tensor = tokens) -> Tensor:
            return scores / scores.sum(1, keepdim=True).clamp(min=1) @ values

        scores, found = tokens @ notes.T, (tokens @ notes.T).tril()
        softened = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(1) @ tokens
        latest = found.flip(1).cumsum(1).flip(1).eq(1) * found
        alike, before = mean((tokens @ tokens.T).tril()), mean(scores.tril(-1))
        mistakes = {
            "this finds the copy itself; what is asked for stands one token further on: compare with the notes.": alike,
            "this gives the token itself, if it stood before: compare with the notes, but take the mean of tokens.": mean(found, notes),
            "0 / 0 is NaN: where no note is found, the sum is 0; divide by no less than 1.": found / found.sum(1, keepdim=True) @ tokens,
            "the next token's note is the query itself, so the answer leaks: hide what comes after the query.": mean(scores),
            "a token sees only those before it; it may see itself: of two equal ones in a row, the second followed the first.": before,
            "the note is the row after each token; it is the row before.": mean((tokens @ later.T).tril()),
            "the notes look for tokens; it is the tokens that look for notes.": mean((notes @ tokens.T).tril()),
            "the note of the first token is the last one; nothing stood before it.": mean((tokens @ tokens.roll(1, 0).T).tril()),
            "this is the sum of the rows that are found; take their mean.": scores.tril() @ tokens,
            "this is what followed the latest copy alone; take the mean of all.": latest @ tokens,
            "a softmax gives weight to every token, also where none is found.": softened,
            "a softmax gives a score of 0 weight, too, also one that is hidden; divide by the sum instead.": found.softmax(1) @ tokens,
            "nothing hides what comes after the query, and a softmax gives weight to every token.": scores.softmax(1) @ tokens,
        }
        yield Case((tokens,), mean(found), mistakes, f"for {row}, the result")


@check
def fixed_place(predicted: Any) -> dict[str, bool]:
    """Check how many of seven tokens one block gets right where the copy has a fixed place: all."""
    number = as_number(predicted, "how many it gets right")
    return {
        "there are seven tokens that can be known: give a number from 0 to 7.": not 0 <= number <= 7,
        "even a guess is right sometimes, and one block can do more: the next token is always as far back.": number == 0,
        "that is what it gets at a random place. What does a fixed one let a head do without comparing tokens?": number <= 1.4,
        "which of the seven could it miss? They all stand as far back as one another.": number < 6.6,
    }

"""Checks of chapter 19: copying by hand, one block at a fixed place, the matching score.

Shapes: B texts, T tokens of each, V tokens in the vocabulary, H heads.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, FaultError, as_number, check, exercise, normal


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

        scores = tokens @ notes.T
        mistakes = {
            "this finds the copy itself; what is asked for stands one token further on: compare with the notes.": mean(
                (tokens @ tokens.T).tril()
            ),
            "this finds earlier copies, and so gives the token itself; compare with the notes.": mean((tokens @ tokens.T).tril(-1)),
            "the next token's note is the query itself, so the answer leaks: hide what comes after the query.": mean(scores),
            "a token sees only those before it; it may see itself: of two equal ones in a row, the second followed the first.": mean(
                scores.tril(-1)
            ),
            "the note is the row after each token; it is the row before.": mean((tokens @ later.T).tril()),
            "the notes look for tokens; it is the tokens that look for notes.": mean((notes @ tokens.T).tril()),
            "the note of the first token is the last one; nothing stood before it.": mean((tokens @ tokens.roll(1, 0).T).tril()),
            "this is the sum of the rows that are found; take their mean.": scores.tril() @ tokens,
            "a softmax gives weight to every token, also where none is found.": (
                scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(1) @ tokens
            ),
        }
        yield Case((tokens,), mean(scores.tril()), mistakes, f"for {row}, the result")


@check
def fixed_place(predicted: Any) -> None:
    """Check how many of seven tokens one block gets right where the copy has a fixed place: all."""
    number = as_number(predicted, "how many it gets right")
    if 6.6 <= number <= 7:
        return
    if not 0 <= number <= 7:
        raise FaultError("there are seven tokens that can be known: give a number from 0 to 7.")
    if number == 0:
        raise FaultError("even a guess is right sometimes, and one block can do more: the next token is always as far back.")
    if number <= 1.4:
        raise FaultError("that is what it gets at a random place. What does a fixed one let a head do without comparing tokens?")
    raise FaultError("which of the seven could it miss? They all stand as far back as one another.")


@exercise
def induction_score() -> Cases:
    """Check ``function(weights)``: how much goes to what followed the token's first copy.

    ``weights`` is (B, H, T, T), of texts whose second half, T / 2 tokens, repeats the first. The
    result is (H,): the mean over all texts and over the queries of the second half.
    """
    draw = normal(18)
    for B, H, n in [(2, 3, 4), (1, 4, 5)]:
        T = 2 * n
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        weights = (2 * draw(B, H, T, T)).masked_fill(~causal, -torch.inf).softmax(-1)
        late = torch.arange(n, T)

        def mean(offset: int, queries: Tensor = late) -> Tensor:
            return weights[:, :, queries, queries + offset].mean(dim=(0, 2))  # noqa: B023

        right = mean(1 - n)
        mistakes = {
            "this is the first copy itself; count what goes to the token after it.": mean(-n),
            "this is the token before the first copy; count the one after it.": mean(-n - 1),
            "the last token of the first half counts too; begin with the second half.": (mean(1 - n, torch.arange(n - 1, T))),
            "queries and keys are exchanged: a row of the weights is one query's.": (mean(n - 1, late - n + 1)),
            "this is the sum over the queries; take their mean.": right * n,
            "one number for all heads; give one for each.": right.mean(),
            "a number for each text and head; take the mean over the texts too.": (weights[:, :, late, late + 1 - n].mean(-1)),
        }
        yield Case((weights,), right, mistakes, f"with T = {T}, the score")

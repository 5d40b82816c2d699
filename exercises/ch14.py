"""Checks of chapter 14: what a wider window recalls, and a state that forgets one value."""

import torch
import torch.nn.functional as F

from exercises.exercise import Case, Cases, Prediction, exercise, normal


@exercise
def wider() -> Cases:
    """Check the recall of softmax attention through a window of 32 of 48 lines, predicted."""
    mistakes = {
        0.67: "two thirds of the lines are in the window, but of a variable that is set several times the last value is asked for.",
        0.64: "a variable is set so often in 32 lines; but two thirds of the questions were drawn from these lines.",
        0.6: "so much comes through a window of sixteen lines; this one holds 32.",
        1.0: "some variables are set in the first lines alone, and nothing is left of them.",
    }
    other = "two thirds of the questions were drawn from lines in the window. How often is the variable of another line set again inside?"
    yield Prediction("the recall", (0.85, 0.91), mistakes, near=0.02, other=other, limits=(0, 1, "a share lies between 0 and 1."))


@exercise
def forget() -> Cases:
    """Check ``function(state, key)``: ``state`` (D_head, D_head) without what stands under ``key``, (D_head,)."""
    randn = normal(0)
    for D_head in (2, 3, 5):
        state, key = randn(D_head, D_head), F.normalize(randn(D_head), dim=0)
        under = key @ state
        wrong = {
            "nothing is forgotten yet.": state,
            "this stores the value a second time: take it away.": state + torch.outer(key, under),
            "this takes the value away from every row; it stands under the key: take away the key times the value.": state - under,
            "the outer product is the other way round: the key first, as in the rule.": state - torch.outer(under, key),
            "`key * (key @ state)` goes place by place; the key stands in a column: take the outer product.": state - key * under,
            "the value is not the key itself: read it first, `key @ state`.": state - torch.outer(key, key),
            "keys multiply the state from the left, `key @ state`; here from the right.": state - torch.outer(state @ key, key),
            "the value is read with `key @ state`: a key multiplies the state from the left.": state - torch.outer(key, state @ key),
            "`key @ ...` gives one number, and this takes it away everywhere: take the outer product.": state - key @ under,
        }
        yield Case((state, key), state - torch.outer(key, under), wrong, "the state")

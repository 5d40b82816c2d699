"""Checks of chapter 14: what a wider window recalls, and a step of the gated delta rule."""

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
def step() -> Cases:
    """Check ``function(state, key, value, keep, write)``: ``state`` (D_head, D_head) after one more token."""
    randn, outer, keep, write = normal(0), torch.outer, 0.75, 0.5
    for D_head in (2, 3, 5):
        state, key, value = randn(D_head, D_head), F.normalize(randn(D_head), dim=0), randn(D_head)
        kept, early = keep * state, value - key @ state
        missing = value - key @ kept
        wrong = {
            "nothing is written yet.": state,
            "the old state fades: multiply it by `keep`.": state + write * outer(key, early),
            "let the state fade first, then see what the key reads from it.": kept + write * outer(key, early),
            "this is the sum: subtract what the key reads from the state.": kept + write * outer(key, value),
            "`write` says how much of what is missing is written.": kept + outer(key, missing),
            "`write` multiplies all that is missing, not the value alone.": kept + outer(key, write * value - key @ kept),
            "`keep` is for the old state; what is written now does not fade yet.": keep * (state + write * outer(key, early)),
            "the outer product is the other way round: the key first, as in the rule.": kept + write * outer(missing, key),
            "a key multiplies the state from the left, `key @ state`; here from the right.": kept + write * outer(key, value - kept @ key),
            "`key * missing` goes place by place; take the outer product.": kept + write * key * missing,
            "the old state is gone; it is kept in part.": write * outer(key, missing),
            "`write` is a gate of its own, not what `keep` leaves.": kept + (1 - keep) * outer(key, missing),
            "`keep` and `write` have changed places.": write * state + keep * outer(key, value - write * (key @ state)),
        }
        yield Case((state, key, value, keep, write), kept + write * outer(key, missing), wrong, "the state")

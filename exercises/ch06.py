"""Checks of chapter 6: equivariance, ALiBi without a causal mask."""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Prediction, exercise, say


@exercise
def is_equivariant() -> Cases:
    """Check a test of permutation equivariance.

    ``function(tested)`` says, True or False, whether ``tested``, from (T, D) to (T, D), gives the
    same outputs in the new order when the tokens are put in another order.
    """
    cases = [
        (lambda x: 2 * x, True, "doubling every token is equivariant: its outputs move with the "
         "tokens. Compare with the old outputs in the new order."),
        (_attend, True, "attention is equivariant, but for the last bits of a float: leave room for rounding."),
        (lambda x: x + torch.arange(len(x)).unsqueeze(-1), False, "tokens with their positions "
         "added are not equivariant; you say they are."),
        (lambda x: _attend(x, -_gaps(x).abs()), False, "attention with ALiBi is not equivariant. "
         "It looks so where you only read backwards: try other orders."),
        (lambda x: x + x.roll(1, 0), False, "a token plus the one before it is not equivariant. "
         "It looks so where the tokens only move round in a circle: try other orders."),
        (lambda x: torch.cat([x[:-1], 2 * x[-1:]]), False, "doubling the last token is not "
         "equivariant. It looks so where your orders leave that token in its place."),
        (lambda x: torch.cat([2 * x[:1], x[1:]]), False, "doubling the first token is not "
         "equivariant. It looks so where your orders leave that token in its place."),
        (lambda x: _attend(x, torch.where(_gaps(x) < 0, -torch.inf, 0.0)), False, "attention "
         "under a causal mask is not equivariant: its first token sees only itself."),
    ]  # fmt: skip
    for tested, expected, said in cases:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            yield Case((tested,), expected, {said: not expected}, alone=True, ask=say)


@exercise
def both_ways() -> Cases:
    """Check the share that ALiBi gets right where it looks both ways and is asked everywhere."""
    mistakes = {
        1.0: "the nearer word no longer came last: it may stand on either side. How would the layer know on which?",
        0.75: "does it guess only where it stands before both words? Read a text backwards: where does it stand then?",
        0.0: "a layer that is wrong more often than right knows something too: turn its answers round.",
    }
    limits = 0, 1, "a share of right answers is a number from 0 to 1."
    yield Prediction("the share of right answers", (0.47, 0.53), mistakes, limits=limits)


def _attend(x: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    """Let tokens (T, D) attend to one another; a bias (T, T) is added to the scores."""
    return (x @ x.T / x.shape[-1] ** 0.5 + bias).softmax(dim=-1) @ x


def _gaps(x: Tensor) -> Tensor:
    """How many places a key stands before its query, (T, T)."""
    places = torch.arange(len(x))
    return places.unsqueeze(-1) - places

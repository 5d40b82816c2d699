"""Checks of chapter 6: equivariance, the paper's rotation, ALiBi without a causal mask."""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Prediction, exercise, normal, say


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
def rotate_neighbours() -> Cases:
    """Check the rotation of queries or keys as in the paper, whose pairs are neighbours.

    ``function(x, places)`` takes x (..., T, D_head) and the places of its rows (T,), and returns x
    rotated, same shape: numbers 2i and 2i + 1 are pair i, and the row at place t turns by t times
    10,000^(-2i/D_head).
    """
    x, places = normal(7)(2, 3, 3, 8), torch.tensor([5, 2, 8])
    speeds = torch.arange(4) / 4
    expected = _turn(x, places, speeds)
    halves = _by_columns(_turn(_by_columns(x, 2), places, speeds), 4)
    mistakes = {
        "nothing is rotated.": x,
        "the places are not used: the rows are rotated as if at 0, 1, 2.": _turn(x, torch.arange(3), speeds),
        "it is turned the wrong way.": _turn(x, -places, speeds),
        "these are the pairs (i, i + D_head / 2), as in the chapter; here neighbours are a pair.": halves,
        "the pairs are right, and joined they stand in another order than they came in: put each back "
        "beside its neighbour, with stack and flatten.": _by_columns(expected, 4),
        "the exponent is 2i/D_head for pair i; you have i/D_head.": _turn(x, places, speeds / 2),
        "the exponent is negative: each pair turns more slowly than the one before it.": _turn(x, places, -speeds),
        "all pairs turn at one speed; each has its own frequency.": _turn(x, places, 0 * speeds),
        "places count from 0: the row at place t turns by t.": _turn(x, places + 1, speeds),
        "take the places as they are given; you count from the first of them.": _turn(x, places - places[0], speeds),
        "the even numbers were overwritten before the odd ones were turned: turn both from the old ones.": _turn(
            x, places, speeds, overwrite=True
        ),
        "sine and cosine have changed places.": _turn(x, places, speeds, swap=True),
        "one sign is wrong: turned are first * cos - second * sin and second * cos + first * sin.": _turn(x, places, speeds, sign=-1),
    }
    yield Case((x, places), expected, mistakes, "the rotated tensor", atol=2e-3)


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


def _turn(x: Tensor, places: Tensor, exponents: Tensor, sign: int = 1, swap: bool = False, overwrite: bool = False) -> Tensor:
    """Rotate neighbours in (..., T, D_head), with an exponent for each pair and mistakes on demand."""
    angles = places.unsqueeze(-1) * 10_000.0**-exponents  # (T, D_head / 2)
    cos, sin = (angles.sin(), angles.cos()) if swap else (angles.cos(), angles.sin())
    first, second = x[..., 0::2], x[..., 1::2]
    turned = first * cos - second * sin
    return torch.stack([turned, second * sign * cos + (turned if overwrite else first) * sin], dim=-1).flatten(-2)


def _by_columns(x: Tensor, rows: int) -> Tensor:
    """Write each row of x into so many rows, and read them by columns: 2 make neighbours of two halves, D_head / 2 undo it."""
    return x.unflatten(-1, (rows, -1)).mT.flatten(-2)

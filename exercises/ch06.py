"""Checks of chapter 6: equivariance, the sinusoidal table, its shift, rotary, ALiBi's bias."""

import numpy as np
import torch
from torch import Tensor
from utils.positions import ALiBi, RotaryPositionalEncoding, SinusoidalPositionalEncoding

from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal


@check
def is_equivariant(function: Code) -> None:
    """Check a test of permutation equivariance.

    ``function(tested)`` says, True or False, whether ``tested``, from (T, D) to (T, D), gives the
    same outputs in the new order when the tokens are put in another order.
    """
    cases = [
        (lambda x: 2 * x, True, "doubling every token is equivariant: its outputs move with the "
         "tokens. Compare with the old outputs in the new order."),
        (_attend, True, "attention is equivariant, but for the last bits of a float: leave room "
         "for rounding."),
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
            got = call(function, tested)
        if not isinstance(got, bool | np.bool_) and not (isinstance(got, Tensor) and got.numel() == 1):
            raise FaultError(f"return True or False; got {type(got).__name__}.")
        if bool(got) != expected:
            raise FaultError(said)


@check
def sinusoidal_table(function: Code) -> None:
    """Check the table of the sinusoidal encoding.

    ``function(length, embed_dim)`` returns (length, D): row t holds sin(t w_0), cos(t w_0),
    sin(t w_1), …, with w_i = 10,000^(-2i/D). D is even.
    """
    for length, D in ((7, 6), (5, 8), (1, 2)):
        t, i = torch.arange(length).view(-1, 1), torch.arange(0, D, 2)
        expected = SinusoidalPositionalEncoding(D).table(length)  # (length, D)
        halves = torch.cat([expected[:, 0::2], expected[:, 1::2]], dim=1)
        mistakes = {
            "count positions from 0, not from 1.": _table(t + 1, i / D, D),
            "the exponent is 2i/D for pair i; you have i/D.": _table(t, i / (2 * D), D),
            "sine and cosine share one frequency, that of their pair.": _no_pairs(t, D),
            "sine and cosine have changed places.": _table(t, i / D, D, sine_first=False),
            "all sines come first; they alternate with the cosines.": halves,
            "the frequency is missing: every hand turns by 1 a step.": _table(t, 0 * i / D, D),
        }
        got = call(function, length, D)
        _refuse_fast_hands(got, expected, _table(t, -i / D, D))
        compare(got, expected, f"the table for D = {D}", mistakes, atol=1e-4)


@check
def shift_matrix(function: Code) -> None:
    """Check the matrix that moves the sinusoidal encoding by n positions.

    ``function(n, embed_dim)`` returns R of shape (D, D), D even, with R p_t = p_(t + n) for every
    position t, where p_t is row t of the table.
    """
    for n, D in ((3, 8), (0, 2), (-2, 4)):
        expected = _shift(n, D)
        order = torch.arange(D).view(-1, 2).T.flatten()  # 0, 2, 4, …, 1, 3, 5, …
        mistakes = {
            "this moves by -n: are sines turned, or is it transposed?": _shift(-n, D),
            "this moves by one position, whatever n is.": _shift(1, D),
            "all blocks turn by the same angle; each pair has a frequency.": _shift(n, D, 0),
            "the exponent is 2i/D for pair i; you have i/D.": _shift(n, D, 0.5),
            "sine and cosine have changed places.": _shift(n, D, swap=True),
            "sine and cosine have changed places, and a sign is wrong.": _shift(n, D, swap=True)
            * torch.tensor([1, -1]).repeat(D // 2).unsqueeze(-1),
            "this is for a table with all sines first; in a row they alternate with the cosines.": (expected[order][:, order]),
            "no sines were found: each pair has a block of 2 by 2.": expected * torch.eye(D),
        }
        got = call(function, n, D)
        if isinstance(got, Tensor) and got.shape == expected.shape and D > 2:
            gap = (got.double() - expected).abs().max()
            if 1e-4 < gap < 0.1 and torch.allclose(got[:2, :2].float(), expected[:2, :2], atol=0.01):
                raise FaultError(
                    "the fast hands are right and the slow ones only nearly: fitted to rows of the "
                    "table, they need many rows in float64, since they hardly move."
                )
        compare(got, expected, f"the matrix for n = {n}", mistakes)


@check
def rotate_at(function: Code) -> None:
    """Check the rotation of queries or keys, at any positions.

    ``function(x, positions)`` takes x (..., T, D_head) and the positions of its rows (T,), and
    returns x rotated, same shape: dimensions i and i + D_head / 2 are pair i, and the row at
    position p turns by p times 10,000^(-2i/D_head).
    """
    x = normal(7)(2, 3, 9, 8)
    rotary = RotaryPositionalEncoding(8)
    positions = torch.tensor([5, 2, 8])
    speeds = torch.arange(4) / 4
    expected = rotary.rotate(x)[..., positions, :]  # (2, 3, 3, 8)
    rows = x[..., positions, :]
    order = torch.arange(8).view(4, 2).T.flatten()  # 0, 2, 4, 6, 1, 3, 5, 7
    neighbours = rotary.rotate(x[..., order])[..., order.argsort()]
    mistakes = {
        "nothing is rotated.": rows,
        "the positions are not used: the rows are rotated as if at 0, 1, 2.": rotary.rotate(rows),
        "it is turned the wrong way.": 2 * rows * _cosines(positions) - expected,
        "the pairs should be (i, i + D_head / 2), not (2i, 2i + 1).": neighbours[..., positions, :],
        "these are the pairs (2i, 2i + 1), and joined they stand in another order than they came "
        "in. Number i and number i + D_head / 2 are a pair, and each keeps its place.": _turn(rows[..., order], positions, speeds),
        "the exponent is 2i/D_head for pair i; you have i/D_head.": _turn(rows, positions, speeds / 2),
        "all pairs turn at one speed; each has its own.": _turn(rows, positions, 0 * speeds),
        "positions count from 0: the row at position p turns by p.": _turn(rows, positions + 1, speeds),
        "take the positions as they are given; you count from the first of them.": _turn(rows, positions - positions[0], speeds),
        "take the positions as they are given; you count from the least of them.": _turn(rows, positions - positions.min(), speeds),
        "sine and cosine have changed places.": _turn(rows, positions, speeds, swap=True),
        "one sign is wrong: turned are first * cos - second * sin and first * sin + second * cos.": _turn(rows, positions, speeds, sign=-1),
    }
    got = call(function, rows.clone(), positions)
    _refuse_fast_hands(got, expected, _turn(rows, positions, -speeds))
    compare(got, expected, "the rotated tensor", mistakes)


@exercise
def alibi_bias() -> Cases:
    """Check what ALiBi adds to the scores.

    ``function(num_heads, num_queries, num_keys)`` returns (H, T, S), H a power of two: minus the
    slope of the head, 2^(-8 (h + 1) / H) for h = 0, 1, …, times the distance of query and key.
    """
    for H, T, S in ((8, 5, 5), (4, 3, 6)):
        expected = ALiBi(H).bias(T, S)
        signed = torch.arange(T).view(-1, 1) - torch.arange(S)  # (T, S)
        h = torch.arange(H).view(-1, 1, 1)
        slopes = 2 ** (-8 * (h + 1) / H)  # (H, 1, 1)
        mistakes = {
            "the sign is wrong: far keys should lose.": -expected,
            "a distance is never negative: take its absolute value.": -slopes * signed,
            "queries and keys both count from 0; you let them end at one place.": -slopes * (signed + S - T).abs(),
            "keys after the query count as near; their distance counts.": -slopes * signed.clamp(min=0),
            "the first slope is 2^(-8/H), not 1.": -(2 ** (-8 * h / H)) * signed.abs(),
            "the slopes are 1/2, 1/4, … only for 8 heads.": -(0.5 ** (h + 1)) * signed.abs(),
            "the slopes are the wrong way round: head 0 has the largest.": expected.flip(0),
            "the axis of the heads should come first, (H, T, S).": expected.permute(1, 2, 0),
            "this is slope times the key's place. It does the same only under a causal mask; here a key may come after its query.": (
                slopes * torch.arange(S)
            ).expand(H, T, S),
            "this goes by the key's place alone; it is the distance that counts.": (-slopes * torch.arange(S)).expand(H, T, S),
            "the exponents of the slopes are negative.": -(2 ** (8 * (h + 1) / H)) * signed.abs(),
            "this is the distance; multiply it by each head's slope.": -signed.abs().expand(H, T, S),
        }
        yield Case((H, T, S), expected, mistakes, f"the bias of {H} heads")


def _table(t: Tensor, exponents: Tensor, D: int, sine_first: bool = True) -> Tensor:
    """A table (length, D) from positions (length, 1) and one exponent for each pair."""
    angles = t * 10_000.0**-exponents  # (length, pairs)
    waves = [angles.sin(), angles.cos()]
    return torch.stack(waves if sine_first else waves[::-1], dim=-1).flatten(1)[:, :D]


def _refuse_fast_hands(got: object, expected: Tensor, wrong: Tensor) -> None:
    """Name the exponent without its minus; its angles are so large that floats differ in them."""
    if isinstance(got, Tensor) and got.shape == wrong.shape:
        nearly = [(got.double() - other).abs().max() < 0.03 for other in (wrong, expected)]
        if nearly == [True, False]:
            raise FaultError("the exponent is negative: each hand turns more slowly than the one before it.")


def _attend(x: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    """Let tokens (T, D) attend to one another; a bias (T, T) is added to the scores."""
    return (x @ x.T / x.shape[-1] ** 0.5 + bias).softmax(dim=-1) @ x


def _gaps(x: Tensor) -> Tensor:
    """How many places a key stands before its query, (T, T)."""
    places = torch.arange(len(x))
    return places.unsqueeze(-1) - places


def _turn(x: Tensor, places: Tensor, exponents: Tensor, sign: int = 1, swap: bool = False) -> Tensor:
    """Rotate rows (..., T, D_head), with an exponent for each pair and mistakes on demand."""
    angles = places.unsqueeze(-1) * 10_000.0**-exponents  # (T, D_head / 2)
    cos, sin = angles.cos(), angles.sin()
    if swap:
        cos, sin = sin, cos
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + sign * second * cos], dim=-1)


def _no_pairs(t: Tensor, D: int) -> Tensor:
    angles = t * 10_000.0 ** -(torch.arange(D) / D)  # (length, D)
    return torch.where(torch.arange(D) % 2 == 0, angles.sin(), angles.cos())


def _shift(n: int, D: int, power: float = 1, swap: bool = False) -> Tensor:
    """A block [[cos, sin], [-sin, cos]] for each pair, on the diagonal."""
    angles = n * 10_000.0 ** -(power * torch.arange(0, D, 2) / D)
    cos, sin = (angles.sin(), angles.cos()) if swap else (angles.cos(), angles.sin())
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).view(-1, 2, 2)
    return torch.block_diag(*blocks)


def _cosines(positions: Tensor) -> Tensor:
    """The cosine for each of 8 dimensions, (T, 8); x turned back is 2 x cos minus x turned."""
    angles = positions.view(-1, 1) * 10_000.0 ** -(torch.arange(0, 8, 2) / 8)  # (T, 4)
    return torch.cat([angles, angles], dim=-1).cos()

"""Checks of chapter 18: the best tokens, a new word. V tokens in the vocabulary."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, exercise, normal

Pairs = Sequence[tuple[str, str]]


@exercise
def top_p() -> Cases:
    """Check ``function(probabilities, p)``: the fewest best tokens with ``p`` together.

    ``probabilities`` is (V,) and sums to one. The result is (V,) and sums to one, with 0 for the
    tokens that are left out.
    """
    draw = normal(18)
    cases = [(torch.tensor([0.1, 0.25, 0.05, 0.3, 0.12, 0.18]), 0.5)]
    cases += [(draw(V).softmax(-1), p) for V, p in [(7, 0.8), (5, 0.95), (6, 0.05)]]
    for given, p in cases:  # in the last, the best token alone is enough
        ordered, places = given.sort(descending=True)
        total = ordered.cumsum(0)
        stays, least = total - ordered < p, 1 - total < p  # in the order of the best
        longer = torch.cat([stays[:1], stays[:-1]])
        back = torch.argsort(places)  # to the order of the ids
        mistakes = {
            "the token that passes p is missing: keep it.": _shared(given, (total <= p)[back]),
            "the mask is in the order of the probabilities; turn it back.": _shared(given, stays),
            "these are sorted; every token keeps its place.": _shared(ordered, stays),
            "what is left does not sum to one: divide by its sum.": given * stays[back],
            "one token too many: stop once the sum is at least p.": _shared(given, longer[back]),
            "a softmax of probabilities is flatter; divide what is left by its sum.": given.masked_fill(~stays[back], -torch.inf).softmax(
                -1
            ),
            "the least probable tokens are kept; keep the best.": _shared(given, least[back]),
            "each token is compared with p; p is what those that stay have together.": _shared(given, given >= p),
            "nothing is left out.": given,
        }
        yield Case((given, p), _shared(given, stays[back]), mistakes, f"for p = {p:g}, the result")


@exercise
def merged_word() -> Cases:
    """Check ``function(word, merges)``: cut a word as byte pairs are, with what was learnt.

    ``word`` is a string and ``merges`` a list of pairs of strings, in the order in which they were
    learnt. The result is a list of strings.
    """
    first = [("b", "c"), ("a", "b"), ("bc", "d"), ("ab", "c")]
    cases: list[tuple[str, Pairs]] = [
        ("abcd", first),
        ("abc", [("b", "c"), ("a", "bc"), ("a", "b")]),
        ("aaaaa", [("a", "a"), ("aa", "a"), ("aa", "aa")]),
        ("xabcabx", first),
        ("cana", [("a", "n"), ("c", "a"), ("n", "a"), ("c", "an")]),
        ("abc", [("a", "b"), ("b", "c")]),
    ]
    ways: dict[str, Callable[[str, Pairs], list[str]]] = {
        "the first pair from the left is merged; the one that was learnt first comes first.": partial(_merged, order=lambda _: 0),
        "each pair is merged as soon as it is met, from the left; the one that was learnt first comes first.": _as_met,
        "the pair that was learnt last comes first; turn it round.": partial(_merged, order=lambda rank: -rank),
        "the longest pieces are taken from the left, as WordPiece does; byte pairs are merged in "
        "the order in which they were learnt.": _longest,
        "one merge is not enough: go on until no pair of the list is left.": partial(_merged, most=1),
        "nothing is merged.": lambda word, merges: list(word),
    }
    for word, merges in cases:
        wrong = {said: way(word, merges) for said, way in ways.items()}
        form = "{what} becomes {got}; expected {right}."
        yield Case((word, list(merges)), _merged(word, merges), wrong, repr(word), form=form, ask=_pieces)


def _pieces(function: Code, word: str, merges: Pairs) -> list[str]:
    pieces = call(function, word, merges)
    if not isinstance(pieces, list | tuple) or not all(isinstance(p, str) for p in pieces):
        raise FaultError("return a list of strings, the pieces of the word.")
    if (together := "".join(pieces)) != word:
        said = "a letter is used twice: after a pair, go on after it" if len(together) > len(word) else "letters are lost"
        raise FaultError(f"{said}; the pieces of {word!r} give {together!r} together.")
    return list(pieces)


def _shared(probabilities: Tensor, keep: Tensor) -> Tensor:
    """Let what is kept sum to one again."""
    return probabilities * keep / (probabilities * keep).sum()


def _merged(word: str, merges: Pairs, order: Callable[[int], int] = lambda rank: rank, most: int = 99) -> list[str]:
    """Merge the pair whose rank comes first in this order, from left to right, again and again."""
    pieces = list(word)
    while most and (known := [pair for pair in pairwise(pieces) if pair in merges]):
        most -= 1
        best = min(known, key=lambda pair: order(merges.index(pair)))
        joined: list[str] = []
        for piece in pieces:
            if joined and (joined[-1], piece) == best:
                joined[-1] += piece
            else:
                joined.append(piece)
        pieces = joined
    return pieces


def _as_met(word: str, merges: Pairs) -> list[str]:
    """Merge each letter, from left to right, with what stands before it if the pair is known."""
    pieces: list[str] = []
    for letter in word:
        known = bool(pieces) and (pieces[-1], letter) in merges
        pieces = [*pieces[:-1], pieces[-1] + letter] if known else [*pieces, letter]
    return pieces


def _longest(word: str, merges: Pairs) -> list[str]:
    """Take the longest piece with which the rest begins, as WordPiece does."""
    known = {first + second for first, second in merges}
    size = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
    return [word[:size], *_longest(word[size:], merges)] if word else []

"""Checks of chapter 18: the best tokens, merges, perplexity, induction, texts in one row.

Shapes: B texts, T tokens of each, V tokens in the vocabulary, H heads.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, check, exercise, normal
from exercises.mistakes import turned

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
            "a softmax of probabilities is flatter; divide what is left by its sum.": (
                given.masked_fill(~stays[back], -torch.inf).softmax(-1)
            ),
            "the least probable tokens are kept; keep the best.": _shared(given, least[back]),
            "each token is compared with p; p is what those that stay have together.": _shared(given, given >= p),
            "nothing is left out.": given,
        }
        yield Case((given, p), _shared(given, stays[back]), mistakes, f"for p = {p:g}, the result")


@check
def merged_word(function: Code) -> None:
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
    got = [call(function, word, list(merges)) for word, merges in cases]
    for (word, _), pieces in zip(cases, got, strict=True):
        if not isinstance(pieces, list | tuple) or not all(isinstance(p, str) for p in pieces):
            raise FaultError("return a list of strings, the pieces of the word.")
        if "".join(pieces) != word:
            said = "a letter is used twice: after a pair, go on after it"
            said = said if len("".join(pieces)) > len(word) else "letters are lost"
            raise FaultError(f"{said}; the pieces of {word!r} give {''.join(pieces)!r} together.")
    ways: dict[str, Callable[[str, Pairs], list[str]]] = {
        "the first pair from the left is merged; the one that was learnt first comes first.": (
            lambda word, merges: _merged(word, merges, lambda _: 0)
        ),
        "each pair is merged as soon as it is met, from the left; the one that was learnt first comes first.": _as_met,
        "the pair that was learnt last comes first; turn it round.": (lambda word, merges: _merged(word, merges, lambda rank: -rank)),
        "the longest pieces are taken from the left, as WordPiece does; byte pairs are merged in "
        "the order in which they were learnt.": _longest,
        "one merge is not enough: go on until no pair of the list is left.": (lambda word, merges: _merged(word, merges, most=1)),
        "nothing is merged.": lambda word, merges: list(word),
    }
    right = [_merged(word, merges) for word, merges in cases]
    for said, way in ways.items():
        if [list(pieces) for pieces in got] == [way(word, merges) for word, merges in cases]:
            raise FaultError(said)
    for (word, _), pieces, expected in zip(cases, got, right, strict=True):
        if list(pieces) != expected:
            raise FaultError(f"{word!r} becomes {list(pieces)}; expected {expected}.")


@exercise
def perplexity() -> Cases:
    """Check ``function(logits, ids)``: e to the mean loss of the token after each.

    ``logits`` is (B, T, V), those of the token after each of ``ids``, (B, T) int64. The result is a
    number, or a tensor of one.
    """
    generator = torch.Generator().manual_seed(18)
    for B, T, V in [(2, 5, 6), (3, 4, 9)]:
        logits = 2 * torch.randn(B, T, V, generator=generator)
        ids = torch.randint(V, (B, T), generator=generator)
        log_p = logits.log_softmax(-1)

        def of(log_p: Tensor, following: Tensor) -> Tensor:
            return -log_p.gather(-1, following.unsqueeze(-1)).squeeze(-1)  # (B, T')

        losses = of(log_p[:, :-1], ids[:, 1:])
        mean = losses.mean()
        mistakes = {
            "nothing is shifted: logits t belong to token t + 1.": of(log_p, ids).mean().exp(),
            "shifted the wrong way: logits t belong to token t + 1.": (of(log_p[:, 1:], ids[:, :-1]).mean().exp()),
            "the last token is asked for the first; nobody knows what follows it.": (of(log_p, ids.roll(-1, dims=1)).mean().exp()),
            "each token's perplexity is averaged; average the losses first.": losses.exp().mean(),
            "each text's perplexity is averaged; average all losses first.": (losses.mean(1).exp().mean()),
            "this is the mean loss, in nats; perplexity is its exponential.": mean,
            "the loss is in nats, so it is e to the mean loss, not 2.": 2**mean,
            "the exponent is the sum of the losses; take their mean.": losses.sum().exp(),
            "the log_softmax is missing.": of(logits[:, :-1], ids[:, 1:]).mean().exp(),
            "the probabilities are averaged; average their logarithms.": 1 / (-losses).exp().mean(),
            "the sign is wrong: a loss is minus a log-probability.": (-mean).exp(),
        }
        what, form = f"for {B} texts, the perplexity", "{what} is {got:.4g} instead of {right:.4g}."
        yield Case((logits, ids), float(mean.exp()), mistakes, what, form=form, atol=1e-3)


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


@exercise
def row_mask() -> Cases:
    """Check ``function(ids, end)``: who may see whom in a row of several texts.

    ``ids`` is (T,) int64; each text is closed by the token ``end``, which belongs to it. The result
    is (T, T) bool, True where query t may see key j: not after it, and of the same text.
    """
    for row, end in [([5, 3, 0, 4, 2, 6, 0, 1], 0), ([7, 7, 9, 9, 1, 2, 3, 9], 9), ([4, 1, 2], 0)]:
        ids = torch.tensor(row)
        ends = (ids == end).long()
        text, late = ends.cumsum(0) - ends, ends.cumsum(0)  # (T,): the number of its text
        causal = torch.ones(len(row), len(row), dtype=torch.bool).tril()
        same, split = (n.unsqueeze(1) == n for n in (text, late))
        right = causal & same
        hidden = right & (ids != end)
        mistakes = {
            "a text leaks into the next one: the causal mask alone lets a token see the texts before its own.": causal,
            "later tokens leak: within its text, a token sees itself and those before it.": same,
            "the end of a text goes with the next one; it belongs to its own.": causal & split,
            "the end of a text stands alone; it belongs to the text.": (right & ((ends.unsqueeze(1) == ends) | torch.eye(len(row)).bool())),
            "the end of a text is hidden; it belongs to the text.": hidden,
            "the end of a text is left out; it belongs to it.": hidden & hidden.diagonal()[:, None],
            "a token does not see itself; it may.": right.tril(-1),
            "this is transposed: row t is what query t may see.": right.T,
            turned("allowed"): ~right,
        }
        yield Case((ids, end), right, mistakes, f"the mask of {row}")


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

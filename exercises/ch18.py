"""Check of chapter 18: the best tokens. V tokens in the vocabulary."""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, exercise, normal


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


def _shared(probabilities: Tensor, keep: Tensor) -> Tensor:
    """Let what is kept sum to one again."""
    return probabilities * keep / (probabilities * keep).sum()

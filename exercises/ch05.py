"""Checks of the masks chapter. In every mask that a reader makes, True means allowed.

Shapes: B sequences, T queries, S keys.
"""

from typing import Any

import torch

from exercises.exercise import Case, Cases, as_number, check, exercise, require_parts
from exercises.mistakes import turned

TURNED = turned("allowed")


@exercise
def causal_padding_mask() -> Cases:
    """Check ``function(lengths, T)``: (B,) int64 and T to a (B, T, T) bool, True = may attend.

    The last ``lengths[b]`` tokens of text ``b`` are words; no query sees a key that lies ahead.
    """
    for lengths, T in [([1, 3, 2], 3), ([2, 4, 1, 3], 4), ([4, 2], 5)]:
        place, count = torch.arange(T), torch.tensor(lengths).unsqueeze(-1)
        words, causal = place >= T - count, torch.ones(T, T, dtype=torch.bool).tril()  # (B, T), (T, T)
        keys, too_long, too_short = (x.unsqueeze(1) for x in (words, place >= T - count - 1, place > T - count))
        right = torch.stack([row & causal for row in words])
        wrong = {
            TURNED: ~right,
            "only the padding is turned round: True means may attend.": ~keys & causal,
            "only the causal part is turned round: True means may attend.": keys & ~causal,
            "your mask allows what one of the two allows; both have to allow it.": keys | causal,
            "your padding blocks its queries; it has to block its keys.": words.unsqueeze(2) & causal,
            "your mask has no causal part, and one axis too few.": words,
            "your mask has no causal part.": keys.expand_as(right),
            "your mask has no padding part, and no axis of texts.": causal,
            "your mask has no padding part.": causal.expand_as(right),
            "your mask allows the later keys instead of the earlier ones.": keys & causal.mT,
            "your mask keeps a query from its own key.": keys & causal.tril(-1),
            "your mask lets a query see one key too far ahead.": keys & ~causal.mT.triu(2),
            "your mask allows one key too many: keys count from 0.": too_long & causal,
            "your mask blocks the first word: keys count from 0.": too_short & causal,
            "your mask allows the first keys; the words stand last.": keys.flip(-1) & causal,
        }
        if len(lengths) == T:  # they broadcast, text by query
            wrong["your lengths lack the axis of the queries: (B, 1, T), then &."] = words & causal
        yield Case((torch.tensor(lengths), T), right, wrong, f"the mask for the lengths {lengths}")


@exercise
def causal_mask() -> Cases:
    """Check ``function(T, S)``: numbers of queries and keys, T <= S, to a (T, S) bool.

    The queries are the last of the S tokens: query ``t`` may attend to keys ``0 … S - T + t``.
    """
    for T, S in [(3, 5), (1, 4), (4, 4)]:
        right, ones = torch.tensor([[s <= S - T + t for s in range(S)] for t in range(T)]), torch.ones(T, S, dtype=torch.bool)
        wrong = {
            TURNED: ~right,
            "your mask starts at key 0, as tril and is_causal do; the queries stand last.": ones.tril(),
            "your mask allows the later keys instead of the earlier ones.": ones.triu(S - T),
            "your mask keeps a query from its own key.": ones.tril(S - T - 1),
            "your mask lets a query see one key too far ahead.": ones.tril(S - T + 1),
            "your shift has the wrong sign: it is S - T, not T - S.": ones.tril(T - S),
            "the axes are swapped: (S, T) instead of (T, S).": right.T,
            "your mask allows every key, also those that lie ahead.": ones,
            "your mask has a row for each key; there are T queries, the last ones.": torch.ones(S, S, dtype=torch.bool).tril(),
        }
        yield Case((T, S), right, wrong, f"the mask for {T} queries and {S} keys")


@check
def unmasked_training(predicted: Any) -> dict[str, bool]:
    """Check two numbers of 500 answers, for a model trained without a mask on 0 to 30 [PAD].

    The first is how many change with 30 [PAD], the second how many with 1,343. (Seeds 0 to 7 give
    3 to 17 and 149 to 346. None at all could be: a small weight need not change an argmax.)
    """
    require_parts(predicted, 2, "two numbers: the answers that change with 30 [PAD], and with 1,343")
    few, many = (as_number(n, f"the number for {copies} [PAD]") for n, copies in zip(predicted, ("30", "1,343"), strict=True))
    return {
        "these are numbers of texts, from 0 to 500.": not (0 <= few <= 500 and 0 <= many <= 500),  # nor is NaN
        "with 30 [PAD]: the model was trained with as many, and learns to score them low.": few > 30,
        "with 1,343 [PAD]: a score that is low enough for 30 copies is not low enough for 45 times as many.": many <= 100,
        "with 1,343 [PAD]: nearly all is too many; what is in the class of [PAD] anyway stays there.": many > 450,
    }

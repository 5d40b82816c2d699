"""A finding of the text, asserted: a sentence with a number cannot go stale unnoticed.

A chapter states a finding in words. The cell below it, tagged ``claim`` and not shown on the page,
asserts it with a margin that another machine, another build of torch or a larger test set does not
cross. While the book is made (``make notebooks``) a claim that fails stops the chapter, and the
message names the sentence. For a reader, whose machine or data may be others, it is a remark.
"""

import math
import os
from typing import Any

from utils.data.corpus import Corpus

STRICT = "STRICT_CLAIMS"  # the environment variable that makes a claim stop the chapter

__all__ = ["ClaimError", "claim"]


class ClaimError(AssertionError):
    """A sentence of the text does not hold in this run."""


def claim(
    found: Any,
    at_least: float | None = None,
    at_most: float | None = None,
    *,
    on: Corpus | None = None,
) -> None:
    """Assert a finding that stands above in the text.

    Parameters
    ----------
    found : the number that was found, with its bounds; or, without bounds, what must be true
    at_least, at_most : float, bounds that the number keeps; one of them or both
    on : the corpus that the finding is about, where there is one, such as ``NEWS``; the claim is
        passed over where something else stands in for it

    Raises
    ------
    ClaimError
        if the claim fails while the book is made; for a reader a remark is printed instead
    """
    if on is not None and not on.is_loaded:
        return
    if at_least is None and at_most is None:
        holds, what = bool(found), "in this run it is not so"
    else:
        low = -math.inf if at_least is None else at_least
        high = math.inf if at_most is None else at_most
        number = found.item() if hasattr(found, "item") else float(found)
        holds = low <= number <= high
        what = f"this run found {number:.4g}, outside of {low:g} to {high:g}"
    if holds:
        return
    if os.environ.get(STRICT):
        raise ClaimError(what)
    print(
        f"The text above says otherwise: {what}. Machine, build of torch or data differ from ours."
    )

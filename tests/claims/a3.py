"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "it falls from 0.94 to 0.90 without the cheapest four, and to 0.81 without the costliest"
):
    claim(runs["all eight"].mean(), 0.935, 0.945, on=NEWS)
    claim(runs["cheapest"].mean(), 0.895, 0.905, on=NEWS)
    claim(runs["costliest"].mean(), 0.805, 0.815, on=NEWS)
    claim(interval(runs["all eight"] - runs["cheapest"])[1], at_least=0.02, on=NEWS)

with says("it hardly matters which four went, nor whether a trained head was left at all"):
    later = [runs[f"{name}, later"].mean() for name in names]
    claim(max(later) - min(later), at_most=0.02, on=NEWS)
    claim(runs["fresh"].mean(), at_most=0.5, on=NEWS)
    claim(len(runs) == 8)

with says("all eight, trained for thirty, have"):
    claim(runs["built with four"].mean(), at_least=max(later) - 0.01, on=NEWS)
    claim(runs["all eight, later"].mean(), at_least=max(later), on=NEWS)

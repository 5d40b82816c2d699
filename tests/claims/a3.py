"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("it falls from 0.94 to 0.90 without the cheapest four, and to 0.81 without the dearest"):
    claim(runs["all eight"].mean(), 0.935, 0.945, on=NEWS)
    claim(runs["cheapest"].mean(), 0.895, 0.905, on=NEWS)
    claim(runs["dearest"].mean(), 0.805, 0.815, on=NEWS)
    claim(interval(runs["all eight"] - runs["cheapest"])[1], at_least=0.02, on=NEWS)

with says("accuracy is 0.94 without the cheapest and 0.94 without the dearest"):
    claim(runs["cheapest, later"].mean(), 0.935, 0.945, on=NEWS)
    claim(runs["dearest, later"].mean(), 0.935, 0.945, on=NEWS)
    claim(len(runs) == 8)

with says("A model that is built with four heads has 0.94 after twenty epochs"):
    claim(runs["built with four"].mean(), 0.935, 0.945, on=NEWS)

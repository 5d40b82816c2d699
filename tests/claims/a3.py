"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("accuracy falls from 0.94 to 0.90; models built with four are ahead of that by"):
    claim(runs["any 0"].mean(), 0.935, 0.945, on=NEWS)
    claim(runs["cheapest 4"].mean(), 0.895, 0.905, on=NEWS)
    claim(interval(runs["built 4"] - runs["cheapest 4"])[1], at_least=0.01, on=NEWS)

with says("Even a model that was built with a single head has 0.937."):
    claim(runs["built 7"].mean(), 0.9365, 0.9375, on=NEWS)

with says("accuracy rises from 0.90 to 0.94, by"):
    claim(again["cheapest"].mean(), 0.895, 0.905, on=NEWS)
    claim(again["cheapest, later"].mean(), 0.935, 0.945, on=NEWS)
    claim(interval(won)[1], at_least=0.02, on=NEWS)
    lost = again["none"] - again["cheapest"]
    claim(won.mean() / lost.mean(), at_least=0.5, on=NEWS)  # "most of what the cut cost"

with says("Four fresh heads have 0.89 after as many."):
    claim(again["fresh"].mean(), 0.885, 0.895, on=NEWS)

with says("All eight, trained on for as long, have 0.95, about one point more."):
    claim(again["none, later"].mean(), 0.945, 0.955, on=NEWS)
    claim((again["none, later"] - again["cheapest, later"]).mean(), 0.005, 0.015, on=NEWS)

with says("On average 0.81 is left without the dearest four. Ten epochs later it is 0.94"):
    claim(again["dearest"].mean(), 0.805, 0.815, on=NEWS)
    claim(again["dearest, later"].mean(), 0.935, 0.945, on=NEWS)
    claim(again["dearest, later"].min(), at_least=0.91, on=NEWS)
    claim(again["dearest, later"].max(), at_most=0.95, on=NEWS)

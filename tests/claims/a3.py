"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("Guessing finds 0.25 of the passages; four heads find 0.89."):
    claim(found(model), 0.885, 0.895, on=NEWS)

with says("Head 2 alone finds 0.83, nearly as much as all four"):
    by_itself = [found(keep_one(model, h)) for h in range(4)]
    claim(by_itself[2], 0.825, 0.835, on=NEWS)
    claim(max(by_itself[1], by_itself[3]), 0.5, 0.6, on=NEWS)
    claim(max(looks["head 1"], looks["head 3"]), at_most=0.2, on=NEWS)

with says("for 300 more steps, a fifth of the training"):
    claim(300 / 1500 == 1 / 5)

with says("finds 0.83 to 0.85 of the passages in each of eight models; all four find 0.88 to"):
    claim(runs["best"].min(), 0.825, 0.845)
    claim(runs["best"].max(), 0.825, 0.855)
    claim(runs["all four"].min(), 0.875, 0.895)
    claim(len(runs) == 8)

with says("One head is nearly enough, if it looks at the passage asked for."):
    most = weight.argmax(axis=1)
    claim(weight.max(axis=1).min(), at_least=0.3)
    claim(alone[weight > 0.33].min(), at_least=0.8)
    claim((alone[range(8), most] == alone.max(axis=1)).all())

with says(
    "Heads that look away (left) are worth less, and those with an even share can only guess."
):
    claim(alone[weight < 0.2].max(), at_most=alone.max(axis=1).min())
    claim(alone[abs(weight - 0.25) < 0.02].max(), at_most=0.27)

with says("It finds 0.84 to 0.87, more than the pruned one in each of eight seeds."):
    claim(ones["one head"].min(), 0.835, 0.845)
    claim(ones["one head"].max(), 0.865, 0.875)
    claim((ones["one head"] > runs["best"]).all())
    claim(len(ones) == 8)

with says("the worst head, or a fresh one, comes within 0.05 of the best"):
    ends = runs[["best, later", "worst, later", "fresh, later"]]
    claim(ends.max(axis=None) - ends.min(axis=None), at_most=0.05)
    claim(runs["fresh"].max(), at_most=0.27)

with says("after 300 steps, models that keep nothing else find 0.62 to 0.86"):
    claim(parts["embedding"].min(), 0.615, 0.625)
    claim(parts["embedding"].max(), 0.855, 0.865)
    claim(len(parts) == 8)
with says("those that keep only the classifier guess, 0.24 to 0.26, in eight of eight."):
    claim(parts["classifier"].min(), 0.235, 0.245)
    claim(parts["classifier"].max(), 0.255, 0.265)

with says("a model that is all new still guesses"):
    claim(runs["all new, later"].max(), at_most=0.28)

"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.models import recorded_weights
from utils.news import NEWS

with says("Guessing finds 0.25 of the passages; four heads find 0.89."):
    claim(found(model), 0.885, 0.895, on=NEWS)

with says("Head 2 alone finds 0.83, nearly as much as all four."):
    by_itself = [found(keep_one(model, h)) for h in range(4)]
    claim(by_itself[2], 0.825, 0.835, on=NEWS)
    claim(min(by_itself[1], by_itself[3]), 0.5, 0.6, on=NEWS)

with says("the passage that gets the least is the answer."):
    ids, places = test_pages
    with torch.no_grad(), recorded_weights(model) as records:
        model(ids)
    each = records[0][0][:, :, 0, 1:].unflatten(-1, (4, 20)).sum(dim=-1)  # (N, H, 4)
    least = (each.argmin(dim=-1) == places.unsqueeze(1)).double().mean(dim=0)  # (H,)
    claim(least[[1, 3]].min(), at_least=0.5, on=NEWS)

with says("finds 0.83 to 0.85 of the passages in each of eight models; all four find 0.88 to"):
    claim(runs["best"].max() < runs["all four"].min())
    claim(len(runs) == 8)
    parts_of = {"best": runs, "all four": runs, "worst": later, "one head": ones}
    parts_of |= {"fresh, later": later, "best, later": later}
    ends = {name: (of[name].min(), of[name].max()) for name, of in parts_of.items()}
    told = [0.83, 0.85, 0.88, 0.89, 0.25, 0.52, 0.84, 0.87, 0.83, 0.86, 0.86, 0.87]
    claim([f"{end:.2f}" for pair in ends.values() for end in pair] == [f"{x:.2f}" for x in told])

with says("One head is nearly enough, if it looks at the passage asked for."):
    claim(alone[weight > 0.33].min(), at_least=0.8)
    claim((alone[range(8), weight.argmax(axis=1)] == alone.max(axis=1)).all())

with says("tell by what is missing; those with an even share can only guess."):
    claim(alone[weight < 0.2].max(), at_most=alone.max(axis=1).min())
    claim(alone[abs(weight - 0.25) < 0.02].max(), at_most=0.27)

with says("It finds 0.84 to 0.87, more than the pruned one in each of eight seeds."):
    claim((ones["one head"] > runs["best"]).all())

with says(
    "After 300 more steps the worst head, and one that began with random weights, come close"
):
    ends = later[["best, later", "worst, later", "fresh, later"]]
    claim(ends.max(axis=None) - ends.min(axis=None), at_most=0.05)
    claim(later["all new, later"].max(), at_most=0.28)

with says("seven of eight new models find more than half of the passages in 300 steps"):
    claim((rest[parts] > 0.5).sum().tolist() == [7, 6, 0])
    claim(rest["classifier"].max(), at_most=0.27)

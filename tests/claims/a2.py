"""What chapter A2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("finds two of the five houses, and the additive score finds all five"):
    claim(right["dot"] == [2] * 8)
    claim(right["additive"] == [5] * 8)

with says("| difference | 0.23 | 0.96 | 1.52 | 0.96 | 0.23 |"):
    hill = additive_scores(query, key, w_query, w_key, torch.tensor([1.0, -1.0]))
    by_hand = torch.tensor([0.23, 0.96, 1.52, 0.96, 0.23])
    claim((hill[2] - by_hand).abs().max(), at_most=0.006)

with says("so $D_{\\text{head}} = 2$ is enough, without any training"):
    claim(hill.argmax(dim=1).tolist() == [0, 1, 2, 3, 4])

with says("the additive score as written keeps 31 times the memory of the dot product"):
    kept = {name: kept_bytes(way) for name, way in ways.items()}
    claim(kept["additive"] / kept["dot"], 30.5, 31.5)

with says("On one core it takes dozens of times as long, with the gradient too.", timed=True):
    for least, seconds in zip((10, 3), times.values(), strict=True):
        claim((seconds["additive"] / seconds["dot"]).median(), at_least=least)

with says("Computed twice, it keeps little, as any score does that is computed twice", timed=True):
    claim(kept["computed twice"] < kept["dot"])
    claim(again, 1.05, 2.5)

with says("the same sum still takes several times as long as the dot product", timed=True):
    for seconds in times.values():
        claim((seconds["sum"] / seconds["additive"]).median(), 0.1, 0.9)
        claim((seconds["sum"] / seconds["dot"]).median(), at_least=2)

with says("With its square beside it, a key's number is enough for the dot product"):
    claim(scores.argmax(dim=1).tolist() == [0, 1, 2, 3, 4])
    claim(min(learnt_right), 5)

with says("gets $e / (e + 999\\,e^{-1})$, less than one hundredth"):
    claim(torch.tensor([1.0] + 999 * [-1.0]).softmax(dim=0)[0], 0.007, 0.01)

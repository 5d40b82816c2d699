"""What chapter 8 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("100 tokens, 5 % of an article, get 21 to 29 % of the weight in our eight models"):
    trained = [on_telling(scores) for scores in lists]
    claim(on_telling(0 * lists[0]), 0.03, 0.07, on=NEWS)
    claim(min(trained), 0.15, 0.27, on=NEWS)
    claim(max(trained), 0.23, 0.38, on=NEWS)
with says("and 4 to 5 % before training."):
    untrained = [on_telling(scores) for scores in fresh]
    claim(min(untrained), 0.03, 0.06, on=NEWS)
    claim(max(untrained), 0.03, 0.07, on=NEWS)
with says("the largest weight is 0.13 in whole articles and 0.42 in their first 16 tokens."):
    claim(largest(ids), 0.08, 0.2, on=NEWS)
    claim(largest(ids[:, :16]), 0.33, 0.5, on=NEWS)
with says("In a sentence that we wrote full of telling words it is 0.54."):
    claim(largest(ours), 0.43, 0.65, on=NEWS)
    claim(largest(ours) > largest(ids[:, :16]), on=NEWS)

with says("Some say sport, the others business."):
    claim({name[3:] for name, _, _ in of_bank} == {"sport", "business"}, on=NEWS)
with says("Bank is heavy in all eight, 0.05 to 0.11 where an even share is 0.01."):
    claim(min(weight for _, weight, _ in of_bank), 0.03, 0.08, on=NEWS)
    claim(max(weight for _, weight, _ in of_bank), 0.08, 0.16, on=NEWS)
with says("In some models the answer rests on it; in others it speaks against the answer."):
    claim(of_bank[0][2], 0.6, 1, on=NEWS)
    claim(of_bank[-1][2], -0.9, -0.1, on=NEWS)

rank, share = tested.mean(axis=(0, 2)).T
with says("untrained models have a rank correlation of 0.60, trained ones 0.69."):
    claim(rank[0], 0.62, 0.76, on=NEWS)
    claim(rank[1], 0.53, 0.68, on=NEWS)
with says("the five heaviest tokens make 23 % of all effects, and 0.09 less with permuted values"):
    claim(share[0], 0.16, 0.3, on=NEWS)
    claim(interval(lead)[0], 0.05, 0.15, on=NEWS)
with says("(95 % interval 0.06 to 0.12)"):
    claim(interval(lead)[1] > 0.01, on=NEWS)

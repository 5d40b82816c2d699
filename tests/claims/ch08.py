"""What chapter 8 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.heads import recorded_weights

with says("They are the weights of the layer, up to rounding."):
    with torch.no_grad(), recorded_weights(models[0]) as layers:
        models[0](ids[:16])
    off = layers[0][0][:, :, 0] - weights_of(lists[0], ids[:16])
    claim(off.abs().max(), 0, 1e-5)
with says("They put 95 % of these into the right class."):
    with torch.no_grad():
        right = [(m(ids).argmax(dim=-1) == labels).double().mean() for m in models]
    claim(torch.stack(right).mean(), 0.925, 0.975, on=NEWS)

with says("100 tokens, 5 % of an article, get 21 to 29 % of the weight in our eight models"):
    trained = [on_telling(scores) for scores in lists]
    claim(on_telling(0 * lists[0]), 0.03, 0.07, on=NEWS)
    claim(min(trained), 0.15, 0.27, on=NEWS)
    claim(max(trained), 0.23, 0.38, on=NEWS)
with says("and 4 to 5 % before training."):
    untrained = [on_telling(scores) for scores in fresh]
    claim(min(untrained), 0.03, 0.06, on=NEWS)
    claim(max(untrained), 0.03, 0.07, on=NEWS)
with says("the largest weight is 0.13 in whole articles and 0.45 in their first 12 tokens."):
    claim(largest(ids), 0.08, 0.2, on=NEWS)
    claim(largest(ids[:, : ours.shape[1]]), 0.33, 0.55, on=NEWS)
with says("In a sentence that we wrote full of telling words it is 0.57."):
    claim(largest(ours), 0.43, 0.7, on=NEWS)
    claim(largest(ours) - largest(ids[:, : ours.shape[1]]), 0.05, on=NEWS)

with says("Bank is the heaviest word."):
    claim(club.split()[by_word.argmax()] == "bank", on=NEWS)
with says("some say sport, the others business."):
    claim({name[3:] for name, _, _ in of_bank} == {"sport", "business"}, on=NEWS)
with says("It is heavy whatever the answer is: 0.05 to 0.11, where an even share is 0.01."):
    claim(min(weight for _, weight, _ in of_bank), 0.03, 0.08, on=NEWS)
    claim(max(weight for _, weight, _ in of_bank), 0.08, 0.16, on=NEWS)
    claim(1 / club_ids.shape[1], 0.005, 0.015, on=NEWS)
with says("In a model that says business the answer rests on it; in one that says sport it"):
    for name, _, effect_of in of_bank:
        claim(effect_of > 0.3 if "business" in name else effect_of < 0, on=NEWS)

rank, share = tested.mean(axis=(0, 2)).T
with says("untrained models get a rank correlation of 0.60 where trained ones get 0.69"):
    claim(rank[0], 0.62, 0.76, on=NEWS)
    claim(rank[1], 0.53, 0.68, on=NEWS)
with says("the five heaviest make 23 % of all effects, and 14 % with permuted values"):
    claim(share[0], 0.16, 0.3, on=NEWS)
    claim(share[2], 0.08, 0.19, on=NEWS)
with says("a lead of 0.09 (95 % interval 0.06 to 0.12)."):
    claim(interval(lead)[0], 0.05, 0.15, on=NEWS)
    claim(interval(lead)[1] > 0.01, on=NEWS)
with says("Times 4, untrained models have 0.86, more than the trained ones."):
    claim(found["× 4"][0], 0.78, 0.92, on=NEWS)
    claim(found["× 4"][0] > found["trained"][0], on=NEWS)
with says("The length follows the effects better than the weight, 0.73 against 0.69."):
    claim(found["trained"][1] - found["trained"][0], 0.01, 0.08, on=NEWS)
with says("But so it does in untrained models, 0.47 against 0.41"):
    claim(found["untrained"][1] - found["untrained"][0], 0.02, 0.12, on=NEWS)

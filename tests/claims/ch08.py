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
with says(
    "Of the first 100 tokens of a list only 16 are telling on average, where chance gives 10"
):
    first = [torch.isin(s.topk(100).indices, telling).sum(dim=-1) for s in lists]
    claim(torch.stack(first).double().mean(), 11, 25, on=NEWS)
    claim(100 * len(telling) / len(words), 9.9, 10.1)

with says("Bank is the heaviest word."):
    claim(club.split()[by_word.argmax()] == "bank", on=NEWS)
with says("some say sport, the others business."):
    claim({name[3:] for name, _, _ in of_bank} == {"sport", "business"}, on=NEWS)
with says("It is heavy whatever the answer is: 0.05 to 0.11, where an even share is 0.01."):
    claim(min(weight for _, weight, _ in of_bank), 0.03, 0.08, on=NEWS)
    claim(max(weight for _, weight, _ in of_bank), 0.08, 0.16, on=NEWS)
    claim(1 / club_ids.shape[1], 0.005, 0.015, on=NEWS)
with says("in all eight models it makes business more probable."):
    other = torch.cat([club_ids[:, :bank], club_ids[:, bank + 1 :]], dim=1)
    at = classes.index("business")
    for m in models:
        with_it, without_it = (m(x).softmax(-1)[0, at].item() for x in (club_ids, other))
        claim(with_it > without_it, on=NEWS)
with says("where a model says business its answer rests on the word, and where one says sport"):
    for name, _, effect_of in of_bank:
        claim(effect_of > 0.3 if "business" in name else effect_of < 0, on=NEWS)

rank, share = tested.mean(axis=(0, 2)).T
with says("the rank correlation is 0.69 as trained and 0.69 with permuted scores"):
    claim(rank[0], 0.62, 0.76, on=NEWS)
    claim(rank[1], 0.61, 0.76, on=NEWS)
with says("a difference of 0.00 (95 % interval −0.02 to 0.02)."):
    claim(by_rank[1], -0.045, 0.01, on=NEWS)
    claim(by_rank[2], -0.01, 0.045, on=NEWS)
with says("account for 23 % of all effects, and for 13 % with permuted values"):
    claim(share[0], 0.16, 0.3, on=NEWS)
    claim(share[2], 0.08, 0.18, on=NEWS)
with says("a lead of 0.10 (95 % interval 0.06 to 0.14)."):
    claim(by_share[0], 0.05, 0.15, on=NEWS)
    claim(by_share[1] > 0.01, on=NEWS)
with says("17 % against 13 %. With permuted scores the share is then 15 %, too close to call."):
    in_odds = []
    for seed, m in enumerate(models):
        s, v = lists_of(m)
        torch.manual_seed(seed)
        order = torch.randperm(len(words))
        three = (s, v), (s[:, order], v), (s, v[:, order])
        in_odds.append([usual_test(m, *each, log_odds=True) for each in three])
    in_odds = np.array(in_odds)[..., 1]  # (8, 3, B)
    trained_share, wrong_words, wrong_values = in_odds.mean(axis=(0, 2))
    claim(trained_share, 0.13, 0.21, on=NEWS)
    claim(wrong_words, 0.12, 0.18, on=NEWS)
    claim(wrong_values, 0.1, 0.16, on=NEWS)
    claim(interval(in_odds[:, 0] - in_odds[:, 2])[1] > 0, on=NEWS)
    claim(trained_share - wrong_values < 0.55 * by_share[0], on=NEWS)
with says("of the five heaviest 73 % do, the others speak against it"):
    speak = []
    for m in models:
        a, effect = effects_of(m, *lists_of(m), few)
        heavy = a.mean(dim=1).masked_fill(~counted, -1).topk(5).indices
        speak.append((effect.gather(1, heavy) > 0).double().mean())
    claim(torch.stack(speak).mean(), 0.65, 0.82, on=NEWS)
with says("Times 4, untrained models have 0.86, more than the trained ones."):
    claim(found["× 4"][0], 0.78, 0.92, on=NEWS)
    claim(found["× 4"][0] > found["trained"][0], on=NEWS)
with says("The length follows the effects better than the weight, 0.73 against 0.69."):
    claim(found["trained"][1] - found["trained"][0], 0.01, 0.08, on=NEWS)
with says("But the same is true of untrained models, 0.47 against 0.41"):
    claim(found["untrained"][1] - found["untrained"][0], 0.02, 0.12, on=NEWS)

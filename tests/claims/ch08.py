"""What chapter 8 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.models import recorded_weights

with says("They are the weights of the layer, up to rounding."):
    with torch.no_grad(), recorded_weights(models[0]) as layers:
        models[0](ids[:16])
    off = layers[0][0][:, :, 0] - weights_of(lists[0], ids[:16])
    claim(off.abs().max(), 0, 1e-5)
with says("They put 95 % of the validation articles into the right class."):
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
with says("Bank is the heaviest word."):
    claim(club.split()[by_word.argmax()] == "bank", on=NEWS)
with says("A few did; most said *sport*."):  # on another processor one more, or fewer
    said = [name[3:] for name, _, _ in of_bank]
    claim(said.count("business"), 1, 3, on=NEWS)
    claim(said.count("sport"), 5, 7, on=NEWS)
with says("It is heavy whatever the answer is: 0.05 to 0.11, where an even share is 0.01."):
    claim(min(weight for _, weight, _ in of_bank), 0.03, 0.08, on=NEWS)
    claim(max(weight for _, weight, _ in of_bank), 0.08, 0.16, on=NEWS)
    claim(1 / club_ids.shape[1], 0.005, 0.015, on=NEWS)
with says("Where a model says *business*, its answer rests on the word. Where one says *sport*"):
    for name, _, effect_of in of_bank:
        claim(effect_of > 0.3 if "business" in name else effect_of < 0, on=NEWS)

taus, signs, all_signs = tested.mean(axis=(0, 2)).T
with says("Kendall's τ is 0.51 as trained and 0.51 with permuted scores"):
    claim(taus[0], 0.45, 0.57, on=NEWS)
    claim(taus[1], 0.45, 0.57, on=NEWS)
with says("a difference of 0.00 (95 % interval −0.01 to 0.02)."):
    claim(tau[1], -0.045, 0.01, on=NEWS)
    claim(tau[2], -0.01, 0.045, on=NEWS)
with says("of the five heaviest tokens about seven in ten speak for the answer, and about six in"):
    claim(signs[0], 0.67, 0.75, on=NEWS)
    for spoilt in signs[1:]:
        claim(spoilt, 0.55, 0.65, on=NEWS)
with says("here a lead of 0.11 over the permuted values, 95 % interval 0.07 to 0.15"):
    claim(sign[1] > 0.02, on=NEWS)
    claim(sign[2] < 0.2, on=NEWS)
    claim(interval(ahead[:, 0, :, 1])[1] > 0.02, on=NEWS)
with says("of *all* tokens only about four in ten speak for the trained models' answers."):
    claim(all_signs[0], 0.35, 0.45, on=NEWS)
with says("In the controls, too, the five heaviest are ahead of all tokens."):
    claim((signs - all_signs)[1:].min(), at_least=0.03, on=NEWS)
with says("And three heavy words in ten speak against the answer"):
    claim(1 - signs[0], 0.25, 0.33, on=NEWS)
with says(
    "With the scores as they are τ is 0.29. Times 4 it is 0.68, more than the trained models'"
):
    found = []
    for factor in (1, 4):
        rows = []
        for seed in range(8):
            fresh_model = new_model(seed).double()
            s, v = lists_of(fresh_model)
            rows.append(tests(fresh_model, factor * s, v))
        found.append(np.mean(rows, axis=(0, 1)))
    claim(found[0][0], 0.22, 0.36, on=NEWS)
    claim(found[1][0], 0.6, 0.76, on=NEWS)
    claim(found[1][0] > taus[0], on=NEWS)
with says(
    "of the five heaviest tokens 60 % speak for the answer, no more than in the spoilt models."
):
    claim(found[1][1], 0.52, 0.67, on=NEWS)
    claim(found[1][1] <= max(signs[1:]) + 0.005, on=NEWS)

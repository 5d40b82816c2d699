"""What chapter 17 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("1,998 of 2,000 dates that it has never seen come out right, letter for letter."):
    claim(right, at_least=1_950)
with says("Hide any one letter of an English weekday, and the rest still tells which it is"):
    days = {text.split(",")[0] for text in texts[0]}
    holed = {day[:i] + "_" + day[i + 1 :] for day in days for i in range(len(day))}
    claim(len(days) == 7 and len(holed) == sum(map(len, days)))
with says("Of the digits that need one place, 86 % need one with that very digit."):
    claim(hit, at_least=0.8)
with says("holds it for 11 % with the best of the four heads"):
    claim(max(by_head), at_most=0.5)

with says("the model with the mask wrote 61 of 100 dates right"):
    claim(end["right"], at_least=0.2)
with says("The one without has a lower loss, 0.03, and writes none of 200."):
    claim(cheats_end["loss"], at_most=0.1)
    claim(n, at_most=2)
with says("With the mask none moves at all"):
    claim(who_sees_whom(model, pair[0], pair[1][:, :-1]).triu(1).max(), at_most=0.0)
with says("without it all $27 \\cdot 26 / 2 = 351$ do"):
    T = pair[1].shape[1] - 1
    claim(T == 27)
    claim(int((earlier > 0).sum()), at_least=0.9 * T * (T - 1) / 2)
with says("outputs and gradients are equal, those of both inputs and of four matrices"):
    claim(max(outputs, *gradients), at_most=1e-9)
with says("and so are about 1 long"):
    lengths = build(letters, seed=0).embedding.weight.norm(dim=1)
    claim(lengths.mean(), 0.9, 1.1)

with says("den needs king, and is masculine and accusative, as it should be"):
    claim(wrong_german == "die Frau hat den Mann gesehen")
    claim(chances[0][0] - chances[0][1], at_least=0.4)
with says("it has a probability of 0.29, and 0.48 with king hidden"):
    claim(chances[1][0] - chances[1][1], at_most=0.2)
with says("All eight models translate at least 99.9 % of the sentences like their lessons"):
    claim(whole["right"].min(), at_least=0.995)
with says("at least 99 % of those in which king, queen or baby is the subject"):
    claim(whole["as subject"].min(), at_least=0.985)
with says("it is 4 to 48 %, with a mean of 29 %"):
    claim(whole["as object"].mean(), 0.2, 0.38)
    claim(whole["as object"].max(), at_most=0.6)

means = by.mean()
with says("55 to 61 % of the sentences are right, with a mean of 58 %"):
    claim(means["right", "source"], 0.53, 0.64)
with says("a reader of bags who guesses at best can expect 59 %"):
    claim(np.mean(ceilings), 0.58, 0.6)
with says("they are right about as often as a reader of bags can expect"):
    claim(means["right", "source"] - np.mean(ceilings), -0.02, 0.015)
with says("Without positions in the target it is still 99 %."):
    claim(means["right", "target"], at_least=0.975)
with says("14 points less, with a 95 % interval of 2 to 25 over the eight seeds"):
    claim(less.mean(), 0.05, 0.23)

with says("finds the likeliest of the right texts for 75 % of 158 sentences"):
    claim(found[1], 0.5, 0.95)
with says("a beam search of width 2 finds it for all"):
    claim(found[2], at_least=0.95)
with says("and yet all that it writes is right"):
    claim(np.mean(proper), at_least=0.98)

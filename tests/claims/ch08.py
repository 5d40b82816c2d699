"""What chapter 8 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("they are 5 % of an article, and get 22 to 34 % of the weight in our eight models."):
    claim(even_share, 0.03, 0.07, on=NEWS)
    claim(on_telling.min(), 0.19, 0.30, on=NEWS)
    claim(on_telling.max(), 0.27, 0.42, on=NEWS)
with says("61 % have exactly one reader"):
    claim(readership.loc["trained", "one"], 0.53, 0.69, on=NEWS)
with says("more than three times their even share; 12 % have none."):
    claim(readership.loc["trained", "none"], 0.06, 0.19, on=NEWS)
with says("Had each head drawn as many by chance, it would be 39 % and 27 %."):
    luck = readership.loc["trained, by chance"]
    claim(luck["one"], 0.33, 0.45, on=NEWS)
    claim(luck["none"], 0.22, 0.34, on=NEWS)
with says("In untrained models it is what chance gives."):
    for kind in list(kinds)[1:]:
        gap = readership.loc[kind] - readership.loc[f"{kind}, by chance"]
        claim(gap.abs().max(), 0, 0.05, on=NEWS)
with says("Two of the 64 have six or more of their ten top words from one topic"):
    claim(np.sum(mixed_topics >= 6), 0, 6, on=NEWS)
with says("ten words drawn at random would do that about twice in 64."):
    claim(64 * np.mean(random_sets >= 6), 0.5, 4, on=NEWS)
with says("[CLS] and [SEP] get 0.2 % of the weight, half of an even share."):
    claim(on_special.mean(), 0.0005, 0.0045, on=NEWS)
    claim(on_special.mean() < even_special, on=NEWS)

left = silenced["own words"]
with says("5 % of the change that its own words make is left"):
    claim(left["trained"], 0.01, 0.15, on=NEWS)
with says("and 100 % of what the other heads' words make."):
    others = silenced["other heads' words"]
    claim(others.min(), 0.9, 1.1, on=NEWS)
    claim(others.max(), 0.9, 1.1, on=NEWS)
with says("44 % is left as they come, 19 % and 10 % with the larger projections."):
    claim(left["untrained ×1"], 0.2, 0.6, on=NEWS)
    claim(left["untrained ×1.5"], 0.05, 0.3, on=NEWS)
    claim(left["untrained ×2"], 0.02, 0.2, on=NEWS)

with says("weight is 0.58 on average over the eight models, in whole articles 0.14."):
    claim(flattering.mean(), 0.45, 0.72, on=NEWS)
    claim(cut[:, -1].mean(), 0.09, 0.20, on=NEWS)
with says("Articles cut to 15 tokens have 0.44"):
    claim(cut[:, 1].mean(), 0.36, 0.53, on=NEWS)
with says("the largest weight is 0.54 on average; where none does, there still is one of 0.28."):
    claim(np.mean(with_word), 0.43, 0.63, on=NEWS)
    claim(np.mean(without), 0.2, 0.36, on=NEWS)
with says("only 14 of 1,456 are without such a word."):
    claim(nothing / high, 0, 0.05, on=NEWS)

with says("But “players” alone makes 61 % of the effects."):
    claim(by_effect[ours.split().index("players")], 0.4, 0.8, on=NEWS)
own = tested.groupby(level=0, sort=False).mean()
rank = own["rank correlation"]
with says("its weights do say which: 0.40, and with uneven weights 0.86"):
    claim(rank["untrained ×1"], 0.30, 0.52, on=NEWS)
    claim(rank["untrained ×2"], 0.78, 0.92, on=NEWS)
    claim(rank["untrained ×2"] > rank["trained"], on=NEWS)
with says("the five heaviest tokens of a text make 26 % of all effects"):
    claim(own.loc["trained", TESTS[1]], 0.2, 0.34, on=NEWS)
with says("the learnt match adds 0.122 (95 % interval over eight models 0.089 to 0.155)"):
    claim(lead[TESTS[1], "trained"][0], 0.08, 0.17, on=NEWS)
    claim(lead[TESTS[1], "trained"][1] > 0, on=NEWS)
with says("0.71 and 0.68, a lead of 0.033 (0.017 to 0.049)."):
    claim(rank["trained"], 0.60, 0.80, on=NEWS)
    claim(lead[TESTS[0], "trained"][0], 0.01, 0.06, on=NEWS)
    claim(lead[TESTS[0], "trained"][1] > 0, on=NEWS)
with says("Untrained models have no lead in either (all six intervals include 0)."):
    for test in TESTS[:2]:
        for kind in list(kinds)[1:]:
            claim(lead[test, kind][1] < 0 < lead[test, kind][2], on=NEWS)
with says("The two factors together give the order of the effects almost exactly, 0.98 to 1.00"):
    claim(explained["both"].min(), 0.95, 1, on=NEWS)
with says("The other factor spreads by 1.1 in every kind of model."):
    claim(explained["other's"].min(), 0.9, 1.25, on=NEWS)
    claim(explained["other's"].max(), 0.9, 1.25, on=NEWS)
with says("spreads by 1.0, 2.2 and 3.8, and follows the effect with 0.40, 0.69 and 0.86"):
    spread = explained["weight's spread"]
    claim(spread["untrained ×1"], 0.7, 1.2, on=NEWS)
    claim(spread["untrained ×1.5"], 1.7, 2.8, on=NEWS)
    claim(spread["untrained ×2"], 3.0, 4.5, on=NEWS)
    claim(rank["untrained ×1.5"], 0.58, 0.78, on=NEWS)
with says("the other factor does with 0.42, 0.14 and 0.06."):
    followed = explained["other factor"]
    claim(followed["untrained ×1"], 0.3, 0.55, on=NEWS)
    claim(followed["untrained ×1.5"], 0.05, 0.25, on=NEWS)
    claim(followed["untrained ×2"], 0, 0.15, on=NEWS)
with says("Trained weights spread by 1.7, and get 0.71"):
    claim(spread["trained"], 1.3, 2.1, on=NEWS)
    claim(spread["trained"] < spread["untrained ×1.5"], on=NEWS)
with says("In trained models 72 % do, and the others speak against it."):
    claim(own.loc["trained", TESTS[2]], 0.65, 0.79, on=NEWS)
with says("which makes a lead of 0.093 (0.053 to 0.132), and untrained models have none."):
    claim(lead[TESTS[2], "trained"][0], 0.04, 0.15, on=NEWS)
    claim(lead[TESTS[2], "trained"][1] > 0, on=NEWS)
    for kind in list(kinds)[1:]:
        claim(lead[TESTS[2], kind][1] < 0 < lead[TESTS[2], kind][2], on=NEWS)

with says("those of untrained models give them 4 to 5 %, as even weights would."):
    claim(on["trained"], 0.2, 0.35, on=NEWS)
    claim(max(list(on.values())[1:]), 0.03, 0.1, on=NEWS)
with says("Trained weights agree between seeds by 0.38, untrained ones by 0.00."):
    claim(alike["trained"], 0.25, 0.5, on=NEWS)
    for kind in list(kinds)[1:]:
        claim(alike[kind], -0.12, 0.12, on=NEWS)
with says("their accuracy falls from 0.95 to 0.49 (0.31 to 0.72 over the eight models)."):
    claim(needed["their own"].mean(), 0.91, 0.98, on=NEWS)
    claim(needed["even"].mean(), 0.3, 0.7, on=NEWS)
    claim(needed["even"].max(), 0.5, 0.85, on=NEWS)
with says("with the usual mean and spread it is 0.68 (0.59 to 0.73)."):
    claim(needed.iloc[:, 2].mean(), 0.58, 0.78, on=NEWS)
    claim(needed.iloc[:, 2].mean() > needed["even"].mean(), on=NEWS)

averages = together.mean()
with says("changes $P$ by 0.052 when all its copies go"):
    claim(averages["together"], 0.035, 0.075, on=NEWS)
with says("The largest effect of a single copy is 0.007, a seventh"):
    claim(averages["together"] / averages["largest copy"], 5, 10, on=NEWS)
with says("and all copies' effects added up are 0.027, about half."):
    claim(averages["together"] / averages["copies added up"], 1.5, 2.6, on=NEWS)
with says("With one head out there is nothing to choose: 0.94 either way"):
    claim(ablated[:, 0].mean(axis=0).min(), 0.9, 0.97, on=NEWS)
with says("With seven out the mean does more harm, 0.49 against 0.61"):
    claim(ablated[:, 1, 0].mean(), 0.5, 0.72, on=NEWS)
    claim(ablated[:, 1, 1].mean(), 0.38, 0.6, on=NEWS)
with says("zero is ahead by 0.12 (95 % interval over eight models 0.08 to 0.16)."):
    claim(harm[0], 0.05, 0.2, on=NEWS)
    claim(harm[1] > 0, on=NEWS)
with says("0.74 with the length, against 0.71 with the weight: better by 0.027"):
    claim(gain["trained"][0], 0.01, 0.045, on=NEWS)
    claim(gain["trained"][1] > 0, on=NEWS)
with says("But untrained models gain too, by 0.055, 0.026 and 0.008"):
    claim(gain["untrained ×1"][0], 0.03, 0.09, on=NEWS)
with says("with 0.77."):
    claim(found["trained"][:, 2].mean(), 0.7, 0.84, on=NEWS)

"""What chapter 7 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("A small model read it, and its answer is tech."):
    claim(answer == "tech", on=NEWS)
with says("What is read most need not decide."):
    claim(most == "songs", on=NEWS)
    claim(without["songs"], at_least=0.6, on=NEWS)
    claim(without[decides], at_most=0.5, on=NEWS)
with says("Thirteen of 500 test articles are nearly in the training set."):
    claim(len(repeated), 8, 40, on=NEWS)
with says("and so are those that repeat one for validation."):
    claim(len(parts["train"]) - len(fit_docs), 4, 30, on=NEWS)
with says("an article that is shuffled behind its [CLS] must get the same answer"):
    claim(moved, at_most=1e-4)

with says("0.98 of the articles that it was trained on and about 0.88 of new ones"):
    claim(judge(model, fit_docs)["accuracy"], 0.95, on=NEWS)
    claim(judge(model, val_docs)["accuracy"], 0.83, 0.92, on=NEWS)
with says("The counter wins, 0.98 to 0.88."):
    claim(on_val, 0.95, 0.995, on=NEWS)
with says("the counter loses four articles, and is still far ahead of 0.88."):
    claim(on_input["pieces"], 0.94, 0.99, on=NEWS)
with says("Gluing gains two of them back."):
    claim(on_input["words rebuilt"], 0.955, 0.99, on=NEWS)
with says("Pairs of neighbouring words, a first bit of word order, add nothing."):
    plus_pairs = on_input["words rebuilt and pairs of them"]
    claim(plus_pairs - on_input["words rebuilt"], -0.02, 0.01, on=NEWS)
with says("The first line, 0.76, looks as if the counter owed its lead to its solver."):
    claim(scaled[1], 0.6, 0.86, on=NEWS)
with says("with counts 30 times as large the very same training is at 0.944"):
    claim(scaled[30], 0.915, 0.975, on=NEWS)

with says("From 0.86 to 0.95 on validation, with the same 89,605 parameters."):
    claim(sum(p.numel() for p in reader.parameters()) == 89_605, on=NEWS)
with says("only a rate that suits: worth 0.033 (95 % interval 0.009 to 0.060)."):
    claim(gains["a rate that suits"].mean(), 0.02, 0.05)
    claim(bounds["a rate that suits"][0], at_least=0.0)
with says("40 epochs on 30 % of the tokens are worth 0.054 (0.033 to 0.077)."):
    claim(gains["both"].mean(), 0.04, 0.07)
with says("0.023 on whole articles (0.004 to 0.044)."):
    claim(bounds["10→40 epochs, whole"][0], at_least=0.0)
with says("bring more than the sum of each alone, these runs cannot say: 0.012 (−0.016 to 0.040)."):
    claim(bounds["both less their sum"][0] < 0 < bounds["both less their sum"][1])
with says("The mask alone shows no gain"):
    claim(bounds["padding masked"][0] < 0 < bounds["padding masked"][1])
hints = [rows_of(beside, how)["accuracy"].mean() for how in (*rates, *neighbours)]
with says("0.004 is better than 0.002 (0.906 to 0.871) and about as good as 0.008 (0.902)."):
    claim(np.allclose(hints[:2], [0.871, 0.902], atol=0.006))
with says("rate at 0.949, with 80 epochs at 0.956, and with 10 % of the tokens at 0.943."):
    claim(np.allclose([hints[i] for i in (2, 3, 5)], [0.943, 0.956, 0.949], atol=0.006))

ahead = {key: interval(gain) for key, gain in worth.items()}
with says("worth 0.051 over a plain mean (0.017 to 0.086), and as much over even weights."):
    for layer in ("mean", "even"):
        claim(worth[layer, "first"].mean(), 0.02, 0.08)
        claim(ahead[layer, "first"][0], at_least=0.0)
with says("0.002 of its lead over the mean is left (−0.029 to 0.033)."):
    claim(worth["mean", "quick"].mean(), -0.01, 0.015)
with says("At 0.012 attention is worse in ten epochs, 0.862; with the last recipe it is at 0.942"):
    for how in ("quick", "last"):
        claim(learnt[f"{how} at 0.012"].mean() < learnt[how].mean())
with says("Both rivals are better at 0.012."):
    for layer in ("mean", "even"):
        for how in ("quick", "last"):
            claim(scores[layer][f"{how} at 0.012"].mean() > scores[layer][how].mean())
with says("In ten epochs attention is then behind the mean, by −0.020 (−0.051 to 0.009)."):
    claim(worth["mean", "quick at 0.012"].mean(), -0.04, 0)
    claim(ahead["mean", "quick at 0.012"][0] < 0 < ahead["mean", "quick at 0.012"][1])
with says("0.005 on the mean (−0.015 to 0.024) and 0.004 on even weights (−0.014 to 0.022)"):
    for layer in ("mean", "even"):
        claim(worth[layer, "last at 0.012"].mean(), -0.01, 0.015)
        claim(ahead[layer, "last at 0.012"][0] < 0 < ahead[layer, "last at 0.012"][1])
with says("these would have been 0.012 (−0.009 to 0.032) and 0.017 (−0.002 to 0.036)."):
    for layer in ("mean", "even"):
        claim(ahead[layer, "last"][0] < 0 < ahead[layer, "last"][1])
with says("0.946 to 0.862, a lead of 0.084 (0.059 to 0.110)."):
    lead = rows_without("mean", "last at 0.012") - blog
    claim(lead.mean(), 0.05, 0.11)
    claim(interval(lead)[0], at_least=0.02)
with says("the same attention is at 0.960, a gain of 0.009 (−0.006 to 0.026): no verdict."):
    claim((longer - some40).mean(), 0.0, 0.03)
with says("Nor is there one on the fair match, words against words"):
    for lead in leads.values():
        low, high = interval(lead)
        claim(low < 0 < high)

with says("0.88 right and its last version 0.96"):
    claim(models["first"].mean(), 0.86, 0.89)
    claim(last_one.mean(), 0.95, 0.97)
with says("A counter of the same 512 pieces gets 0.95, which is a tie."):
    claim(on_test["pieces"].mean(), 0.935, 0.975, on=NEWS)
    low, high = interval(on_test["pieces"] - last_one) if same_articles else (-1, 1)
    claim(low < 0 < high)
with says("the counter is at 0.982, ahead by 0.023 (0.011 to 0.037)."):
    claim(on_test["words rebuilt"].mean(), 0.965, 0.995, on=NEWS)
    claim(not same_articles or interval(on_test["words rebuilt"] - last_one)[0] > 0)
with says("The first models run from 0.842 to 0.892 by the seed alone"):
    spread = models["first"].mean(axis=1)
    claim(spread.min(), 0.84, 0.845)
    claim(spread.max(), 0.89, 0.895)
with says("The plain mean is at 0.947, and attention ahead of it by 0.012 (−0.001 to 0.025)."):
    claim(models["plain mean"].mean(), 0.935, 0.96)
    low, high = interval(last_one - models["plain mean"])
    claim(low < 0 < high)

with says("Six of the eight models answer tech, one of them with 1.00."):
    claim((phone.idxmax(axis="columns") == "tech").sum() == 6)
    claim(phone["tech"].max(), at_least=0.99)
with says("Two answer entertainment, one of them with 0.96."):
    claim(phone["entertainment"].max(), 0.95, 0.97)
with says("The answers from 0.9 to 0.97 are right 0.894 of the time"):
    claim(bins.loc[3, "right"], 0.89, 0.9)
with says("for these 161 answers of eight models are about 86 articles."):
    claim(bins.loc[3, "articles"] == 86)
with says("and no gap can be told from zero."):
    for _, row in bins.iterrows():
        claim(row["low"] < 0 < row["high"])
over = {n: few[f"sure {n}"] - few[f"right {n}"] for n in LENGTHS}
with says("the probabilities are right on average: 0.96 sure, 0.95 right."):
    claim(over[512][0.3], -0.02, 0.03)
with says("On the first 16 tokens the same models are 0.88 sure and 0.63 right"):
    claim(over[16][0.3], 0.2, 0.3)
with says("(The test articles agree: on 16 tokens 0.91 and 0.59.)"):
    whole_test = tests[tests["model"] == "last"]
    claim(whole_test["sure 16"].mean(), 0.9, 0.92)
    claim(whole_test["right 16"].mean(), 0.58, 0.6)
with says("on whole articles, 0.82 sure and 0.92 right."):
    claim(over[512][0.04], -0.13, -0.05)
with says("Shown 16 tokens, they say 0.65 and are right 0.68 of the time; shown 8, 0.64 and 0.52."):
    claim(over[16][0.04], -0.06, 0.06)
    claim(over[8][0.04], 0.05, 0.2)

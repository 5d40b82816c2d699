"""What chapter 7 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.classifier import TextClassifier
from utils.news import NEWS

with says("The layer is chapter 4's, as FastMultiHeadAttention"):
    same = TextClassifier(len(tokenizer), 64, len(classes), FastMultiHeadAttention(64, 8), 128, 0)
    same.load_state_dict(model.state_dict())
    some = val_batches[0][0][:8, :64]  # (B, T)
    claim((same(some) - model(some)).abs().max(), at_most=1e-4)
    claim(sum(p.numel() for p in model.parameters()) == 89_605, on=NEWS)
with says("These numbers were chosen on validation."):
    claim(tried["attention"].max() - tried["attention"][0.004], at_most=0.004)
with says("On these validation articles all three are ahead of this one run of the model"):
    on_val = is_right(model, val_batches).mean()
    for name_ in ("all words", "pieces", "words rebuilt"):
        ahead = right_counts(reads[name_], fit_docs, val_docs, best[name_]).mean() - on_val
        claim(ahead, at_least=0, on=NEWS)
with says("end at 0.64; with the same numbers times 30 at 0.93, and at 30 times the rate at 0.94"):
    claim(np.mean(scaled[1, 0.001]), 0.55, 0.74, on=NEWS)
    claim(np.mean(scaled[30, 0.001]), 0.915, 0.95, on=NEWS)
    claim(np.mean(scaled[1, 0.03]), 0.92, 0.96, on=NEWS)

ahead = {name: ch07_runs.interval(right["last model"] - shares) for name, shares in right.items()}
with says("a plain mean of word vectors gets 0.952 right and attention 0.958"):
    claim(right["plain mean"].mean(), 0.951, 0.953)
    claim(right["last model"].mean(), 0.957, 0.959)
with says("ahead by 0.006 (−0.008 to 0.020)"):
    claim(np.allclose(ahead["plain mean"], [0.006, -0.008, 0.020], atol=0.0006))
counted_ = {n: right_counts(reads[n], train_docs, news["test"], best[n]) for n in reads}
of_model = right["last model"]
leads = {n: each - of_model if NEWS.is_loaded else of_model for n, each in counted_.items()}
with says("a counter gets 0.954, which is behind it by 0.004 (−0.014 to 0.021)."):
    claim(counted_["pieces"].mean(), 0.948, 0.96, on=NEWS)
    lead = ch07_runs.interval(-leads["pieces"])
    claim(np.allclose(lead, [0.004, -0.014, 0.021], atol=0.004), on=NEWS)
with says("it gets 0.982, ahead by 0.024 (0.009 to 0.040)."):
    claim(counted_["words rebuilt"].mean(), 0.976, 0.988, on=NEWS)
    lead = ch07_runs.interval(leads["words rebuilt"])
    claim(np.allclose(lead, [0.024, 0.009, 0.040], atol=0.004), on=NEWS)
with says("the model loses 0.016 (0.000 to 0.031), at a rate chosen without them."):
    claim(np.allclose(ahead["positions"], [0.016, 0.000, 0.031], atol=0.0006))

eight = tests[(tests["layer"] == "attention") & (tests["positions"] == 0)]
said = eight[["tech", "business", "sport", "entertainment", "politics"]]
with says("four say tech, one with 1.00, and four entertainment, one with 0.99."):
    for name_, most_ in (("tech", 0.995), ("entertainment", 0.985)):
        claim((said.idxmax(axis=1) == name_).sum() == 4)
        claim(said[name_].max(), at_least=most_)
with says("they are equally good to within 0.014."):
    claim(eight["right 512"].max() - eight["right 512"].min(), 0.0135, 0.0145)
with says("the eight are 0.90 sure on average and right 0.60 of the time."):
    claim(eight["sure 16"].mean(), 0.895, 0.905)
    claim(eight["right 16"].mean(), 0.595, 0.605)

by_heads = {n: rows for (n, start), rows in found.groupby(["num_heads", "start"]) if start < 1}
with says(
    "One head finds 0.94 to 0.96 of the passages and four heads find 0.97 (eight seeds each)"
):
    claim(by_heads[1]["found"].min(), 0.935, 0.945)
    claim(by_heads[1]["found"].max(), 0.955, 0.965)
    claim(by_heads[4]["found"].min(), 0.965, 0.975)
    claim(by_heads[4]["found"].max(), 0.965, 0.975)
with says("seven are still at 0.25 after as many steps at the same rate."):
    claim((found[found["start"] == 1]["found"] < 0.27).sum() == 7)
with says("so that it can read each by itself, and it gets 0.98."):
    claim(told, 0.965, 0.99, on=NEWS)
with says("Of our eight finders with one head, two have learnt it so."):
    claim((by_heads[1]["head 0"] < 0.2).sum() == 2)
    claim((by_heads[1]["head 0"] > 0.4).sum() == 6)
with says("With four heads, one or two point at the passage, and most others leave it out."):
    pointing = (by_heads[4].filter(like="head ") > 0.35).sum(axis=1)
    claim(pointing.min() == 1 and pointing.max() == 2)
    claim((by_heads[4].filter(like="head ") < 0.2).sum().sum(), at_least=16)

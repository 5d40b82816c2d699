"""What chapter 7 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says
from utils.models import TextClassifier
from utils.news import NEWS

with says("The layer is chapter 4's, as FastMultiHeadAttention"):
    same = TextClassifier(len(tokenizer), 64, len(classes), FastMultiHeadAttention(64, 8), 128, 0)
    same.load_state_dict(model.state_dict())
    some = val_batches[0][0][:8, :64]  # (B, T)
    claim((same(some) - model(some)).abs().max(), at_most=1e-4)
    claim(sum(p.numel() for p in model.parameters()) == 89_605, on=NEWS)

by_rate = {}
for name_, (run_, tried_, more_) in models.items():
    of_ = {"layer": "mean" if name_[0] == "mean" else "attention", **more_}
    rows_ = [{**of_, "rate": rate_, "on": "val"} for rate_ in tried_]
    file_ = f"results/07-{run_.__name__[4:]}.csv"
    by_rate[name_] = run_all(run_, rows_, range(3), file_).groupby("rate")["right 512"].mean()
with says("here the best on validation, and falls to zero."):
    found_ = by_rate["attention", "pieces"]
    claim(found_.max() - found_[0.004], at_most=1e-6)
with says("Each has the learning rate that is best for it on validation"):
    for name_, rows_ in tests.items():
        (rate_,) = set(rows_["rate"])
        claim(by_rate[name_].max() - by_rate[name_][rate_], at_most=1e-6)

ahead = {
    name_: ch07_runs.interval(right["attention", name_[1]] - each) for name_, each in right.items()
}
with says("a counter with IDF is right more often on the test than our attention, 0.982 to 0.960."):
    claim(right["attention", "words"].mean(), 0.959, 0.961)
    claim(right["counter", "words"].mean(), 0.976, 0.988, on=NEWS)
    claim(ahead["counter", "words"][2], at_most=-0.001, on=NEWS)
with says("Leave out IDF, or take the plain mean, and the rival no longer leads clearly"):
    claim(ahead["mean", "words"][2], at_least=0)
    for name_ in ("without IDF", "mean"):
        claim(ahead[name_, "words"][1], at_most=0)
        claim(ahead[name_, "words"][2], at_least=0, on=NEWS)

said = eight[["tech", "business", "sport", "entertainment", "politics"]]
with says("four say tech, one of them 1.00 sure, and four entertainment, one 0.99 sure."):
    for name_, most_ in (("tech", 0.995), ("entertainment", 0.985)):
        claim((said.idxmax(axis=1) == name_).sum() == 4)
        claim(said[name_].max(), at_least=most_)
with says("each gets 0.95 to 0.96 of it right."):
    claim(eight["right 512"].min(), 0.945, 0.955)
    claim(eight["right 512"].max(), 0.955, 0.965)
with says("eight plain means split five to three."):
    of_means_ = tests["mean", "pieces"][list(said)].idxmax(axis=1)
    claim(((of_means_ == "tech").sum(), (of_means_ == "entertainment").sum()) == (5, 3))
with says("On whole articles the eight are as sure as they are right, 0.96."):
    claim(eight["sure 512"].mean(), 0.955, 0.97)
    claim(eight["right 512"].mean(), 0.955, 0.965)
with says("On the first 16 tokens they are 0.90 sure, and right 0.60 of the time."):
    claim(eight["sure 16"].mean(), 0.895, 0.905)
    claim(eight["right 16"].mean(), 0.595, 0.605)
with says("They have never seen so short a text"):
    claim(0.3 * min(len(ids) for ids in tokenizer(docs["train"]["text"][:])["input_ids"]), 32)

by_heads = dict(tuple(found.groupby("num_heads")))
with says("alike but for their seed, find 0.85 to 0.87 of the passages (a guess: 0.25)"):
    claim(by_heads[1]["found"].min(), 0.845, 0.855)
    claim(by_heads[1]["found"].max(), 0.865, 0.875)
with says("The counter, but it was told what attention had to learn"):
    claim(told - found["found"].max(), at_least=0.001, on=NEWS)
with says("Mask the passage asked for, and seed 1's head never finds it."):
    claim(looks["seed 1"]["weight on that passage"], at_least=0.3, on=NEWS)
    claim(looks["seed 1"]["right with it masked"], at_most=0.005, on=NEWS)
with says("Seed 0's finds it better: it rules the other three out"):
    claim(looks["seed 0"]["weight on that passage"], at_most=0.22, on=NEWS)
    claim(looks["seed 0"]["right with it masked"], at_least=0.99, on=NEWS)
    claim(looks["seed 0"]["right"], at_most=0.9, on=NEWS)
with says("six look at the passage asked for, two look away from it."):
    for seed, look in looks.items():  # what was kept is what we have just trained
        kept = by_heads[1].set_index("seed")["head 0"][int(seed[-1])]
        claim(abs(look["weight on that passage"] - kept), at_most=0.02, on=NEWS)
    claim((by_heads[1]["head 0"] < 0.22).sum() == 2)
    claim((by_heads[1]["head 0"] > 0.3).sum() == 6)

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
with says("These numbers were chosen on validation."):
    found_ = by_rate["attention", "pieces"]
    claim(found_.max() - found_[0.004], at_most=1e-6)
with says("the best on validation."):
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
with says("IDF matters: without it the counter gets 0.966, no longer clearly more than attention."):
    claim(right["without IDF", "words"].mean(), 0.9655, 0.9665, on=NEWS)
    claim(ahead["without IDF", "words"][1], at_most=0)
    claim(ahead["without IDF", "words"][2], at_least=0, on=NEWS)
with says("Over pieces attention leads it by 0.006, over words it trails by 0.010."):
    claim(np.allclose(ahead["mean", "pieces"], [0.006, -0.006, 0.018], atol=0.0006))
with says("Neither difference is clear"):
    claim(np.allclose(ahead["mean", "words"], [-0.010, -0.021, 0.002], atol=0.0006))
with says("cost 0.016, with an interval of 0.002 to 0.029."):
    claim(np.allclose(ahead["with positions", "pieces"], [0.016, 0.002, 0.029], atol=0.0006))

said = eight[["tech", "business", "sport", "entertainment", "politics"]]
with says(
    "four call our sentence tech, one with probability 1.00, and four entertainment, one with"
):
    for name_, most_ in (("tech", 0.995), ("entertainment", 0.985)):
        claim((said.idxmax(axis=1) == name_).sum() == 4)
        claim(said[name_].max(), at_least=most_)
with says("and get 0.95 to 0.96 of the test right"):
    claim(eight["right 512"].min(), 0.945, 0.955)
    claim(eight["right 512"].max(), 0.955, 0.965)
with says("On whole test articles the eight are as sure as they are right, 0.96 of the time"):
    claim(eight["sure 512"].mean(), 0.955, 0.97)
    claim(eight["right 512"].mean(), 0.955, 0.965)
with says("they are 0.90 sure on average and right 0.60 of the time."):
    claim(eight["sure 16"].mean(), 0.895, 0.905)
    claim(eight["right 16"].mean(), 0.595, 0.605)
with says("it is 0.62 sure and right 0.65 of the time."):
    count_ = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+")
    linear_ = LogisticRegression(C=30, max_iter=1000)  # C as chosen on validation
    linear_.fit(count_.fit_transform(pieces(docs["train"], tokenizer)), docs["train"]["label"])
    short_ = [" ".join(text_.split()[:16]) for text_ in pieces(docs["test"], tokenizer)]
    short_ = linear_.predict_proba(count_.transform(short_))
    claim(short_.max(axis=1).mean(), 0.615, 0.625, on=NEWS)
    claim((short_.argmax(axis=1) == np.array(docs["test"]["label"])).mean(), 0.645, 0.655, on=NEWS)

with says("On 452 of the 500 test articles all eight are right, on 8 none is, and on 40 some are."):
    claim((every, none, len(hits)) == (452, 8, 500), on=NEWS)

by_heads = dict(tuple(found.groupby("num_heads")))
with says("One head with positions finds 0.85 to 0.87 of the passages and four heads find 0.88"):
    claim(by_heads[1]["found"].min(), 0.845, 0.855)
    claim(by_heads[1]["found"].max(), 0.865, 0.875)
    claim(by_heads[4]["found"].min(), 0.875, 0.885)
    claim(by_heads[4]["found"].max(), 0.895, 0.905)
with says("a counter that is told where each passage begins 0.91."):
    claim(told, 0.895, 0.925, on=NEWS)
with says("In these two runs the head of seed 1 looks at the passage asked for"):
    claim(looks["seed 1"]["weight on that passage"], at_least=0.3, on=NEWS)
    claim(looks["seed 1"]["right with that passage masked"], at_most=0.01, on=NEWS)
    claim(looks["seed 1"]["right with the other three masked"], at_least=0.99, on=NEWS)
with says("so it names a masked passage every time."):
    claim(looks["seed 0"]["weight on that passage"], at_most=0.22, on=NEWS)
    claim(looks["seed 0"]["right with that passage masked"], at_least=0.99, on=NEWS)
    claim(looks["seed 0"]["right with the other three masked"], at_most=0.01, on=NEWS)
with says("Of our eight finders with one head, two look away from the answer."):
    for seed, look in looks.items():  # what was kept is what we have just trained
        kept = by_heads[1].set_index("seed")["head 0"][int(seed[-1])]
        claim(abs(look["weight on that passage"] - kept), at_most=0.02, on=NEWS)
    claim((by_heads[1]["head 0"] < 0.22).sum() == 2)
    claim((by_heads[1]["head 0"] > 0.3).sum() == 6)

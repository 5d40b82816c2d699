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
by_rate = {
    name_: runs("val", 3, *((m, size, lr) for lr in tried_))
    for name_, (m, size, tried_) in models.items()
}
by_rate = {name_: rows_.groupby("rate")["right 512"].mean() for name_, rows_ in by_rate.items()}
with says("These numbers were chosen on validation."):
    claim(by_rate["attention"].max() - by_rate["attention"][0.004], at_most=1e-6)
with says("the best on validation."):
    for name_, rows_ in tests.items():
        (rate_,) = set(rows_["rate"])
        claim(by_rate[name_].max() - by_rate[name_][rate_], at_most=1e-6)

ahead = {
    name_: ch07_runs.interval(right["attention"] - each)
    for name_, each in right.items()
    if name_ != "attention"
}
with says("A counter of whole words beats our attention over pieces on the test, 0.982 to 0.958"):
    claim(right["attention"].mean(), 0.957, 0.959)
    claim(right["words"].mean(), 0.976, 0.988, on=NEWS)
    claim(ahead["words"][2], at_most=-0.001, on=NEWS)
with says(
    "attention leads a plain mean of the same vectors by 0.006 (95 % interval −0.006 to 0.018)."
):
    claim(np.allclose(ahead["mean"], [0.006, -0.006, 0.018], atol=0.0006))
with says("with them the model loses 0.016."):
    claim(np.allclose(ahead["positions"], [0.016, 0.002, 0.029], atol=0.0006))
with says("Attention cannot be told from the counter of the same pieces either"):
    claim(ahead["pieces"][1], at_most=0, on=NEWS)
    claim(ahead["pieces"][2], at_least=0, on=NEWS)

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

by_heads = dict(tuple(found.groupby("num_heads")))
with says("One head with positions finds 0.85 to 0.87 of the passages and four heads find 0.88"):
    claim(by_heads[1]["found"].min(), 0.845, 0.855)
    claim(by_heads[1]["found"].max(), 0.865, 0.875)
    claim(by_heads[4]["found"].min(), 0.875, 0.885)
    claim(by_heads[4]["found"].max(), 0.895, 0.905)
with says("The counter that is told where passages begin gets 0.91."):
    claim(told, 0.895, 0.925, on=NEWS)
with says("In these two runs the head of seed 1 names the place that it looks at"):
    claim(looks["seed 1"]["weight on that passage"], at_least=0.3, on=NEWS)
    claim(looks["seed 1"]["says where it looks most"], at_least=0.75, on=NEWS)
    claim(looks["seed 1"]["right if that passage is masked"], at_most=0.01, on=NEWS)
    claim(looks["seed 1"]["right if the other three are"], at_least=0.99, on=NEWS)
with says("It finds the sport by what is missing, and so it names the masked passage."):
    claim(looks["seed 0"]["weight on that passage"], at_most=0.22, on=NEWS)
    claim(looks["seed 0"]["says where it looks most"], at_most=0.1, on=NEWS)
    claim(looks["seed 0"]["right if that passage is masked"], at_least=0.99, on=NEWS)
    claim(looks["seed 0"]["right if the other three are"], at_most=0.01, on=NEWS)
with says("Of our eight finders with one head, two look away from the answer."):
    for seed, look in looks.items():  # what was kept is what we have just trained
        kept = by_heads[1].set_index("seed")["head 0"][int(seed[-1])]
        claim(abs(look["weight on that passage"] - kept), at_most=0.02, on=NEWS)
    claim((by_heads[1]["head 0"] < 0.22).sum() == 2)
    claim((by_heads[1]["head 0"] > 0.3).sum() == 6)

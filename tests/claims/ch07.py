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
by_rate = {
    name_: runs("val", 3, *((m, size, lr) for lr in tried_))
    for name_, (m, size, tried_) in models.items()
}
by_rate = {name_: rows_.groupby("rate")["right 512"].mean() for name_, rows_ in by_rate.items()}
with says("These numbers were chosen on validation."):
    claim(by_rate["attention"].max() - by_rate["attention"][0.004], at_most=1e-6)
with says("Each has the best of three rates of its own, by validation."):
    for name_, rows_ in tests.items():
        (rate_,) = set(rows_["rate"])
        claim(by_rate[name_].max() - by_rate[name_][rate_], at_most=1e-6)
with says("Both are ahead of our model, and took seconds."):
    on_val = is_right(model, val_batches).mean()
    for name_ in ("pieces", "words"):
        ahead = counter(reads[name_], fit_docs, val_docs, best[name_]).mean() - on_val
        claim(ahead, at_least=0, on=NEWS)


def trained_on_counts(factor_, rate_, seed):
    torch.manual_seed(seed)
    one = nn.Linear(x.shape[1], len(classes))
    rows_ = list(zip(factor_ * x, y, strict=True))
    train(one, DataLoader(rows_, 32, shuffle=True), epochs=10, rate=rate_)
    return is_right(one, [(factor_ * new_x, new_y)]).mean().item()


with says(
    "The same numbers, 30 times as large, give a good model in place of a poor one, and so does a rate"
):
    for seed in range(3):
        claim(trained_on_counts(1, 0.001, seed), at_most=0.75, on=NEWS)
        claim(trained_on_counts(30, 0.001, seed), at_least=0.91, on=NEWS)
        claim(trained_on_counts(1, 0.03, seed), at_least=0.91, on=NEWS)

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
with says("with them the model loses 0.016 (0.002 to 0.029)."):
    claim(np.allclose(ahead["positions"], [0.016, 0.002, 0.029], atol=0.0006))
with says("The counter of the same pieces cannot be told from it either"):
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
with says("the eight are 0.90 sure on average and right 0.60 of the time."):
    claim(eight["sure 16"].mean(), 0.895, 0.905)
    claim(eight["right 16"].mean(), 0.595, 0.605)

by_heads = dict(tuple(found.groupby("num_heads")))
with says("One head with positions finds 0.94 to 0.96 of the passages and four heads find 0.97"):
    claim(by_heads[1]["found"].min(), 0.935, 0.945)
    claim(by_heads[1]["found"].max(), 0.955, 0.965)
    claim(by_heads[4]["found"].min(), 0.965, 0.975)
    claim(by_heads[4]["found"].max(), 0.965, 0.975)
with says("the one that is told where passages begin gets 0.98."):
    claim(told, 0.965, 0.99, on=NEWS)
with says("Of our eight finders with one head, two do so."):
    claim((by_heads[1]["head 0"] < 0.2).sum() == 2)
    claim((by_heads[1]["head 0"] > 0.4).sum() == 6)
with says("With four heads, one or two point at the passage, and most others avoid it."):
    pointing = (by_heads[4].filter(like="head ") > 0.35).sum(axis=1)
    claim(pointing.min() == 1 and pointing.max() == 2)
    claim((by_heads[4].filter(like="head ") < 0.2).sum().sum(), at_least=16)

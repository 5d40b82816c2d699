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

with says("reads “game” the most, more than twice an"):
    words_, weights_ = ch07_runs.weight_of_words(model, tokenizer, ours)
    claim(words_[np.argmax(weights_)] == "game", on=NEWS)
    even_ = 1 / len(tokenizer(ours)["input_ids"])
    claim(max(weights_) / even_, 2, 2.75, on=NEWS)

with says("and yet without it the model is only the surer. It is *film* that carries the answer."):
    said_ = {how_: predict(model, texts[how_]) for how_ in texts}
    first_ = said_["as it is"].idxmax()
    claim(said_["without game"][first_] > said_["as it is"][first_], on=NEWS)
    claim(said_["without film"].idxmax() != first_, on=NEWS)

by_rate = {}
for name_, (run_, tried_, more_) in models.items():
    of_ = {"layer": name_[0].split(",")[0], **more_}
    rows_ = [{**of_, "rate": rate_, "on": "val"} for rate_ in tried_]
    file_ = f"results/07-{run_.__name__[4:]}.csv"
    by_rate[name_] = run_all(run_, rows_, range(3), file_).groupby("rate")["right 512"].mean()
with says("here the best on validation, and falls to zero"):
    found_ = by_rate["attention", "pieces"]
    claim(found_.max() - found_[0.004], at_most=1e-6)
with says("Each model has the learning rate that is best for it on validation"):
    for name_, rows_ in tests.items():
        (rate_,) = set(rows_["rate"])
        claim(by_rate[name_].max() - by_rate[name_][rate_], at_most=1e-6)

ahead = {
    name_: ch07_runs.interval(right["attention", name_[1]] - each) for name_, each in right.items()
}
with says(
    "right more often on the test than our attention, 0.986 to 0.960. Without IDF it gets 0.968."
):
    claim(right["attention", "words"].mean(), 0.959, 0.961)
    claim(right["counter", "words"].mean(), 0.9855, 0.9865, on=NEWS)
    claim(ahead["counter", "words"][2], at_most=-0.001, on=NEWS)
    claim(right["counter, no IDF", "words"].mean(), 0.9675, 0.9685, on=NEWS)
with says("Without IDF most of the counter's lead is gone."):
    lead_ = right["counter", "words"].mean() - right["counter, no IDF", "words"].mean()
    claim(lead_ / -ahead["counter", "words"][0], at_least=0.5, on=NEWS)
with says("each of these intervals (95 %, Student's t, over runs and articles) includes zero."):
    for name_ in (("counter", "pieces"), ("mean", "pieces"), ("mean", "words")):
        claim(ahead[name_][1], at_most=0, on=NEWS)
        claim(ahead[name_][2], at_least=0, on=NEWS)
with says("Positions, added as in chapter 6, make it worse here."):
    claim(ahead["attention, positions", "pieces"][1], at_least=0.001, on=NEWS)

said = eight[["tech", "business", "sport", "entertainment", "politics"]]
with says("four say tech, one of them 1.00 sure, and four entertainment, one 0.99 sure."):
    for name_, most_ in (("tech", 0.995), ("entertainment", 0.985)):
        claim((said.idxmax(axis=1) == name_).sum() == 4)
        claim(said[name_].max(), at_least=most_)
with says("each gets 0.95 to 0.96 of the test right."):
    claim(eight["right 512"].min(), 0.945, 0.955)
    claim(eight["right 512"].max(), 0.955, 0.965)
with says("On 40 of the 500 test articles, too, some of the eight are right and some are wrong."):
    share_ = right["attention", "pieces"].mean(axis=0)
    claim(((share_ > 0) & (share_ < 1)).sum() == 40)
    claim(len(share_) == 500, on=NEWS)
with says("On whole articles the eight are as sure as they are right, 0.96."):
    claim(eight["sure 512"].mean(), 0.955, 0.97)
    claim(eight["right 512"].mean(), 0.955, 0.965)
with says("On the first 16 tokens they are 0.90 sure, and right 0.60 of the time."):
    claim(eight["sure 16"].mean(), 0.895, 0.905)
    claim(eight["right 16"].mean(), 0.595, 0.605)
with says("They have never seen so short a text"):
    shortest_ = min(len(ids) for ids in tokenizer(docs["train"]["text"][:])["input_ids"])
    claim(0.3 * shortest_, 32, on=NEWS)

by_heads = dict(tuple(found.groupby("num_heads")))
with says("alike but for their seed, find 0.85 to 0.87 of the passages (a guess: 0.25)"):
    claim(by_heads[1]["found"].min(), 0.845, 0.855)
    claim(by_heads[1]["found"].max(), 0.865, 0.875)
with says("The counter finds the most."):
    claim(told - found["found"].max(), at_least=0.001, on=NEWS)
with says("six look at the passage asked for, two look away from it."):
    for seed_, finder_ in finders.items():  # what was kept is what we have just trained
        again_ = ch07_pages.looked(finder_, test_pages)["head 0"]
        claim(abs(again_ - looks["weight"][seed_]), at_most=0.02, on=NEWS)
    claim((looks["weight"] < 0.22).sum() == 2)
    claim((looks["weight"] > 0.3).sum() == 6)
with says("Seed 0 names the blocked passage, whichever it is"), torch.no_grad():
    for blocked in (places, (places + 2) % 4):
        for seed_, low_, high_ in ((0, 0.95, 1), (1, 0, 0.1)):
            hidden = ids.clone()
            hidden[:, 1:].unflatten(1, (4, 20))[pages_of, blocked] = 0
            named_ = finders[seed_](hidden).argmax(dim=1) == blocked
            claim(named_.double().mean(), low_, high_, on=NEWS)

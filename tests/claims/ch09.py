"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

mean = {split: rows["accuracy"].mean() for split, rows in hill.items()}
with says("One head is worst, and too many are worse again."):
    claim(list(BLEU.values()) == [24.9, 25.5, 25.8, 25.8, 25.4])
with says("The parameters stay the same, 6,880."):
    sizes = {n: sum(p.numel() for p in Recall(16, *n).parameters()) for n in splits}
    claim(set(sizes.values()) == {6880})
with says("a linear layer cannot read four values off it (chapter 3): 0.39 are right."):
    claim(mean[1, 16], 0.385, 0.395)
with says("Four things to look up, and four heads do best."):
    claim(max(mean, key=mean.get) == (4, 4))
with says("Eight heads of 2 get 0.71."):
    claim(mean[8, 2], 0.7, 0.715)
with says("Sixteen heads of 1 get a third, less than a single head does."):
    claim(mean[16, 1] < mean[1, 16])
    claim(mean[16, 1], 0.31, 0.35)

with says("each time the layer has the same 1,050,624 parameters."):
    for H in (1, 8, 32):
        layer = nn.MultiheadAttention(512, H)
        claim(sum(p.numel() for p in layer.parameters()) == 4 * 512**2 + 4 * 512 == 1_050_624)
with says("grows from 6.3 MB to 72.4; with a fused kernel from 5.2 to 5.4."):
    x = torch.randn(1, 512, 512)
    for H, mb, less in ((1, 6.3, 5.2), (64, 72.4, 5.4)):
        claim(cost(H)[2], mb - 0.05, mb + 0.05)
        claim(cost(H)[3], less - 0.06, less + 0.06)
with says("for the backward pass a layer keeps five arrays `(T, D)`"):
    for B, T, D, H in ((1, 64, 32, 1), (3, 128, 32, 8), (1, 256, 64, 8)):
        x, layer = torch.randn(B, T, D), MultiHeadAttention(D, H)
        theirs = nn.MultiheadAttention(D, H, batch_first=True)
        needed, without = 4 * (5 * B * T * D + B * H * T * T), 4 * (5 * B * T * D + B * H * T)
        claim(kept_bytes(lambda layer=layer, x=x: layer(x, x, x)) == needed)
        scaled = 4 * B * T * D  # the queries, which PyTorch's layer keeps twice
        claim(kept_bytes(lambda layer=theirs, x=x: layer(x, x, x)) - scaled == needed)
        for each in (layer, theirs):
            asked = kept_bytes(lambda each=each, x=x: each(x, x, x, need_weights=False))
            claim(asked == without)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            layer(x, x, x)
        claim(counter.get_total_flops() == 2 * (4 * B * T * D * D + 2 * B * T * T * D))
with says("Two heads took the fourth place, and two the second. No head attends to the first"):
    claim((looks(model) > 0.5).sum(dim=0).tolist() == [0, 2, 0, 2])


def places(run):
    """How many heads give each of the four places more than half of their weight."""
    on = torch.tensor([[run[f"{h} on {a}"] for a in range(4)] for h in range(4)])
    return (on > 0.5).sum(dim=0).tolist()


worst, later = short.loc[order[:4]], long.loc[order]
with says("In the four worst short runs two places have no head"):
    taken = [places(run) for _, run in worst.iterrows()]
    claim([some.count(0) for some in taken] == [2] * 4)
with says("after 800 steps four layers of ten have two places without a head."):
    taken = [places(run) for _, run in short.iterrows()]
    claim([some.count(0) >= 2 for some in taken].count(True) == 4)
with says("in nine long runs each has its own."):
    best = [
        [max(run[f"{h} on {a}"] for h in range(4)) for a in range(4)] for _, run in later.iterrows()
    ]
    claim(sum(min(most) > 0.9 for most in best) == 9)
with says("so four heads get no more right than two."):
    claim(judge(model)["accuracy"] <= mean[2, 8])
with says("Three times as long at half the rate, nine of ten reach 1.00."):
    claim((later["accuracy"] >= 0.995).sum() == 9)
with says("at half the rate the layer above gets 0.86, with three times as many steps 0.80."):
    for steps, rate, told in ((800, 0.02, 0.86), (2400, 0.04, 0.8)):
        at = [{"steps": steps, "rate": rate}]
        alone = run_all(run_heads, at, [3], file="results/09-heads.csv")["accuracy"]
        claim(alone.item(), told - 0.006, told + 0.006)


def long_runs(heads, width, rate, seeds):
    at = [{"heads": heads, "width": width, "D": 16, "steps": 7200, "rate": rate}]
    return run_all(run_recall, at, range(seeds), file="results/09-recall.csv")["accuracy"]


with says(
    "Sixteen heads of 1 still get less right than one head, and one head and two get no more"
):
    claim(long_runs(1, 16, 0.005, 1).max() < 0.395)
    claim(long_runs(2, 8, 0.01, 1).max() <= mean[2, 8])
    claim(long_runs(16, 1, 0.02, 2).max() < mean[1, 16])
with says("two of eight layers come above 0.9."):
    eight = long_runs(8, 2, 0.02, 8).sort_values().tolist()
    claim(eight[5] < 0.775 and eight[6] > 0.9)
    claim(eight[0], (2 + 2 * 0.18) / 4 - 0.005, 0.595)
with says("0.94 right on average with keys of 4 numbers and values of 1, 0.41 with keys of 1"):
    for keys, values, told in ((4, 1, 0.94), (1, 4, 0.41)):
        at = [{"keys": keys, "values": values, "rate": 0.02}]
        found = run_all(run_narrow, at, range(8), file="results/09-narrow.csv")["accuracy"]
        claim(found.mean(), told - 0.005, told + 0.005)

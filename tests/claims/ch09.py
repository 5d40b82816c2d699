"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

plane = torch.tensor(list(places.values()))  # A, B, C: (S, D)
asking = torch.tensor([[2.0, 2]])
one_head, two_heads = (weights_of(asking, plane, H)[:, 0] for H in (1, 2))
with says("One head of two numbers gives most of its weight to C."):
    claim(one_head[0, 2], at_least=0.6)
with says("and prefers A. Head 1 prefers B. C comes second in both and first in neither."):
    claim(two_heads.argmax(dim=1).tolist() == [0, 1])
    claim((two_heads.argsort(dim=1)[:, 1] == 2).all())

with says("a head of 2 numbers about 7, and a head of 8 nearly all."):
    claim(sum(won[2]) / 100, 6.5, 7.8)
    claim(sum(won[8]) / 100, at_least=31)


def on_itself(keys, largest):
    return (largest * keys @ keys.T).softmax(dim=-1)[0, 0]


with says(
    "the next key scores 0.98 times as much, so the winner's score must reach 275 for a weight of 0.99."
):
    angles = torch.arange(32) * 2 * torch.pi / 32
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)
    claim(circle[0] @ circle[1], 0.975, 0.985)
    claim(on_itself(circle, 275), 0.989, 0.991)
with says("With a direction of its own for each key, in 32 numbers, 8.1 is enough."):
    claim(on_itself(torch.eye(32), 8.1), 0.99, 0.991)

with says("A layer with $D = 512$ has 1,050,624 parameters, with 1 head or with 64."):
    for H in (1, 64):
        layer = nn.MultiheadAttention(512, H)
        claim(sum(p.numel() for p in layer.parameters()) == 4 * 512**2 + 4 * 512 == 1_050_624)
with says("grows from 6.3 MB to 72.4 MB, and with a fused kernel from 5.2 to 5.4."):
    x = torch.randn(1, 512, 512)
    for H, mb, less in ((1, 6.3, 5.2), (64, 72.4, 5.4)):
        claim(cost(H)[2], mb - 0.05, mb + 0.05)
        claim(cost(H)[3], less - 0.06, less + 0.06)
with says("numbers kept for the backward pass | $5 B T D + B H T^2$"):
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
with says("there even need_weights=False stores the squares."):
    x = torch.randn(1, 512, 512)
    dropped = nn.MultiheadAttention(512, 8, dropout=0.1, batch_first=True)
    claim(kept_bytes(lambda: dropped(x, x, x, need_weights=False)) / 1e6, at_least=13.6)

with says("in this run two heads took the same place, twice, and two places are left to nobody."):
    claim(sorted((looks(model) > 0.5).sum(dim=0).tolist()) == [0, 0, 2, 2])

on = ten[[f"{h} on {a}" for h in range(4) for a in range(4)]].to_numpy().reshape(10, 4, 4)
served = (on > 0.5).any(axis=1).sum(axis=1)  # places that some head gives more than half
with says("In three of the four worst of these runs the heads have doubled up, two by two."):
    pairs_of_heads = [sorted((run > 0.5).sum(axis=0).tolist()) for run in on[:4]]
    claim(pairs_of_heads.count([0, 0, 2, 2]) == 3)
with says("(Exercise 1 works out the accuracy that this gives, and it is theirs.)"):
    claim((2 + 2 * chance) / 4, 0.585, 0.595)
    claim(ten["accuracy"][0], 0.58, 0.6)
    claim(ten["accuracy"][2], 0.58, 0.6)
with says("It takes more steps and a lower rate"):
    for steps, rate, *accuracies in (
        (800, 0.02, 0.79, 0.83),
        (2400, 0.04, 0.8, 1.0),
        (2400, 0.02, 1.0, 1.0),
    ):
        at = {"heads": 4, "width": 4, "D": 16, "conv": 0, "steps": steps, "rate": rate}
        trial = run_all(run_recall, [at], [100, 101], file="results/09-recall.csv")["accuracy"]
        for seen, said in zip(trial, accuracies, strict=True):
            claim(seen, said - 0.0051, said + 0.0051)
with says("at half the learning rate, nine of the same ten find all four."):
    claim((ten["longer"] > 0.999).sum() == 9)
    claim((ten.loc[served <= 2, "longer"] > 0.999).all())
with says("After 800 steps, four of ten runs leave two of the four places to nobody"):
    claim((served[:4] == 2).all())
    claim((served == 2).sum() == 4)

short = {
    name: at_best_rate(*layers[name], steps=800)["accuracy"].mean()
    for name in ("8 heads of 2", "4 heads of 4", "4 wide heads of 16", "16 heads of 4")
}
now = {name: at_best_rate(*shape)["accuracy"] for name, shape in layers.items()}
with says("and are at 0.71, after 0.45 at 800 steps."):
    claim(now["8 heads of 2"].mean(), 0.7, 0.715)
    claim(short["8 heads of 2"], 0.445, 0.455)
with says("their lead over four heads of 4 is −0.04 (−0.10 to 0.02), so 0.02 at most."):
    gaps = now["4 wide heads of 16"] - now["4 heads of 4"]
    half = stats.t.ppf(0.975, 7) * gaps.sem()
    claim(gaps.mean(), -0.045, -0.035)
    claim(gaps.mean() - half, -0.105, -0.095)
    claim(gaps.mean() + half, 0.015, 0.025)
with says("The convolution is behind these, by 0.10 (0.04 to 0.15)."):
    behind = now["4 heads of 4"] - now["4 wide heads, convolution"]
    half = stats.t.ppf(0.975, 7) * behind.sem()
    claim(behind.mean(), 0.09, 0.105)
    claim(behind.mean() - half, 0.03, 0.045)
    claim(behind.mean() + half, 0.145, 0.155)
with says("found all but everything, for no more parameters than wide heads."):
    for name in ("16 heads of 4", "4 heads of 5, D = 20"):
        claim(now[name].min(), at_least=0.99)
        claim(
            sum(p.numel() for p in Recall(*[layers[name][i] for i in (2, 0, 1)]).parameters()),
            at_most=10_096,
        )
with says("four heads of 4, sixteen of them and the wide heads were all at 0.76 to 0.78."):
    for name in ("4 heads of 4", "4 wide heads of 16", "16 heads of 4"):
        claim(short[name], 0.755, 0.785)
with says("four heads of 4 are ahead of eight heads of 2."):
    claim(short["4 heads of 4"] - short["8 heads of 2"], at_least=0.2)
    ahead = now["4 heads of 4"] - now["8 heads of 2"]
    claim(ahead.mean() - stats.t.ppf(0.975, 7) * ahead.sem(), at_least=0.1)
with says("and either model has 10,096 parameters."):
    for conv in (0, 1):
        claim(sum(p.numel() for p in Recall(16, 4, 16, conv).parameters()) == 10_096)
with says("Say for which of these tokens 1 head and 64 heads are more than a tenth apart"):
    for name, x in tokens.items():
        few, many = ones_layer(x, 1), ones_layer(x, 64)
        gap = (few - many).norm() / few.norm()
        claim(gap, **({"at_least": 0.2} if name == "randn / 100" else {"at_most": 0.05}))

"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from scipy import stats

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
    torch.manual_seed(0)
    clouds = {width: torch.randn(100, 32, width) for width in (2, 4, 8)}
    won = {w: sum(len(ConvexHull(c).vertices) for c in many) for w, many in clouds.items()}
    claim(won[2] / 100, 6.5, 7.8)
    claim(won[8] / 100, at_least=31)
with says("Of more keys it is a smaller share."):
    for width in (2, 4):
        more = len(ConvexHull(torch.randn(512, width)).vertices) / 512
        claim(more < 0.5 * won[width] / 3200)
for width in (2, 3, 4, 8):
    sphere = F.normalize(torch.randn(100, 32, width), dim=-1)  # (clouds, S, D_head)
    found = sphere @ sphere.mT  # the query that is the key itself
    with says("and all 32 can win at any width from 2 on."):
        claim((found.argmax(dim=-1) == torch.arange(32)).double().mean(), at_least=0.99)
    if width == 2:
        with says("the runner-up scores on average 0.99 times as much."):
            claim(found.topk(2, dim=-1).values[..., 1].mean(), 0.985, 0.995)

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
with says("even with `need_weights=False` 64 heads then keep about 207 MB."):
    x = torch.randn(1, 512, 512)
    for kind in (
        MultiHeadAttention,
        lambda *a, **b: nn.MultiheadAttention(*a, **b, batch_first=True),
    ):
        dropped = kind(512, 64, dropout=0.1)
        claim(kept_bytes(lambda layer=dropped: layer(x, x, x, need_weights=False)) / 1e6, 206, 209)
with says(
    "forward and backward take more than twice as long as with one, fused or not.", timed=True
):
    for fused in (False, True):
        calls = {H: partial(both_passes, measured[H], fused) for H in (1, 64)}
        turns = in_turns(calls, rounds=5)
        claim((turns[64] / turns[1]).median(), at_least=2)

with says("in this run two heads took the same place, twice, and two places are left to nobody."):
    claim(sorted((looks(model) > 0.5).sum(dim=0).tolist()) == [0, 0, 2, 2])

looked = ten[[f"{h} on {a}" for h in range(4) for a in range(4)]].to_numpy().reshape(10, 4, 4)
served = (looked > 0.5).any(axis=1).sum(axis=1)  # places that some head gives more than half
with says("In three of the four worst, the heads have doubled up, two by two."):
    pairs_of_heads = [sorted((run > 0.5).sum(axis=0).tolist()) for run in looked[:4]]
    claim(pairs_of_heads.count([0, 0, 2, 2]) == 3)
with says("(Exercise 1 works out the accuracy that this gives, and it is theirs.)"):
    claim((2 + 2 * chance) / 4, 0.585, 0.595)
    claim(ten["accuracy"][0], 0.58, 0.6)
    claim(ten["accuracy"][2], 0.58, 0.6)
with says("In the four worst of ten runs, two places are left to nobody."):
    claim((served[:4] == 2).all())
    claim((served == 2).sum() == 4)
with says("None reaches 0.99. Mostly they end at 0.80"):
    claim(len(on) == 8)
    claim(on["accuracy"].max(), at_most=0.9899)
    claim(((on["accuracy"] > 0.79) & (on["accuracy"] < 0.81)).sum(), at_least=6)
rows = run_all(run_recall, at, range(10), file="results/09-recall.csv")
reached = {where: some["accuracy"] for where, some in rows.groupby(["steps", "rate"])}
with says("only both together: then 9 of ten runs reach 0.99, otherwise 3 at most."):
    many = {where: (some >= 0.99).sum() for where, some in reached.items()}
    claim(many.pop((2400, 0.02)) == 9)
    claim(max(many.values()) == 3)
    for where in many:  # paired by seed
        claim(stats.wilcoxon(reached[2400, 0.02], reached[where]).pvalue, at_most=0.05)

short = {
    name: at_best_rate(*shape, steps=800)["accuracy"]
    for name, shape in layers.items()
    if "convolution" not in name
}
now = {name: at_best_rate(*shape)["accuracy"] for name, shape in layers.items()}
sizes = {n: sum(p.numel() for p in Recall(*s).parameters()) for n, s in layers.items()}
with says(
    "Eight heads of 2 have as many parameters as four heads of 4, and at either length a lower mean."
):
    claim(sizes["8 heads of 2"] == sizes["4 heads of 4"])
    for length in (short, now):
        gaps = length["4 heads of 4"] - length["8 heads of 2"]
        claim(gaps.mean(), at_least=0.2)
        claim(stats.ttest_rel(length["4 heads of 4"], length["8 heads of 2"]).pvalue, at_most=0.01)
with says("None of their runs reaches 0.99."):
    claim(max(short["8 heads of 2"].max(), now["8 heads of 2"].max()), at_most=0.9899)
with says("with 47 % more parameters: 3 of 8 runs reach 0.99, against 7 with four heads of 4."):
    claim(sizes["4 wide heads of 16"] / sizes["4 heads of 4"], 1.465, 1.475)
    claim((now["4 wide heads of 16"] >= 0.99).sum() == 3)
    claim((now["4 heads of 4"] >= 0.99).sum() == 7)
with says("With the convolution 1 does."):
    claim((now["4 wide heads, convolution"] >= 0.99).sum() == 1)
with says("reached it in all eight runs, for no more parameters than wide heads."):
    for name in ("16 heads of 4", "4 heads of 5, D = 20"):
        claim(now[name].min(), at_least=0.99)
        claim(sizes[name] <= sizes["4 wide heads of 16"])
with says("After 800 steps four heads of 5 were ahead, at 0.95"):
    claim(short["4 heads of 5, D = 20"].mean(), 0.945, 0.955)
with says("four heads of 4, sixteen of them and wide heads were all at 0.76 to 0.78"):
    for name in ("4 heads of 4", "4 wide heads of 16", "16 heads of 4"):
        claim(short[name].mean(), 0.755, 0.785)
with says("and either model has 10,096 parameters."):
    for conv in (0, 1):
        claim(sum(p.numel() for p in Recall(16, 4, 16, conv).parameters()) == 10_096)
with says("Say for which of these tokens 1 head and 64 heads are more than a tenth apart"):
    for name, x in tokens.items():
        few, many = ones_layer(x, 1), ones_layer(x, 64)
        gap = (few - many).norm() / few.norm()
        claim(gap, **({"at_least": 0.2} if name == "randn / 100" else {"at_most": 0.05}))

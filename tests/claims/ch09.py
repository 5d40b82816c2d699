"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from functools import partial

from tools.claims import claim, says

triangle = [math.radians(degrees) for degrees in (75, 195, 315)]
plane = torch.tensor([[math.cos(a), math.sin(a)] for a in triangle])  # A, B, C: (S, 2)
with says("the key that lies farthest along it wins"):
    claim(found(plane, plane) == ["A", "B", "C"])
with says("and no query prefers the key between them"):
    many = torch.randn(1000, 1)  # queries of one number, from any W^Q
    for degrees in range(180):
        turn = math.radians(degrees + 0.5)
        alone = plane @ torch.tensor([[math.cos(turn)], [math.sin(turn)]])
        won = set(found(many, alone))
        claim(won == {"ABC"[alone.argmax()], "ABC"[alone.argmin()]})

with says("a head of 2 numbers about 7, and a head of 8 nearly all."):
    torch.manual_seed(0)
    clouds = {width: torch.randn(100, 32, width) for width in (2, 4, 8)}
    won = {w: sum(len(ConvexHull(c).vertices) for c in many) for w, many in clouds.items()}
    claim(won[2] / 100, 6.5, 7.8)
    claim(won[8] / 100, at_least=31)
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
with says("on a CPU even where nobody asks for weights"):
    x = torch.randn(1, 512, 512)
    for kind in (MultiHeadAttention, partial(nn.MultiheadAttention, batch_first=True)):
        layer = kind(512, 64, dropout=0.1)
        three = 4 * (5 * 512**2 + 3 * 64 * 512**2)
        for asked in (True, False):
            stored = kept_bytes(lambda asked=asked, it=layer: it(x, x, x, need_weights=asked))
            claim(stored / three, 0.99, 1.02)
with says("Here two heads took the fourth place, and two the second. No head attends to the first"):
    claim((looks(model) > 0.5).sum(dim=0).tolist() == [0, 2, 0, 2])


def places(run):
    """How many heads give each of the four places more than half of their weight."""
    on = torch.tensor([[run[f"{h} on {a}"] for a in range(4)] for h in range(4)])
    return (on > 0.5).sum(dim=0).tolist()


worst, later = short.loc[order[:4]], long.loc[order]
with says("In three of them the heads have doubled up, two by two."):
    taken = [sorted(places(run)) for _, run in worst.iterrows()]
    claim(taken.count([0, 0, 2, 2]) == 3)
with says("In the four worst short runs two places have no head"):
    claim([some.count(0) for some in taken] == [2] * 4)
with says("After 2,400 steps each place has one head that gives it more than half of its weight."):
    claim([places(run) for _, run in later.iterrows()].count([1] * 4) == 10)
with says("(Exercise 1 works out the accuracy that this gives.)"):
    claim((2 + 2 * chance) / 4, 0.585, 0.595)
    claim(short["accuracy"][order[0]], 0.58, 0.6)
many = runs.groupby(["steps", "rate"])["reach 0.99"].sum()
with says(
    "nine of the same ten reach an accuracy of 0.99; neither change alone brings more than three there"
):
    claim(many[2400, 0.02] == 9)
    claim(max(many[800, 0.02], many[2400, 0.04], many[800, 0.04]) <= 3)

sizes = {name: size_of(*layer) for name, layer in layers.items()}
wide, plain = (best[name]["accuracy"] for name in ("4 wide heads of 16", "4 heads of 4"))
with says("Eight heads of 2 cost as much as four heads of 4, and do worse."):
    claim(sizes["8 heads of 2"] == sizes["4 heads of 4"])
    gaps = plain - best["8 heads of 2"]["accuracy"]
    claim(gaps.mean(), at_least=0.2)
    claim(gaps.min(), at_least=0)
with says("Wide heads have 47 % more parameters and bought nothing in 2,400 steps."):
    claim(sizes["4 wide heads of 16"] / sizes["4 heads of 4"], 1.465, 1.475)
    claim(wide.mean() < plain.mean())
with says("found the answers in all eight runs"):
    for name in ("16 heads of 4", "4 heads of 5, D = 20"):
        claim(best[name]["accuracy"].min(), at_least=0.99)
        claim(sizes[name] <= sizes["4 wide heads of 16"])

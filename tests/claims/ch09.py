"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from scipy.spatial import ConvexHull

from tools.claims import claim, says

mean = {split: rows["accuracy"].mean() for split, rows in hill.items()}
with says("One head is worst, and too many are worse again."):
    claim(list(BLEU.values()) == [24.9, 25.5, 25.8, 25.8, 25.4])
with says("The parameters stay the same, 6,880."):
    sizes = {n: sum(p.numel() for p in Recall(16, *n).parameters()) for n in splits}
    claim(set(sizes.values()) == {6880})
with says("one head gets 0.39 right on average, two get 0.61, four 0.99."):
    for split, told in (((1, 16), 0.39), ((2, 8), 0.61), ((4, 4), 0.99)):
        claim(mean[split], told - 0.005, told + 0.005)
    many = at_best_rate(16, 4, D=16)["accuracy"]  # spare heads do not hurt
    claim(many.min(), at_least=0.99)
with says("One head finds one value of the four, and guesses the rest: 0.39."):
    claim(mean[1, 16], 0.385, 0.395)
with says("Sixteen heads of 1 get a third, less than a single head does."):
    claim(mean[16, 1] < mean[1, 16])
    claim(mean[16, 1], 0.31, 0.35)

triangle = [math.radians(degrees) for degrees in (75, 195, 315)]
plane = torch.tensor([[math.cos(a), math.sin(a)] for a in triangle])  # A, B, C: (S, 2)
with says("the key that lies farthest along it wins"):
    claim((plane @ plane.T).argmax(dim=1).tolist() == [0, 1, 2])
with says("and no query prefers the key between them"):
    some = torch.randn(1000, 1)  # queries of one number, from any W^Q
    for degrees in range(180):
        turn = math.radians(degrees + 0.5)
        alone = plane @ torch.tensor([[math.cos(turn)], [math.sin(turn)]])
        won = set((some @ alone.T).argmax(dim=1).tolist())
        claim(won == {int(alone.argmax()), int(alone.argmin())})
with says("Not A."):
    flat = plane[:, 0].tolist()
    claim(min(flat[1:]) < flat[0] < max(flat[1:]))

with says("With more numbers fewer keys lie between others."):
    clouds = {width: torch.randn(100, 16, width) for width in (2, 4, 8)}
    rim = {w: [len(ConvexHull(cloud).vertices) for cloud in many] for w, many in clouds.items()}
    claim(sum(rim[2]) < sum(rim[4]) < sum(rim[8]))
with says("each time the layer has the same 1,050,624 parameters."):
    for H in (1, 8, 32):
        layer = nn.MultiheadAttention(512, H)
        claim(sum(p.numel() for p in layer.parameters()) == 4 * 512**2 + 4 * 512 == 1_050_624)
with says("grows from 6.3 MB to 72.4; with a fused kernel from 5.2 to 5.4."):
    x = torch.randn(1, 512, 512)
    for H, mb, less in ((1, 6.3, 5.2), (64, 72.4, 5.4)):
        claim(cost(H)[2], mb - 0.05, mb + 0.05)
        claim(cost(H)[3], less - 0.06, less + 0.06)
with says("For the backward pass a layer keeps five arrays `(T, D)`"):
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
with says(
    "Two heads took the fourth place, and two the second. No head attends to the first or the third"
):
    claim((looks(model) > 0.5).sum(dim=0).tolist() == [0, 2, 0, 2])


def places(run):
    """How many heads give each of the four places more than half of their weight."""
    on = torch.tensor([[run[f"{h} on {a}"] for a in range(4)] for h in range(4)])
    return (on > 0.5).sum(dim=0).tolist()


worst, later = short.loc[order[:4]], long.loc[order]
with says("In the four worst short runs two places have no head"):
    taken = [places(run) for _, run in worst.iterrows()]
    claim([some.count(0) for some in taken] == [2] * 4)
with says("After 800 steps four of ten layers have two places without a head."):
    taken = [places(run) for _, run in short.iterrows()]
    claim([some.count(0) >= 2 for some in taken].count(True) == 4)
with says("in the long runs each has one."):
    claim([places(run) for _, run in later.iterrows()].count([1] * 4) == 10)
with says("and so four heads get no more right than two."):
    claim(judge(model)["accuracy"] <= mean[2, 8])
with says("The longer, slower training brings nine of the ten to 1.00."):
    claim((later["accuracy"] >= 0.995).sum() == 9)
with says(
    "sixteen heads get 0.94 right on average with keys of 4 numbers and values of 1, 0.41 with keys of 1 and values of 4."
):
    for keys, values, told in ((4, 1, 0.94), (1, 4, 0.41)):
        at = [{"keys": keys, "values": values, "rate": 0.02}]
        found = run_all(run_narrow, at, range(8), file="results/09-narrow.csv")["accuracy"]
        claim(found.mean(), told - 0.005, told + 0.005)

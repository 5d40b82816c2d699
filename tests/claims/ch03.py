"""What chapter 3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("two heads with the same 480 parameters end below 0.001 in eight runs of eight."):
    one, two = ([error(trained[H, seed]) for seed in range(8)] for H in (1, 2))
    claim(min(one), 0.495, 0.505)
    claim(max(one), 0.495, 0.505)
    claim(max(two), at_most=0.001)
    for H in (1, 2):
        claim(sum(p.numel() for p in trained[H, 0].parameters()) == 480)
with says("the best factor leaves these errors:"):
    two_cards = torch.randn(2, 100_000, generator=torch.Generator().manual_seed(0))
    for i in range(0, 101, 10):
        o = leaning[i] * two_cards[0] + (1 - leaning[i]) * two_cards[1]
        best = (two_cards @ o / (o @ o))[:, None] * o  # (2, 100000)
        for left, line in zip((two_cards - best).square().mean(dim=1), lost.values(), strict=True):
            claim((left - line[i]).abs(), at_most=0.01)
with says("for those no deep network after the layer would help."):
    # For normal numbers the best guess is linear; for numbers of +1 and -1 the sums tell the cards.
    sums = {2 * first + second for first in (1, -1) for second in (1, -1)}  # times 3
    claim(len(sums) == 4)
with says("Subtracting gives back the cards:"):
    v = torch.randn(2, 6, generator=torch.Generator().manual_seed(0))
    o_0, o_1 = 0.75 * v[0] + 0.25 * v[1], 0.25 * v[0] + 0.75 * v[1]
    claim(torch.allclose(1.5 * o_0 - 0.5 * o_1, v[0], atol=1e-6))
    claim(torch.allclose(1.5 * o_1 - 0.5 * o_0, v[1], atol=1e-6))
with says("Here the heads have 324 parameters together, however many they are, and $W^O$"):
    for H in (1, 2, 3, 4, 6, 12):
        layer = LoopOverHeads(12, H, kdim=6, vdim=6)
        claim(sum(p.numel() for p in layer.heads.parameters()) == 324)
        claim(sum(p.numel() for p in layer.out_proj.parameters()) == 156)
with says("Nobody told the heads to divide the work"):
    places = torch.tensor(asked)[:, :, None]  # (T, 2, 1)
    on = weights[0].unsqueeze(2).expand(2, 3, 2, 6).gather(3, places.expand(2, 3, 2, 1)).squeeze(3)
    claim(on.amax(dim=2).min(), at_least=0.6)
    claim(on.mean(dim=1).argmax(dim=1).sum() == 1)

with says("Cut into two, four or six heads, the 444 parameters end below 0.001 in all eight runs;"):
    for H in (1, 2, 3, 4, 6, 12):
        heads, qk_width, v_width, _ = widths["1 head" if H == 1 else f"{H} heads"]
        claim(heads * (12 * qk_width + qk_width + 6 * qk_width + 6 * v_width + v_width * 12) == 444)
    for H in (2, 4, 6):
        claim(ends[f"{H} heads"].max(), at_most=0.001)
with says("cut into twelve, one number wide, they end at 0.42 to 0.46."):
    claim(ends["12 heads"].min(), 0.41, 0.44)
    claim(ends["12 heads"].max(), 0.44, 0.48)
with says("With queries and keys of two numbers, or values of six, twelve heads win as well."):
    claim(ends["… q, k: 2"].max(), at_most=0.001)
    claim(ends["… v: 6"].max(), at_most=0.001)
with says("by a hundredth or two.)"):
    claim((ends["3 heads"] > 0.001).sum(), 2, 4)
    claim(ends["3 heads"].max(), 0.005, 0.025)
with says("a head can single out the guest at either end and nobody in between."):
    line = torch.randn(100, 6, generator=torch.Generator().manual_seed(0))  # keys of one number
    asks = torch.linspace(-50, 50, 1001)[:, None, None]
    ends = torch.stack([line.argmin(dim=1), line.argmax(dim=1)])  # (2, 100)
    claim(((asks * line).argmax(dim=-1)[asks[:, 0, 0] != 0, None] == ends).any(dim=1).all())
with says(
    "With two numbers the guests fit on a circle, each the furthest in a direction of its own."
):
    angles = torch.arange(6) * torch.pi / 3
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)  # (6, 2)
    claim(torch.equal((circle @ circle.T).argmax(dim=1), torch.arange(6)))
with says("One, two and three heads end at 0.67, 0.33 and 0.00:"):
    for H, end in ((1, 0.67), (2, 0.33), (3, 0.00)):
        claim(error(play(H, seed=0, asked=3), asked=3), end - 0.007, end + 0.007)

"""What chapter 11 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("At 16,384 tokens they fill 1 GiB for a single head"):
    claim(16_384**2 * 4 == 2**30)

with says("The last average, 2.80, is that of all nine keys."):
    nine = torch.tensor([0.7, 0.2, 1.1, 2.0, 0.4, 0.9, 0.3, 1.6, 0.8])
    held = torch.tensor([1.0, 3.0, 2.0, 5.0, 0.0, 1.0, 4.0, 2.0, 3.0])
    claim(walk(nine, held, tile=3)[0], 2.795, 2.805)
    claim(nine.softmax(dim=0) @ held, 2.795, 2.805)
    claim(walk(nine[:3], held[:3], tile=3)[0], 1.865, 1.875)

with says("In the code the three are top, total and mixed:"):
    rows = {"random": torch.randn(1000), "large": 100 * torch.randn(1000)}
    rows["rising"] = torch.linspace(-50, 50, 1000)
    rows["first tiles blocked"] = torch.randn(1000)
    rows["first tiles blocked"][:300] = -math.inf
    many = torch.randn(1000, 64)
    for row in rows.values():
        for tile in (1, 64, 300, 2000):
            got, behind = walk(row, many, tile)
            claim((got - row.softmax(dim=0) @ many).abs().max(), at_most=1e-5)
            torch.testing.assert_close(behind, row.logsumexp(dim=0))

with says("Because $e^{89}$ is too large for float32, and $e^{12}$ for float16."):
    claim(torch.tensor(89.0).exp() == math.inf)
    claim(torch.tensor(12.0).half().exp() == math.inf)

with says("each key counts as $e^0 = 1$, and out comes the mean of all values"):
    blind = walk(torch.full((6,), -1e9), torch.arange(6.0), 3)[0]
    claim(blind, 2.49, 2.51)

with says("With $-\\infty$ you get NaN, and see it."):
    nothing, lowest = walk(torch.full((6,), -math.inf), torch.arange(6.0), 3)
    claim(nothing.isnan() and lowest == -math.inf)

with says("exactly up to rounding, any number of them, in any order"):
    q, k, v = (x.detach() for x in (q, k, v))
    for size in (1, 9, 50):
        cut = [attend(q, *kv) for kv in zip(k.split(size), v.split(size), strict=True)]
        for mixed_up in (cut, cut[::-1], cut[1::2] + cut[::2]):
            again, behind = reduce(merge, mixed_up)
            claim((again - attend(q, k, v)[0]).abs().max(), at_most=1e-12)
            claim((behind - attend(q, k, v)[1]).abs().max(), at_most=1e-12)

with says("Both vectors are known before the first tile is read."):
    claim(max(gaps), at_most=1e-12)

with says(
    "their gradient and that of the scores), 768 MiB at 8,192 tokens. Tiles take less than a thirtieth"
):
    claim(12 * 8192**2 == 768 * 2**20)
    if not math.isnan(peaks["stored", 8192]):
        claim(peaks["stored", 8192], 700, 900)
        claim(peaks["tiled", 8192], at_most=768 / 30)

with says("One layer looks back $w - 1$ places, and $L$ layers $L (w - 1)$."):
    one = window_mask(40, WINDOW).long()
    seen = one
    for L in range(2, 8):
        seen = (seen @ one).clamp(max=1)
        claim(torch.equal(seen.bool(), window_mask(40, L * (WINDOW - 1) + 1)))

with says("each model of two layers is right in more than 90 % of the questions from 6 to 10"):
    claim(shares(2, 600, range(6, 11)).mean(axis=1).min(), at_least=0.9)

with says("each of three in more than 70 % from 11 to 15, and beyond they guess"):
    claim(shares(3, 600, range(11, 16)).mean(axis=1).min(), at_least=0.7)
    for L in (1, 2, 3):
        beyond = shares(L, 600, range(L * (WINDOW - 1) + 1, TOKENS))
        claim(beyond.mean(), 0.09, 0.16)  # guessing is 0.125

with says("after 50 of the 600 steps, three layers were right in 23 % of the questions"):
    claim(shares(3, 50, range(11, 16)).mean(), 0.18, 0.28)

with says("What one layer sees is learned first, and what must be relayed comes later."):
    early = live[50].split([5, 5, 9])
    claim(early[0].mean() - early[1].mean(), at_least=0.03)
    claim(live[400][5:10].mean(), at_least=0.9)

cost = {name: more[name][:, 4:].mean(axis=1) for name in more}  # (seeds,), from place 64 on
with says(
    "Put on after training, a window of 32 costs 0.166 nats a character (0.087 to 0.246, eight models)"
):
    claim(cost["window"].mean(), 0.1, 0.25)

with says("and if it keeps the first key, 0.004."):
    claim(cost["window and first"].max(), at_most=0.02)
    claim((cost["window and first"] < 0.5 * cost["window"]).all())

with says("Keeping the ninth key helps nothing."):
    claim(abs(cost["window and ninth"] - cost["window"]).max(), at_most=0.01)

with says("Their line lies below zero from the first place on, where both see the same"):
    claim(more["trained with the window"].mean(axis=0).max(), at_most=0)

with says("is between −0.016 and 0.012 nats (95 %)"):
    soon = more["trained with the window"][:, :2].mean(axis=1)  # before place 32
    claim((cost["trained with the window"] - soon).mean(), -0.02, 0.02)

with says("The millionth token costs what the first does."):
    claim(gap, at_most=1e-10)

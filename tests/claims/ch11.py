"""What chapter 11 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("At 16,384 tokens they fill 1 GiB for a single head"):
    claim(16_384**2 * 4 == 2**30)

with says("9.89 / 3.53 = 2.80, the average over all nine keys."):
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

with says("and $-\\infty - (-\\infty)$ is NaN."):
    claim((torch.tensor(-math.inf) - torch.tensor(-math.inf)).isnan())

with says("exactly up to rounding, any number of them, in any order"):
    q, k, v = (x.detach() for x in (q, k, v))
    for size in (1, 9, 50):
        cut = [attend(q, *kv) for kv in zip(k.split(size), v.split(size), strict=True)]
        for mixed_up in (cut, cut[::-1], cut[1::2] + cut[::2]):
            again, behind = reduce(merge, mixed_up)
            claim((again - attend(q, k, v)[0]).abs().max(), at_most=1e-12)
            claim((behind - attend(q, k, v)[1]).abs().max(), at_most=1e-12)

with says("write zeros into that output. And keep the log-sums in float32"):
    sees = torch.ones(12, 12).bool().tril()
    few = [x[:12] for x in (q, k, v)]
    s = (few[0] @ few[1].mT / 8).masked_fill(~sees, -math.inf)
    cut = zip(s.split(4, dim=1), few[2].split(4), strict=True)
    cut = [(a.softmax(dim=1), a.logsumexp(dim=1, keepdim=True), b) for a, b in cut]
    claim(reduce(merge, [(a @ b, lse) for a, lse, b in cut])[0].isnan().any())
    again, _ = reduce(merge, [(a.nan_to_num() @ b, lse) for a, lse, b in cut])
    claim((again - s.softmax(dim=1) @ few[2]).abs().max(), at_most=1e-12)
    q2, k2, v2 = torch.randn(100, 64), torch.randn(4096, 64), torch.randn(4096, 64)
    exact = attend(q2, k2, v2)[0]
    cut = [attend(q2, *kv) for kv in zip(k2.split(64), v2.split(64), strict=True)]
    off = {}
    for dtype in (torch.bfloat16, torch.float32):
        halves = [(o.bfloat16().to(dtype), lse.to(dtype)) for o, lse in cut]
        off[dtype] = (reduce(merge, halves)[0] - exact).norm() / exact.norm()
    claim(off[torch.bfloat16], at_least=0.1)
    claim(off[torch.float32], at_most=0.01)

with says("Both vectors are known before the first tile is read."):
    claim(max(gaps), at_most=1e-12)

with says(
    "their gradient and that of the scores: 768 MiB at 8,192 tokens. At this length tiles take less than a thirtieth"
):
    claim(12 * 8192**2 == 768 * 2**20)
    if not math.isnan(peaks["stored", 8192]):
        claim(peaks["stored", 8192], 700, 900)
        claim(peaks["tiled", 8192], at_most=768 / 30)
        shorter = peaks["stored", 2048] / peaks["tiled", 2048]
        claim(shorter, 5, peaks["stored", 8192] / peaks["tiled", 8192])

with says("One layer looks back $w - 1$ places, and $L$ layers $L (w - 1)$."):
    one = window_mask(40, WINDOW).long()
    seen = one
    for L in range(2, 8):
        seen = (seen @ one).clamp(max=1)
        claim(torch.equal(seen.bool(), window_mask(40, L * (WINDOW - 1) + 1)))

with says("a mean recall above 0.9 from 6 to 10 places back with each of eight seeds"):
    claim(shares(2, 600, range(6, 11)).mean(axis=1).min(), at_least=0.9)

with says("eight seeds, and beyond they guess"):
    for L in (1, 2, 3):
        beyond = shares(L, 600, range(L * (WINDOW - 1) + 1, TOKENS))
        claim(beyond.mean(axis=1).min(), 0.09, 0.16)  # guessing is 0.125
        claim(beyond.mean(axis=1).max(), 0.09, 0.16)

with says(
    "the six better models have a mean recall above 0.85 from 11 to 15 places back, two below 0.8"
):
    third = shares(3, 600, range(11, 16)).mean(axis=1)
    claim((third > 0.85).sum() == 6 and (third < 0.8).sum() == 2)

with says("Full recall at the last place in reach, and guessing one place beyond."):
    claim(longer["15"].min(), at_least=0.97)
    claim(longer["16"].max(), 0.09, 0.16)
cost = {name: more[name][:, 4:].mean(axis=1) for name in more}  # (seeds,), from place 64 on
with says("Put on after training, a window of 32 costs 0.166 nats a character from place 64 on"):
    claim(cost["window"].mean(), 0.1, 0.25)

with says("(The single models lose from 0.022 to 0.297.)"):
    claim(cost["window"].min(), 0.0215, 0.0225)
    claim(cost["window"].max(), 0.2965, 0.2975)

with says("the window costs less than 0.01 in each model"):
    claim(lost.max(), at_most=0.01)

with says("in the model that lost most"):
    claim(cost["window"].argmax() == 7)

with says("in this one model, most of the harm comes without any window"):
    claim(worst["silent"] - worst["all"], at_least=0.5 * (worst["window"] - worst["all"]))
with says("and if it keeps the first key, 0.004."):
    claim(cost["window and first"].max(), at_most=0.02)
    claim((cost["window and first"] < 0.5 * cost["window"]).all())

with says("Keeping the ninth key does not help."):
    claim(abs(cost["window and ninth"] - cost["window"]).max(), at_most=0.01)

with says("Their line lies below zero from the first place on, where both see the same"):
    claim(more["trained with the window"].mean(axis=0).max(), at_most=0)

with says("they lose only 0.004 without it"):
    claim(cost["window and first"].mean(), 0.0035, 0.0045)

with says("is between −0.016 and 0.012 nats (95 %)"):
    soon = more["trained with the window"][:, :2].mean(axis=1)  # before place 32
    claim((cost["trained with the window"] - soon).mean(), -0.02, 0.02)

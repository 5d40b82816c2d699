"""What chapter 3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("one head ends at an error of 0.50 and two heads end below 0.001."):
    one, two = ([error(trained[H, seed]) for seed in range(8)] for H in (1, 2))
    claim(min(one), 0.49, 0.505)
    claim(max(one), 0.495, 0.515)
    claim(max(two), at_most=0.001)
with says("Both layers have 480 parameters."):
    for H in (1, 2):
        claim(sum(p.numel() for p in trained[H, 0].parameters()) == 480)
with says("The best multiple leaves these errors"):
    two_cards = torch.randn(2, 100_000, generator=torch.manual_seed(0))
    for a, expected in zip(leaning[::10], lost[::10], strict=True):
        o = a * two_cards[0] + (1 - a) * two_cards[1]
        best = (two_cards @ o / (o @ o))[:, None] * o  # (2, 100000)
        claim(((two_cards - best).square().mean(dim=1) - expected).abs().max(), at_most=0.01)
with says("every head gives at least 0.8 of its weight to a name of its own."):
    claim(leading.values.min(), 0.75, 0.9)
    claim((leading.indices.sum(dim=1) == 1).all())
with says("Which head takes which name is an accident of the seed."):
    claim(leading.indices[:, 0].sum(), 1, 7)
with says("For A, then D it puts just under one half on A and on D"):
    claim(average[0, 0, 0], 0.4, 0.5)
    claim(average[0, 0, 3], 0.4, 0.5)

with says("so the nearness that head 0 brings is $0.85 \\cdot 1 + 0.05 \\cdot (-1) = 0.80$."):
    claim(weights[0][0, 1], 0.849, 0.851)
with says("$(0.80, 0.85)$ from head 0, near and a person; $(-0.80, 0.05)$ from head 1"):
    expected = torch.tensor([0.80, 0.85, -0.80, 0.05])
    claim((joined[0] - expected).abs().max(), at_most=0.005)
with says("would bring $(0, 0.5)$: neither near nor far, and half a person."):
    claim(torch.equal((x[1] + x[3]) / 2 @ w_v[0], torch.tensor([0, 0.5])))
with says("The two cans get the same answer, as they must"):
    claim(torch.equal(joined[0], joined[2]))

with says("in all sixteen cases its error is 1.0 or a little more"):
    claim(lost_cards[reads].min(), 0.95, 1.05)
    claim(lost_cards[reads].max(), 0.95, 1.15)
with says("0.004 or below in six of the layers, and 0.03 and 0.04 in the two"):
    worst = stays.max(dim=1).values.sort().values  # (seeds,)
    claim(worst[5], at_most=0.008)
    claim(worst[6], 0.01, 0.06)
    claim(worst[7], 0.01, 0.06)
with says("the share $b / a$ stays in, and that is an error of about $(b/a)^2$"):
    claim((stays - mixed**2).abs().max(), at_most=0.005)
with says("after 400 steps they are at 0.52 to 0.55, in three runs"):
    claim(min(finely), 0.49, 0.56)
    claim(max(finely), 0.50, 0.60)
with says("and one that was trained four times as long is at 0.47."):
    claim(longer, 0.40, 0.499)

with says("In each layer one head looks at the first name, one at the second, and one at both."):
    claim((importance["looks at"] == "both").sum() == 3)
with says("the error without it is 0.69 to 0.78, against 0.43 to 0.69 without one of the others."):
    without = importance.groupby("looks at")["without it"]
    claim(without.min()["both"], 0.5, 0.9)
    claim(without.mean()["both"] > without.mean()["one name"])
with says("the error is 0.33 without any one of the three heads, and 0.67 with any one alone."):
    for measure, third in (("without it, refitted", 1 / 3), ("alone, refitted", 2 / 3)):
        claim(importance[measure].min(), third - 0.03, third + 0.03)
        claim(importance[measure].max(), third - 0.03, third + 0.03)

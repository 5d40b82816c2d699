"""What chapter 3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("two heads with the same 480 parameters end below 0.001 in eight runs of eight."):
    one, two = ([error(trained[H, seed]) for seed in range(8)] for H in (1, 2))
    claim(min(one), 0.495, 0.505)
    claim(max(one), 0.495, 0.505)
    claim(max(two), at_most=0.001)
    for H in (1, 2):
        claim(sum(p.numel() for p in trained[H, 0].parameters()) == 480)
with says("the best multiple leaves these errors:"):
    two_cards = torch.randn(2, 100_000, generator=torch.Generator().manual_seed(0))
    for i in range(0, 101, 10):
        o = leaning[i] * two_cards[0] + (1 - leaning[i]) * two_cards[1]
        best = (two_cards @ o / (o @ o))[:, None] * o  # (2, 100000)
        for left, line in zip((two_cards - best).square().mean(dim=1), lost.values(), strict=True):
            claim((left - line[i]).abs(), at_most=0.01)
with says("Each head has taken one of the two names."):
    places = torch.tensor(asked)[:, :, None]  # (T, 2, 1)
    on = weights[0].unsqueeze(2).expand(2, 3, 2, 6).gather(3, places.expand(2, 3, 2, 1)).squeeze(3)
    claim(on.amax(dim=2).min(), at_least=0.6)
    claim(on.mean(dim=1).argmax(dim=1).sum() == 1)
with says("For *A, then D* the mean shows half on A and half on D"):
    mean = weights[0].mean(dim=0)[0]
    claim(mean[0], 0.35, 0.55)
    claim(mean[3], 0.35, 0.55)
with says("its error rises to 1.0 or more, as bad as answering zeros, for all sixteen heads"):
    claim(goes.min(), at_least=0.97)
with says("The other card loses only what its own head had mixed into it, 0.08 at most"):
    claim(stays.max(), 0.02, 0.12)

with says("into two, four or six heads, and all eight runs of each end below 0.001"):
    claim(runs.query("heads in (2, 4, 6)")["error"].max(), at_most=0.001)
with says(
    "into twelve, one number wide, and they end at 0.41 to 0.45, where a single head has 0.50."
):
    twelve = runs.query("heads == 12")["error"]
    claim(twelve.min(), 0.40, 0.43)
    claim(twelve.max(), 0.43, 0.46)
with says("Three heads stand between"):
    three = runs.query("heads == 3")["error"].sort_values()
    claim(three.iloc[-1], 0.1, 0.2)
    claim(three.iloc[-2], at_most=0.03)
with says("a head can pick out the guest at either end and never one in between."):
    line = torch.randn(100, 6, generator=torch.Generator().manual_seed(0))  # keys of one number
    asks = torch.linspace(-50, 50, 1001)[:, None, None]
    ends = torch.stack([line.argmin(dim=1), line.argmax(dim=1)])  # (2, 100)
    claim(((asks * line).argmax(dim=-1)[asks[:, 0, 0] != 0, None] == ends).any(dim=1).all())
with says("six guests fit on a circle, and each is the furthest in a direction of its own."):
    angles = torch.arange(6) * torch.pi / 3
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)  # (6, 2)
    claim(torch.equal((circle @ circle.T).argmax(dim=1), torch.arange(6)))
with says("One, two and three heads end at 0.67, 0.33 and 0.00."):
    for H, end in ((1, 0.67), (2, 0.33), (3, 0.00)):
        claim(error(play(H, seed=0, asked=3), asked=3), end - 0.007, end + 0.007)

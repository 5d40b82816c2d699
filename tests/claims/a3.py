"""What chapter A3 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("accuracy falls from 0.94 to 0.90; models built with four are ahead of that by"):
    claim(runs["any 0"].mean(), 0.935, 0.945, on=NEWS)
    claim(runs["best 4"].mean(), 0.895, 0.905, on=NEWS)
    claim(interval(runs["built 4"] - runs["best 4"])[1], at_least=0.01, on=NEWS)

with says("Even a model that was built with a single head has 0.937."):
    claim(runs["built 7"].mean(), 0.9365, 0.9375, on=NEWS)

with says("With four of eight copies out accuracy stays at 0.94"):
    claim(runs["copies 4"].mean(), 0.935, 0.945, on=NEWS)
    claim(interval(runs["copies 4"] - runs["best 4"])[1], at_least=0.02, on=NEWS)
    claim(
        abs(runs["any 0"][0] - accuracy(answer(model, tested, torch.ones(8)), test_labels)),
        at_most=0.01,
        on=NEWS,
    )

with says("In the figure the copies even lose more of the lead, on average, and no article."):
    shrunk, scattered = halves.values()
    claim(scattered.mean() - shrunk.mean(), at_least=0.1, on=NEWS)
    claim(((whole > 0) & (shrunk <= 0)).sum(), at_most=0, on=NEWS)
    claim(((whole > 0) & (scattered <= 0)).sum(), at_least=15, on=NEWS)

with says("leaves 0.92 without the four best to lose; with all eight it is 0.96"):
    mask = without(fours[0]).unsqueeze(-1)
    centred = tested * mask + asked.mean(dim=0) * (1 - mask)
    claim(accuracy(answer(model, centred, torch.ones(8)), test_labels), 0.915, 0.925, on=NEWS)
    claim((whole > 0).double().mean(), 0.95, 0.965, on=NEWS)

with says("Ten epochs later both are within two points of all eight"):
    claim(after, at_least=0.936, on=NEWS)  # of the worst four

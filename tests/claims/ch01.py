"""What chapter 1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("0.21 \\cdot 2 + 0.58 \\cdot 3 + 0.21 \\cdot 5 = 3.21"):
    claim(price, 3.205, 3.215)
with says("Ask for tea itself, and you get 2.89 €."):
    claim((torch.tensor([tea, coffee, cake]) @ torch.tensor(tea)).softmax(0) @ prices, 2.885, 2.895)
with says("of exactly 3 minutes. A dictionary has no entry for it."):
    claim((durations == 3).sum(), at_most=0)

with says("the soft lookup is off by 5.6 minutes, and the hard one by 8.0."):
    claim(remembered.mean(), 5.55, 5.68)
    claim(nearest_only.mean(), 7.9, 8.05)
with says("is off by 13.6, a straight line fitted by least squares by 5.9, and a fitted cubic"):
    mean, _, line, cubic, _ = (errors.mean() for errors in compared.values())
    claim(mean, 13.55, 13.65)
    claim(line, 5.85, 5.98)
    claim(cubic, 5.75, 5.85)
with says("\\sqrt 2 \\cdot 5.6 = 7.9"):
    claim(remembered.mean() * 2**0.5, 7.85, 8.0)
with says("From 0.2 to 0.6 the error is 5.6 or 5.7, at 0.1 it is 5.9, and at 1 it is 6.2."):
    between = ((width, 5.55, 5.75) for width in (0.2, 0.3, 0.4, 0.5, 0.6))
    for width, low, high in ((0.1, 5.85, 5.95), *between, (1.0, 6.15, 6.25)):
        claim(on_halves(lambda k, v, q, w=width: nearness(q, k, w) @ v).mean(), low, high)
with says("after an eruption of one hour, it promises a wait of 96 minutes."):
    claim(nearness(torch.tensor([60.0]), durations, 0.3) @ waits, 95.9, 96.1)
with says("That is the wait after the longest eruption it knows, of 5.1 minutes."):
    claim(waits[durations.argmax()] == 96)
    claim(durations.max(), 5.05, 5.15)

with says("the soft dictionary finds the two kinds of eruptions"):
    claim(learnt[soft][0][0], 1.7, 1.9)
    claim(learnt[soft][0][1], 4.3, 4.55)
with says("The keys stay where they began, and only the values learn."):
    claim(torch.equal(learnt[hard][0], start))
with says("off by 5.4 to 6.2 minutes on eruptions that they have not seen: 5.7 on average"):
    claim(two.mean(), 5.65, 5.76)
    claim(two.min(), 5.35, 5.5)
    claim(two.max(), 6.1, 6.25)
with says("Those of a hard lookup are off by 5.6 to 12.6"):
    claim(two_hard.min(), 5.55, 5.7)
    claim(two_hard.max(), 12.4, 12.8)
with says("from five of the eight starts it comes within a quarter of a minute of the soft one."):
    claim((two_hard < two + 0.25).sum(), 5, 5)

with says("so the weights are 0.37, 0.13, 0.37 and 0.13."):
    claim((alike[0] - torch.tensor([0.37, 0.13, 0.37, 0.13])).abs().max(), at_most=0.005)
with says("comes out as $(0.73, 0.13, 0.13)$"):
    claim(((alike @ x)[0] - torch.tensor([0.73, 0.13, 0.13])).abs().max(), at_most=0.005)
with says("0.87 from each “can” to “you”, 0.48 on each arrow back."):
    claim(weights[0, 1], 0.865, 0.875)
    claim(weights[1, 0], 0.475, 0.485)
    claim(weights[3, 0], 0.475, 0.485)
with says("What can receives, $(0.09, 0.87, 0.04)$, is nearly the vector of a person"):
    claim((output[0] - torch.tensor([0.09, 0.87, 0.04])).abs().max(), at_most=0.005)
with says("that looks for can with a score of 3, and can looks for that with a score of 0."):
    claim(((x @ w_q) @ (x @ w_k).T)[3, 0] == 3)
    claim(((x @ w_q) @ (x @ w_k).T)[0, 3] == 0)
with says("Both can get the same answer, to the last digit."):
    claim(torch.equal(output[0], output[2]))

with says("the mean: 13.6 minutes. Two, three and thirty-two entries are all off by 5.7."):
    claim(by_entries[1].mean(), 13.55, 13.65)
    for number in (2, 3, 32):
        claim(by_entries[number].mean(), 5.65, 5.78)
with says("The error changes by more than half a minute from one half of the eruptions to another"):
    claim(by_entries[2].max() - by_entries[2].min(), at_least=0.5)
with says("a few hundredths of a minute: now one is ahead, now the other."):
    for number in (3, 32):
        beyond = by_entries[number] - by_entries[2]
        claim(beyond.abs().max(), at_most=0.09)
        claim(beyond.min() < 0 < beyond.max())

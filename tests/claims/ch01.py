"""What chapter 1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("0.21 \\cdot 2 + 0.58 \\cdot 3 + 0.21 \\cdot 5 = 3.21"):
    claim(price, 3.205, 3.215)
with says("coffee scores as high as tea, for its key is longer. The handicap mends that."):
    menu_keys = torch.tensor([tea, coffee, cake])
    products = menu_keys @ menu_keys[0]
    claim(products[0] == products[1])
    claim((products - menu_keys.square().sum(-1) / 2).argmax() == 0)
with says("at 8 the best one counts almost alone"):
    claim((8 * menu_keys @ query).softmax(0)[1], at_least=0.995)
with says("0.87 from each “can” to “you”, 0.48 on each arrow back."):
    among = (x @ w_q @ (x @ w_k).T).softmax(-1)
    for row, column, weight in ((0, 1, 0.87), (2, 1, 0.87), (1, 0, 0.48), (3, 2, 0.48)):
        claim(among[row, column], weight - 0.005, weight + 0.005)
with says("What can receives, $(0.09, 0.87, 0.04)$, is nearly the vector of a person."):
    claim((output[0] - torch.tensor([0.09, 0.87, 0.04])).abs().max(), at_most=0.005)
with says("Both can receive the same."):
    claim(torch.equal(output[0], output[2]))

with says("the keys 4.25 and 5, both among the long eruptions"):
    claim(start.min() > 4 and start.max() < durations.max())
with says("The hard lookup has moved its values and left its keys alone."):
    claim(torch.equal(learnt[hard][0], start))
    claim((learnt[hard][1] - 70).abs().min(), at_least=0.5)
with says("The soft lookup finds the two kinds of eruptions"):
    claim(learnt[soft][0][0], 1.6, 2.1)
    claim(learnt[soft][0][1], 4.1, 4.6)


def off_by_hand(look, keys):
    return loss_of(look, (keys, learnt[hard][1]), durations, waits).sqrt()


with says("The error falls to the left, but only where it is read softly does a slope say so."):
    by_hand = {look: off_by_hand(look, moved) for look in (soft, hard)}
    claim(by_hand[hard][0] < by_hand[hard][-1] - 0.5)
    claim((by_hand[soft].diff() > 0).all())
with says("On a step the gradient is zero, wherever the stairs lead."):
    # 500 small moves change the error at fewer than one in ten places, and not at the start
    claim((by_hand[hard].diff() != 0).float().mean(), at_most=0.1)
    near_start = start + torch.tensor([[-0.001, 0.0], [0.0, 0.0], [0.001, 0.0]])
    claim(off_by_hand(hard, near_start).unique().numel() == 1)

with says("each with two different keys, the soft lookup learns to be off by less than 7 minutes"):
    claim((starts[:, 0] != starts[:, 1]).all())
    claim((off[soft] < 7).all())
with says("every time, the hard one 41 times: gradient descent never moves its keys."):
    claim((off[hard] < 7).sum(), 39, 43)
    claim(torch.equal(learn(hard, starts, durations[old], waits[old], steps=20)[0], starts))
with says("(Whoever always answers the mean wait is off by 13.6 minutes.)"):
    mean = waits[old].mean(-1, keepdim=True)
    claim((waits[new] - mean).square().mean(-1).sqrt().mean(), 13.5, 13.7)


def best_border(half, rest):
    """Try every border between neighbouring durations; give the error on the other half."""
    x, y = durations[half], waits[half]
    values = x.unique()
    borders = (values[1:] + values[:-1]) / 2  # (n,)
    low = (x <= borders[:, None]).float()  # (n, 136)
    below = (low @ y) / low.sum(-1)
    above = ((1 - low) @ y) / (1 - low).sum(-1)
    answer = low * below[:, None] + (1 - low) * above[:, None]
    n = (answer - y).square().mean(-1).argmin()
    said = torch.where(durations[rest] <= borders[n], below[n], above[n])
    return (said - waits[rest]).square().mean().sqrt()


with says("Search, without gradients, for the best border between two keys, and it is off by 6.2"):
    searched = [best_border(*halves) for halves in zip(old, new, strict=True)]
    claim(torch.stack(searched).mean(), 6.1, 6.3)
with says("One neighbour's wait is noisy; a mean over many is less so, be it hard or soft."):
    kept = {
        look: loss_of(look, (3 * durations[old], waits[old]), 3 * durations[new], waits[new])
        for look in (hard, hard20, soft)
    }
    one, twenty, every_one = (kept[look].sqrt().mean() for look in (hard, hard20, soft))
    claim(one - twenty, at_least=2)
    claim((twenty - every_one).abs(), at_most=0.1)

stay = {letter: error.item() for letter, error in zip("ABCD", errors, strict=True)}
with says("stay at 13.57 minutes, the error of always answering the mean"):
    claim(waits.std(correction=0), 13.565, 13.575)
    for letter in "BD":
        claim(stay[letter], 13.565, 13.575)
    for letter in "AC":
        claim(stay[letter], at_most=6)
with says("gets a share of $\\exp(-312)$ from an eruption of 5 minutes, which is zero"):
    claim((30 - 5) ** 2 / 2 - (5 - 4.5) ** 2 / 2, 312, 312.5)
    claim(soft(torch.tensor([5.0]), abcd[3])[0, 1] == 0)

"""What chapter 1 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("0.21 \\cdot 2 + 0.58 \\cdot 3 + 0.21 \\cdot 5 = 3.21"):
    claim(price, 3.205, 3.215)
menu_keys = torch.tensor([tea, coffee, cake])
with says("at a right angle it is 0."):
    claim(menu_keys[2] @ menu_keys[0] == 0)
with says("so whatever is bitter scores twice as much with coffee, tea itself included."):
    claim(torch.equal(menu_keys[1], 2 * menu_keys[0]))
with says("can give tea the most: the score of coffee is then twice as far below 0."):
    claim((menu_keys @ torch.tensor([-0.6, -1])).argmax() == 0)

with says("with its own vector as the query, can would find can, not you."):
    own = (x @ x.T).softmax(-1)[0]
    claim(own[0] == own[2])
    claim(own[0] > 2 * own[1])
with says("0.87 from each “can” to “you”, 0.48 on each arrow back."):
    among = (x @ w_q @ (x @ w_k).T).softmax(-1)
    for row, column, weight in ((0, 1, 0.87), (2, 1, 0.87), (1, 0, 0.48), (3, 2, 0.48)):
        claim(among[row, column], weight - 0.005, weight + 0.005)
with says("What can receives is nearly the vector of a person"):
    claim((output[0] - torch.tensor([0.09, 0.87, 0.04])).abs().max(), at_most=0.005)
with says("Both can ask the same question and receive the same"):
    claim(torch.equal(output[0], output[2]))

with says("For whoever always answers the mean wait it is 13.57 minutes."):
    claim(waits.std(correction=0), 13.565, 13.575)
with says("with two keys among the long eruptions, 4.25 and 5"):
    claim(start.min() > 4 and start.max() < durations.max())
with says("only eruptions near the border between two keys listen to both"):
    listens = soft(durations, start).min(-1).values > 0.05
    claim((durations[listens] - start.mean()).abs().max(), at_most=0.2)
with says("the soft lookup has found one key for short eruptions and one for long ones."):
    claim(learnt["soft"][0][0], 1.2, 2.5)
    claim(learnt["soft"][0][1], 3.8, 5)
    claim(learnt["soft"][1][0], 54, 56)
    claim(learnt["soft"][1][1], 79, 81)
with says("With the two values swapped it ends at 13.57."):
    claim(error_of(soft, *learn(soft, start, (75.0, 65.0))), 13.565, 13.575)
with says("A straight line does as well as this: 5.89."):
    line = torch.stack([durations, torch.ones(272)], dim=-1)
    fitted = line @ (torch.linalg.pinv(line) @ waits)
    claim((fitted - waits).square().mean().sqrt(), 5.885, 5.895)
    claim(error_of(soft, *learnt["soft"]), 5.8, 5.96)
with says("The hard one has moved its values and left its keys alone."):
    claim(torch.equal(learnt["hard"][0], start))
    claim((learnt["hard"][1] - 70).abs().min(), at_least=0.5)
by_hand = {name: torch.stack(line) for name, line in errors.items()}
with says("For both the error falls with the key, but only the soft lookup has a slope to follow."):
    claim(by_hand["hard"][0] < by_hand["hard"][-1] - 0.5)
    claim((by_hand["soft"].diff() > 0).all())
with says("Either every eruption keeps its nearest key, and the error stays exactly as it was"):
    claim((by_hand["hard"].diff() != 0).sum(), 5, 25)


def slopes(lookup, start):
    """The gradient of the keys from a start whose values differ; None if there is none."""
    keys, values = start.clone().requires_grad_(), torch.tensor([70.0, 71.0], requires_grad=True)
    error_of(lookup, keys, values).backward()
    return keys.grad


with says("PyTorch gives these keys no gradient at all."):
    claim(slopes(hard, start) is None)
with says(
    "the error of a soft lookup changes a little; that of a hard one stays the same or jumps."
):
    torch.manual_seed(0)
    pairs = [durations[torch.randperm(272)[:2]] for _ in range(20)]
    apart = [pair.sort().values for pair in pairs if pair[0] != pair[1]]
    claim(all((slopes(soft, keys) != 0).all() for keys in apart))
    claim(all(slopes(hard, keys) is None for keys in apart))

with says("Even a soft lookup may stay at 13.57 minutes"):
    for row, letter in zip(abcd, "ABCD", strict=True):
        stays = error_of(soft, *learn(soft, row, (70.0, 70.0)))
        claim(stays, *((13.565, 13.575) if letter in "BD" else (0, 6)))
with says("(No eruption lasts longer than 5.1 minutes.)"):
    claim(durations.max(), at_most=5.1)
with says("The key at 9 gets at most a share of $\\exp(-185)$, which is zero in `float32`."):
    claim(12.5 * ((9 - 5.1) ** 2 - (5.1 - 4.5) ** 2), at_least=185)
    claim((soft(durations, abcd[3])[:, 1] == 0).all())

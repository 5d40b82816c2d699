"""What chapter A2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("a dot product finds two of the five houses, those at the ends, and an additive score"):
    claim(houses_found(dot_scores, query, key) == [2] * 8)
    claim(houses_found(additive_scores, query, key) == [5] * 8)
    wider = houses_found(dot_scores, query, key, D_head=64)
    claim(wider == [2] * 8)  # "whatever D_head is"

with says("is 1.52 at $k = 0$, and falls to 0.96 at $\\pm 1$ and 0.23 at $\\pm 2$"):
    hill = (street + 1).tanh() - (street - 1).tanh()
    claim((hill - torch.tensor([0.23, 0.96, 1.52, 0.96, 0.23])).abs().max(), at_most=0.006)

with says("So two numbers can do; but training finds them only in some runs."):
    narrow = houses_found(additive_scores, query, key, D_head=2)
    claim(max(narrow) == 5 and min(narrow) < 5)

with says("with it, the dot product finds all five houses in each of eight runs"):
    claim(houses_found(layer_then_dot, query, key) == [5] * 8)

with says("the dot product finds all five houses, by hand and learnt, in each of eight runs"):
    claim(scores.argmax(dim=1).tolist() == [0, 1, 2, 3, 4])
    claim(houses_found(dot_scores, query, better_key) == [5] * 8)

with says("How many of the 25 can a learnt dot product find?"):
    town = torch.cartesian_prod(street, street)
    asked = torch.cat([town, torch.ones(25, 1)], dim=1)
    bowl = torch.cat([town, town.square().sum(1, keepdim=True)], dim=1)
    claim(houses_found(dot_scores, asked, town, steps=2000) == [4] * 8)
    claim(houses_found(dot_scores, asked, bowl, steps=2000) == [25] * 8)

"""What chapter A2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("a dot product finds two of the five houses, those at the ends, and an additive score"):
    claim(houses_found(dot_scores, query, street.unsqueeze(1)) == [2] * 8)
    claim(houses_found(additive_scores, query, street.unsqueeze(1)) == [5] * 8)
    wider = houses_found(dot_scores, query, street.unsqueeze(1), D_head=64)
    claim(wider == [2] * 8)  # "whatever D_head is"

with says("is 1.52 at $k = 0$, and falls to 0.96 at $\\pm 1$ and 0.23 at $\\pm 2$"):
    hill = (street + 1).tanh() - (street - 1).tanh()
    claim((hill - torch.tensor([0.23, 0.96, 1.52, 0.96, 0.23])).abs().max(), at_most=0.006)

with says("With its square beside it, or with a bias and a norm, the same number is enough"):
    claim(scores.argmax(dim=1).tolist() == [0, 1, 2, 3, 4])

with says("only two numbers wide, the dot product finds all five houses in each of eight runs"):
    claim(found == [5] * 8)

with says("The bias alone would not help: a line that is moved is still a line."):

    def bias_then_dot(query, key, w_query, w_key, b):
        return (query @ w_query) @ (key @ w_key + b).T

    claim(houses_found(bias_then_dot, query, street.unsqueeze(1)) == [2] * 8)

with says("How many of the 25 can a learnt dot product find?"):
    claim(in_town == [[4] * 8, [25] * 8])

"""What chapter 9 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

plane = torch.tensor(list(places.values()))  # A, B, C: (S, D)
one, two = (weights_of(query, plane, H)[:, 0] for H in (1, 2))
with says("Divided by $\\sqrt 2$ they are 2.83, 2.83 and 4.24, and C gets 0.67."):
    claim(one[0, 2], 0.665, 0.675)
with says("Its scores are 4, 0 and 3, and A gets 0.72. Head 1 gives B as much."):
    claim(two[0, 0], 0.715, 0.725)
    claim(two[1, 1], 0.715, 0.725)
with says("C comes second in both, and first in neither."):
    claim((two.argsort(dim=1)[:, 1] == 2).all())
with says("C with the query $(2, 2)$, A with $(2, 0)$, B with $(0, 2)$."):
    asking = torch.tensor([[2.0, 0], [0, 2], [2, 2]])
    claim(weights_of(asking, plane, 1)[0].argmax(dim=-1).tolist() == [0, 1, 2])
with says("one of 8 heads sees 64, and one of 64 heads sees 8."):
    for H, values in stretches.items():
        claim((values > 1e-10).sum() == D // H)
with says("a single head sees all 512 directions, though some faintly"):
    claim(stretches[1][-1], at_most=1e-4)
with says("they have the $W^Q$ and $W^K$ of the single head."):
    claim(torch.linalg.matrix_rank(w_k) == D)
with says("a head of 2 numbers about 7 on average, and a head of 8 numbers nearly all."):
    claim(sum(won[2]) / 100, 6.8, 7.8)
    claim(sum(won[8]) / 100, at_least=31)


def on_itself(keys, largest):
    return (largest * keys @ keys.T).softmax(dim=-1)[0, 0]


with says("For a weight of 0.99 the largest score must be about 275"):
    angles = torch.arange(32) * 2 * torch.pi / 32
    claim(on_itself(torch.stack([angles.cos(), angles.sin()], dim=1), 275), 0.989, 0.991)
with says("With a direction for each key, in 32 numbers, a score of 8.1 is enough."):
    claim(on_itself(torch.eye(32), 8.1), 0.99, 0.991)

with says("The layer picks C, and not one of its heads does."):
    for i, name in enumerate("ABC"):
        claim((picked[name] - torch.eye(3)[i]).abs().max(), at_most=1e-5)
with says("so it is nowhere higher than at an end."):
    generator = torch.Generator().manual_seed(3)
    added = torch.rand(1000, 5, 1, generator=generator)  # factors, none below 0
    lines = 20 * torch.randn(1000, 5, 1, generator=generator)  # queries
    added = (added * (lines * keys).softmax(dim=-1)).sum(dim=1)  # (1000, S)
    claim((added[:, 2] <= added[:, :2].amax(dim=1) + 1e-6).all())
with says("give A, B and C on average 0.326, 0.326 and 0.348"):
    both = weights_of(query / 2, plane, 2)[:, 0].mean(dim=0)
    claim(both[0], 0.325, 0.327)
    claim(both[2], 0.347, 0.349)


def ends(name):
    return min(played[name]), max(played[name])


with says("twelve heads of one number are at an error of 0.48 to 0.50."):
    for end in ends("12 heads of one number"):
        claim(end, 0.44, 0.54)
with says("Each of three remedies brings it below 0.01"):
    for name in ("… keys of two", "… values of six", "48 heads of one number"):
        for end in ends(name):
            claim(end, 0, 0.01)
with says("values of two numbers reach 0.22 to 0.27, and 24 heads 0.22 to 0.25."):
    for end in ends("… values of two"):
        claim(end, 0.17, 0.35)
    for end in ends("24 heads of one number"):
        claim(end, 0.17, 0.32)
with says("are below 0.02 with factors of either sign, and at 0.21 to 0.22 with none below zero."):
    for end in ends("12 heads, card as it is"):
        claim(end, 0, 0.02)
    for end in ends("… and no minus"):
        claim(end, 0.18, 0.26)

with says("A fused kernel works the scores out once more on its way back, five products for two"):
    q = (1, 8, 512, 64)
    claim(sdpa_backward_flop_count(q, q, q, q) / sdpa_flop_count(q, q, q) == 2.5)
with says("with Adam a parameter takes 16: itself, its gradient and two running averages."):
    weight = nn.Linear(8, 8).weight
    optimizer = torch.optim.Adam([weight])
    weight.sum().backward()
    optimizer.step()
    claim(sum(v.dim() > 0 for v in optimizer.state[weight].values()) == 2)
with says("nothing is added to the 1,050,624 parameters or to the multiply-adds."):
    claim(costs["H = 64"]["parameters"] == 1_050_624)
    claim(costs["H = 1"]["multiply-adds"] == costs["H = 64"]["multiply-adds"])
with says("The memory kept for 2,048 tokens grows from 38 MB to 1.1 GB"):
    claim(costs["H = 1"]["bytes kept"] / 1e6, 37.5, 38)
    claim(costs["H = 64"]["bytes kept"] / 1e9, 1.05, 1.15)
with says("with a fused kernel it stays at 21 MB or a little more."):
    claim(costs["H = 64"]["bytes kept, fused"] / 1e6, at_most=22)


def kept_with(dropout, **given):  # in MB, 8 heads
    x = torch.randn(1, 512, D)
    layer = nn.MultiheadAttention(D, 8, dropout=dropout, batch_first=True)
    return kept_bytes(lambda: layer(x, x, x, **given)) / 1e6


with says("PyTorch's layer keeps 31.5 MB on a CPU instead of 14.7."):
    claim(kept_with(0.1), 31.4, 31.6)
    claim(kept_with(0), 14.6, 14.8)
with says("need_weights=False keeps 32.5 MB instead of 5.3."):
    claim(kept_with(0.1, need_weights=False), 32.4, 32.6)
    claim(kept_with(0, need_weights=False), 5.2, 5.35)
with says("and nothing complains, for every shape fits; but the answers differ."):
    saved, other = (nn.MultiheadAttention(12, heads) for heads in (2, 4))
    other.load_state_dict(saved.state_dict())
    x = torch.randn(5, 12)
    claim((saved(x, x, x)[0] - other(x, x, x)[0]).abs().max(), at_least=1e-4)

with says("With ones all values are equal, and any mixture of equal values is that value."):
    claim(float(rows["ones"]["most"]), at_most=1e-5)
with says("with 64 heads 0.99 of the weight, on average, is on one token already"):
    claim(float(rows["rand"]["largest weight, 64 heads"]), at_least=0.96)
    claim(float(rows["randn"]["largest weight, 64 heads"]), at_least=0.95)
with says("the difference is at least 0.6 times as long as the output of one head."):
    claim(float(rows["randn / 100"]["1 and 64 heads apart, least"]), at_least=0.5)

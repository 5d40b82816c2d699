"""What chapter 4 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says("every loss in training is that of the right layer, to the last digit"):
    gap = torch.tensor(curves["MultiHeadAttention"]) - torch.tensor(curves["JoinByView"])
    claim(gap.abs().max(), at_most=1e-4)
with says("but with two questions at once the error is above 1, worse than answering zero."):
    claim(min(errors["JoinByView", 2]), 1.0, 1.3)
with says("the error settles at about 0.51, just above the bound for a layer with one head"):
    for name in ("SplitByView", "BothByView"):
        claim(min(errors[name, 1]), 0.49, 0.515)
        claim(max(errors[name, 1]), 0.49, 0.53)
with says("if you did not know that 0.001 is possible, you would blame the task."):
    for T in (1, 2):
        claim(max(errors["MultiHeadAttention", T]), at_most=0.001)

with says("Its strides are (2, 4, 1): the next head is 2 places on, the next token 4."):
    claim(right.stride() == (2, 4, 1))
with says("Head 0 reads 0, 1, then 4, 5, then 8, 9."):
    claim(right[0].tolist() == [[0, 1], [4, 5], [8, 9], [12, 13]])
with says("view(2, 4, 2) walks straight on: 0, 1, then 2, 3."):
    claim(wrong[0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]])
with says("To join the heads, transpose first, then merge the last two axes."):
    claim(torch.equal(join_heads(split_heads(numbers[None], 2))[0], numbers))

with says("every output reads the whole text, as it should"):
    for name in names[:3]:
        claim(seen[name, "text"].all())
with says("but is put together from the answers to two tokens' questions."):
    for name in ("SplitByView", "JoinByView"):
        claim((seen[name, "question"].sum(dim=1) == 2).all())
with says("The second mistake undoes that"):
    claim(torch.equal(seen["BothByView", "question"], torch.eye(4).bool()))
with says("falls into $H$ pieces, and each attends to itself alone."):
    piece = torch.arange(4) // 2  # (T,)
    claim(torch.equal(seen["BothByView", "text"], piece[:, None] == piece))
with says("one half of each answer has an error below 0.1, the other one of 1.9 to 2.9"):
    claim(right_half.max(), at_most=0.2)
    claim(wrong_half.min(), 1.5, 2.3)
    claim(wrong_half.max(), 2.2, 3.6)
with says("the second what head 1 found for both. Half of that is where it belongs."):
    places = by_half.argmin(dim=2)  # (seeds, T): a place a head
    claim((places.sum(dim=1) == 1).all())
with says("errors of 0.81 to 0.97, and 0.89 to 1.12 where the join is wrong, too."):
    for name in ("SplitByView", "BothByView"):
        claim(min(errors[name, 2]), 0.7, 1)
        claim(max(errors[name, 2]), 0.85, 1.25)

*game, wanted = deal(10_000, torch.Generator().manual_seed(99))
with torch.no_grad():
    answers = [layer(*game)[0] for layer in trained["SplitByView"]]
first, second = (game[0].view(-1, 2, 6).argmax(dim=-1) // 3).T  # the pieces, (B,) each
by_piece = torch.tensor(  # (one piece, in order, the other way round; seeds)
    [
        [(answer - wanted)[which].square().mean() for answer in answers]
        for which in (first == second, first < second, first > second)
    ]
)
with says("Six numbers must stand for twelve, and half is lost."):
    claim(by_piece[0].min(), 0.48, 0.53)
    claim(by_piece[0].max(), 0.48, 0.56)
with says("gain for one order they lose for the other, and on average half is lost."):
    claim(by_piece[1:].mean(dim=0).min(), 0.48, 0.53)
    claim(by_piece[1:].mean(dim=0).max(), 0.48, 0.54)
with says("how much is lost for each of the two orders, within 0.05 for all eight layers."):
    for layer, found in zip(trained["SplitByView"], by_piece[1:].T, strict=True):
        parts = layer.out_proj.weight.detach().split(6, dim=1)  # (D, D_head) each
        reached = [torch.linalg.qr(part)[0].square() for part in parts]
        first, second = (r[:6].sum() / 6 for r in reached)  # of the first places
        in_order = (1 - first + second) / 2
        claim((torch.stack([in_order, 1 - in_order]) - found).abs().max(), at_most=0.05)

with says("so equal tokens must get equal answers"):
    claim(list(equal.values()) == [True, False, False, False])
with says("Of these six tests only the last two catch all three mistakes. The first catches none"):
    caught = (pd.DataFrame(rows) == "caught").sum(axis=1).tolist()
    claim(caught == [0, 2, 1, 2, 3, 3])
with says("These are chapter 3's numbers, weights and output."):
    claim(weights[0, 0, 0, 1], 0.849, 0.851)
    claim(weights[0, 1, 0, 3], 0.849, 0.851)
    expected = torch.tensor([0.80, 0.85, -0.80, 0.05])
    claim((join_heads(heads)[0, 0] - expected).abs().max(), at_most=0.006)

short, some, long = sizes
with says(
    "On one short text the stack is more than five times as fast as the loop here", timed=True
):
    claim(faster.at["stack", short], 2.5, 10)
with says("on a small batch more than twice.", timed=True):
    claim(faster.at["stack", some], 1.3, 4)
with says(
    "it is the kernel that helps: with it, even the loop is more than twice as fast.", timed=True
):
    claim(faster.at["loop + kernel", long], 1.4, 14)
    claim(faster.at["stack + kernel", long], 1.6, 14)
with says("On short texts the stacking helps most, on a long one the kernel.", timed=True):
    for size in (short, some):
        claim(faster.at["loop + kernel", size], 0.6, 1.7)
    gained = middle.at["loop + kernel", long] / middle.at["stack + kernel", long]
    claim(gained, 0.9, 2)
with says("Why then is the stack slower than the loop there?", timed=True):
    claim(faster.at["stack", long], 0.2, 1.5)

"""What chapter 4 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "The loop, your layer and torch.nn.MultiheadAttention give the same numbers, up to rounding."
):
    for other in (NaiveMultiHeadAttention.from_torch(theirs), theirs):
        claim((mine(x, text, text) - other(x, text, text)[0]).abs().max(), at_most=1e-12)
    blocked = torch.ones(5, 5, dtype=torch.bool).triu(1)
    causal = theirs(x, x, x, attn_mask=blocked)[0]
    claim((mine(x, x, x, is_causal=True) - causal).abs().max(), at_most=1e-12)
with says("is this class with the same names in it."):
    package = MultiHeadAttention(64, 4).double()
    package.load_state_dict(mine.state_dict())
    claim((mine(x, text, text) - package(x, text, text)[0]).abs().max(), at_most=1e-12)

numbers = torch.arange(16).view(4, 4)
with says("The wrong head 0 has all of the first two tokens and nothing of the others."):
    claim(numbers.view(2, 4, 2)[0].flatten().tolist() == list(range(8)))
    claim(numbers.view(4, 2, 2).transpose(0, 1)[1].flatten()[:4].tolist() == [2, 3, 6, 7])

losses = rows.groupby(["kind", "layers"])["loss"]
writing = rows.groupby(["kind", "layers"])["writing"]
with says("a loss of $\\ln 16 = 2.77$."):
    claim(math.log(SIDES), 2.765, 2.775)
with says("the wrong join reaches a loss of 1.23 to 1.24 and the wrong split 1.31 to 1.36"):
    claim(losses.min()["WrongJoin", 1], 1.22, 1.24)
    claim(losses.max()["WrongJoin", 1], 1.23, 1.26)
    claim(losses.min()["WrongSplit", 1], 1.27, 1.35)
    claim(losses.max()["WrongSplit", 1], 1.32, 1.40)
    claim(losses.min()["MultiHead", 1], at_least=2.76)
    for kind, (_, live) in runs.items():
        kept = losses.median()[kind.__name__, 1]
        claim(sum(live[-50:]) / 50 - kept, -0.04, 0.04)
with says("when they write, both are worse than chance (eight seeds each)."):
    for kind in ("WrongJoin", "WrongSplit"):
        claim(writing.min()[kind, 1], at_least=2.85)
    claim(writing.max()["MultiHead", 1], at_most=2.8)

with says("With either mistake nine of sixteen outputs see the token that they are to predict"):
    for kind in ("WrongJoin", "WrongSplit"):
        claim(tables[kind].diagonal(1).sum() == 9)
    claim(torch.equal(tables["MultiHead"], torch.ones(T, T).tril().bool()))
with says(r"so the loss can fall to $\tfrac{7}{16} \ln 16 = 1.21$ and no further"):
    claim(7 / 16 * math.log(SIDES), 1.205, 1.215)
    for kind in ("WrongJoin", "WrongSplit"):
        claim(losses.min()[kind, 1], at_least=1.2)
with says("(Without a causal mask, change the query alone: output $j$ may move, and no other.)"):
    for kind in (MultiHead, WrongJoin, WrongSplit):
        layer, told = kind(D, 4), torch.randn(1, T, D)
        asked = told.clone()
        asked[:, 5] = torch.randn(D)
        moved = (layer(asked, told, told) - layer(told, told, told)).abs().amax(dim=(0, 2))
        claim(((moved > 1e-5).nonzero().flatten().tolist() == [5]) == (kind is MultiHead))
with says("the wrong join gets to 1.24."):
    claim(losses.median()["WrongJoin", 1], 1.225, 1.255)
with says("what head 0 found for tokens 0, 1, 2 and *3*. Token 3 saw token 1"):
    claim(tables["WrongJoin"][0].nonzero().flatten().tolist() == [0, 1, 2, 3])
with says("and output 3 takes row 3 of every head."):
    claim(tables["WrongSplit"][3].nonzero().flatten().tolist() == [0, 4, 8, 12])

through = (tables["WrongJoin"] | torch.eye(T).bool()).float()
with says("One is out of sight: the token after the last."):
    claim((through @ through > 0).diagonal(1).all())
    claim(losses.min()["WrongJoin", 2], at_least=0.17)
    claim(losses.max()["WrongJoin", 2], at_most=0.26)
with says("The loss of Both is that of the right layer."):
    claim(losses.min()["Both", 1], at_least=2.76)
    claim(losses.max()["Both", 1], at_most=2.8)
with says("nothing before its own quarter of the text."):
    quarter = torch.arange(T) // 4
    own = quarter[:, None] == quarter
    claim(torch.equal(tables["Both"], own & torch.ones(T, T).tril().bool()))

"""What chapter 4 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says

with says(
    "The loop, your layer and torch.nn.MultiheadAttention give the same numbers, up to rounding."
):
    for other in (NaiveMultiHeadAttention.from_torch(theirs), theirs):
        claim((mine(x, text, text) - other(x, text, text)[0]).abs().max(), at_most=1e-12)
    blocked = torch.ones(5, 5).triu(1).bool()
    causal = theirs(x, x, x, attn_mask=blocked)[0]
    claim((mine(x, x, x, is_causal=True) - causal).abs().max(), at_most=1e-12)
with says("it is your class with the same names in it"):
    claim((mine(x, text, text) - package(x, text, text)[0]).abs().max(), at_most=1e-12)
with says("Comparing with PyTorch's layer would catch all three."):
    for kind in (WrongSplit, WrongJoin, Both):
        wrong = kind(64, 4).double()
        wrong.load_state_dict(mine.state_dict())
        claim((wrong(x, text, text) - theirs(x, text, text)[0]).abs().max(), at_least=1)

numbers = torch.arange(16).view(4, 4)
with says("The wrong head 0 has all of the first two tokens and nothing of the others."):
    claim(numbers.view(2, 4, 2)[0].flatten().tolist() == list(range(8)))
    claim(numbers.view(4, 2, 2).transpose(0, 1)[1].flatten()[:4].tolist() == [2, 3, 6, 7])

losses = rows.groupby(["kind", "layers"])["loss"]
other = rows.groupby(["kind", "layers"])["other"]
first = rows.groupby(["kind", "layers"])["output_0"]
with says("a loss of $\\ln 16 = 2.77$."):
    claim(CHANCE, 2.765, 2.775)
with says("the wrong join reaches a loss of 1.23 to 1.24 and the wrong split 1.30 to 1.36"):
    claim(losses.min()["WrongJoin", 1], 1.22, 1.245)
    claim(losses.max()["WrongJoin", 1], 1.23, 1.26)
    claim(losses.min()["WrongSplit", 1], 1.27, 1.34)
    claim(losses.max()["WrongSplit", 1], 1.32, 1.39)
    claim(losses.min()["MultiHead", 1], at_least=2.76)
    for kind, (_, live) in runs.items():
        kept = losses.median()[kind.__name__, 1]
        claim(sum(live[-50:]) / 50 - kept, -0.05, 0.05)
with says("with another future both have a loss above 6 (eight seeds each)."):
    for kind in ("WrongJoin", "WrongSplit"):
        claim(other.min()[kind, 1], at_least=6)
    claim(other.max()["MultiHead", 1], at_most=2.8)

right = torch.ones(T, T).tril().bool()
with says("nine of sixteen outputs see the token that they are to predict"):
    for kind in ("WrongJoin", "WrongSplit"):
        claim(tables[kind].diagonal(1).sum() == 9)
    claim(torch.equal(tables["MultiHead"], right))
with says(r"so no training brings the loss below $\tfrac{7}{16} \ln 16 = 1.21$"):
    claim(7 / 16 * CHANCE, 1.205, 1.215)
    for kind in ("WrongJoin", "WrongSplit"):
        claim(losses.min()[kind, 1], at_least=1.2)
with says("the wrong join comes down to 1.24, the wrong split stays at 1.30 or above."):
    claim(losses.max()["WrongJoin", 1], at_most=1.255)
    claim(losses.min()["WrongSplit", 1], at_least=1.295)
with says("Its loss is worse than chance, as it copies all the same, mostly token 4 or 8"):
    claim(first.min()["WrongSplit", 1], at_least=2.85)
    with torch.no_grad():
        throws = torch.randint(SIDES, (1000, T))
        bets = runs[WrongSplit][0](throws)[:, 0].argmax(dim=1, keepdim=True)
        claim((bets == throws[:, [4, 8]]).any(dim=1).double().mean(), at_least=0.9)
with says("what head 0 found for tokens 0, 1, 2 and *3*. Token 3 saw token 1"):
    claim(tables["WrongJoin"][0].nonzero().flatten().tolist() == [0, 1, 2, 3])
with says("Output 3 uses it, and token 4 is its answer."):
    claim(tables["WrongSplit"][3].nonzero().flatten().tolist() == [0, 4, 8, 12])
with says("Output 0 of the wrong split sees one row of each head."):
    claim(tables["WrongSplit"][0].nonzero().flatten().tolist() == [0, 4, 8, 12])
with says("no frame is filled, and it trains to chance, like the right layer."):
    claim(losses.min()["Both", 1], at_least=2.76)
    claim(losses.max()["Both", 1], at_most=2.8)
with says("no output sees anything before its own quarter of the text."):
    quarter = torch.arange(T) // 4
    claim(torch.equal(tables["Both"], right & (quarter[:, None] == quarter)))

with says("works on other people's, the package's and PyTorch's:"):
    claim(torch.equal(ours, right) and torch.equal(same, right))
with says("In eight runs the loss falls to 0.18 to 0.23."):
    claim(losses.min()["WrongJoin", 2], 0.175, 0.185)
    claim(losses.max()["WrongJoin", 2], 0.225, 0.235)

through = (tables["WrongJoin"] | torch.eye(T).bool()).float()
with says("One answer is out of sight: the token after the last."):
    claim((through @ through > 0).diagonal(1).all())
    claim(losses.min()["WrongJoin", 2], at_least=0.17)
    claim(losses.max()["WrongJoin", 2], at_most=0.25)

"""What chapter 2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def largest_weights(dots, D_head):
    """Mean of the largest weight, without the root and with it."""
    return [(dots / d).softmax(dim=-1).amax(dim=-1).mean() for d in (1, D_head**0.5)]


with says("with 64 numbers one key takes most of the weight, and with 1,024 all of it."):
    claim(without[1].max(), at_least=0.8)
    claim(without[2].max(), at_least=0.995)
with says("with it, several keys share."):
    for weights in with_root:
        claim((weights > 0.05).sum(), at_least=3)
with says("the largest of eight weights is 0.87 on average without the root, and 0.36 with it."):
    plain, divided = largest_weights(draw(64, N=20_000), 64)
    claim(plain, 0.865, 0.885)
    claim(divided, 0.355, 0.365)
with says("(A fresh `nn.Linear` makes smaller queries and keys."):
    torch.manual_seed(0)
    x = torch.randn(2000, 9, 512)
    q, k = (torch.nn.Linear(512, 64)(part).detach() for part in (x[:, :1], x[:, 1:]))
    claim(q.std(), 0.57, 0.59)
    plain, divided = largest_weights((q * k).sum(dim=-1), 64)
    claim(plain, 0.62, 0.67)
    claim(divided, 0.185, 0.2)
with says("has a spread of $\\sqrt{D_\\text{head}}$, and divided by that root a spread of 1."):
    for size in sizes:
        claim(draw(size).std() / size**0.5, 0.96, 1.04)


def lengths(size):
    """Of the gradients of 2,000 answers for their scores, without the root and with it: means."""
    values = torch.randn(2000, 8, generator=torch.Generator().manual_seed(2))
    for divisor in (1, size**0.5):
        scores = (draw(size) / divisor).requires_grad_()
        answers = (scores.softmax(dim=-1) * values).sum()
        yield torch.autograd.grad(answers, scores)[0].norm(dim=-1).mean()


with says("a small change of a score changes little."):
    for size, times in ((64, 2), (1024, 7)):
        plain, divided = lengths(size)  # with values of their own
        claim(divided / plain, at_least=times)


def matrix_gradients(root, seed):
    """Of the layer that is trained: the norms of its two matrices' gradients at the start."""
    generator = torch.Generator().manual_seed(seed)
    w_q, w_k = (torch.randn(2, 64, 64, generator=generator) / 8).requires_grad_().unbind()
    x = torch.randn(32, 8, 64, generator=generator)
    v = torch.randn(32, 8, 1, generator=generator)
    scores = (x[:, :1] @ w_q) @ (x @ w_k).transpose(-2, -1) / (8 if root else 1)
    loss = (scores.softmax(dim=-1) @ v - v[:, :1]).square().mean()
    return torch.stack([g.norm() for g in torch.autograd.grad(loss, (w_q, w_k))])


with says("Here their gradients at the start are *larger* without it, on average about six times."):
    plain, divided = (
        torch.stack([matrix_gradients(root, seed) for seed in range(50)]).mean(dim=0)
        for root in (False, True)
    )
    claim((plain / divided).min(), at_least=5)
    claim((plain / divided).max(), at_most=7)
with says("a layer without the root *is* a layer with it whose $W^Q$ starts"):
    claim(torch.equal(twins, runs["without it"]))
with says("in exact arithmetic the two networks stay together forever."):
    one, two = train(False, 0.1), train(True, 0.1, start=8.0, faster=64.0)
    claim(torch.equal(one, two))
with says("ends lower. Eight runs of 200 steps"):
    ends = {name: losses[:, -100:].mean(dim=-1) for name, losses in runs.items()}
    claim(ends["without it"].min() / ends["with the root"].max(), at_least=2)
    first, third = (runs[n].view(8, 8, 25).mean(dim=-1) for n in ("without it", "with the root"))
    claim((first > third).float().mean(), at_least=0.95)  # as the lines show
small = runs["without it, w_q starts at 1/8"][:, -100:].mean(dim=-1)
with says("The *start* is what hurts."):
    claim(small.max(), at_most=0.5 * ends["without it"].min())
    claim(small.mean(), at_most=ends["without it"].mean() / 4)
with says("the layer without the root learns almost as well as the one with it."):
    claim(small.mean() / ends["with the root"].mean(), at_most=1.6)
with says("the last is the layer with the root, only learning 64 times faster."):
    one, two = train(False, 0.05, start=1 / 8), train(True, 0.05, faster=64.0)
    claim(torch.equal(one, two))
with says("it is sure of one key before it has learned which."):
    x, (w_q, w_k) = torch.randn(500, 8, 64), torch.randn(2, 64, 64) / 8
    dots = ((x[:, :1] @ w_q) @ (x @ w_k).mT).squeeze(1)
    claim(largest_weights(dots, 64)[0], at_least=0.8)


def best(root, rates, start, seeds=range(4)):
    """Give the lowest mean loss at the end, of several rates."""
    ends = [[train(root, r, start, seed=s)[-100:].mean() for s in seeds] for r in rates]
    return min(sum(end) / len(end) for end in ends)


with says("as small as `nn.Linear` makes them, the gap is narrower."):
    gap = best(False, (0.1, 0.3), 1 / 3) / best(True, (1, 2), 1 / 3)
    claim(gap, 1.2, 5)  # of 8
with says("so a gradient ten times as large makes the same step."):
    adam = torch.optim.Adam
    one = train(False, 0.01, by=adam)[:25]
    claim((one - train(True, 0.01, 8, 8, by=adam)[:25]).abs().max(), at_most=0.02)
    for wrong in ((8, 64), (8, 1), (1, 1)):
        claim((one - train(True, 0.01, *wrong, by=adam)[:25]).abs().max(), at_least=0.1)

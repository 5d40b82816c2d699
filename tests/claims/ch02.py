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
with says("(The queries and keys of a fresh `nn.Linear` are smaller: 0.65 and 0.19.)"):
    torch.manual_seed(0)
    x = torch.randn(20_000, 9, 512)
    q, k = (torch.nn.Linear(512, 64)(part).detach() for part in (x[:, :1], x[:, 1:]))
    claim(q.std(), 0.57, 0.59)
    plain, divided = largest_weights((q * k).sum(dim=-1), 64)
    claim(plain, 0.645, 0.655)
    claim(divided, 0.185, 0.195)
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


with says("Here their gradients at the start are *larger* without it."):
    plain, divided = (
        torch.stack([matrix_gradients(root, seed) for seed in range(50)]).mean(dim=0)
        for root in (False, True)
    )
    claim((plain / divided).min(), at_least=2)
with says("a layer without the root *is* a layer with it whose $W^Q$ starts"):
    claim(same)
with says("in exact arithmetic the two networks stay together forever."):
    one, two = train(False, 0.1), train(True, 0.1, start=8.0, faster=64.0)
    claim(torch.equal(one, two))
ends = {
    way: torch.stack([runs[way, D_head][:, -100:].mean(dim=1) for D_head in heads]) for way in ways
}  # (3, 8) each
root_ends, plain_ends, small_ends = ends.values()
with says("falls further behind the larger the head; from a smaller start it keeps up."):
    gaps = plain_ends.mean(dim=1) / root_ends.mean(dim=1)  # (3,)
    claim(gaps[0], at_least=1.3)
    claim((gaps[1:] / gaps[:-1]).min(), at_least=2)
    claim(((plain_ends / root_ends)[1:] > 2).all())  # in each run
with says("The *start* is what hurts."):
    claim((small_ends.mean(dim=1) / plain_ends.mean(dim=1)).max(), at_most=0.75)
with says("the layer without it learns almost as well as the one with it."):
    claim((small_ends.mean(dim=1) / root_ends.mean(dim=1)).max(), at_most=1.8)
with says("With it, one *start* suits heads of all sizes"):
    claim(root_ends.mean(dim=1).max(), at_most=0.05)
with says("a quarter is small enough for 16 numbers, not for 256."):
    quarter = [
        train(False, r, 1 / 4, 1, 256, s)[-100:].mean() for r in (0.02, 0.04) for s in (0, 1, 2)
    ]
    claim(min(quarter) / small_ends[2].mean(), at_least=1.5)
    claim(sum(quarter) / 6 / small_ends[2].mean(), at_least=3)
with says("the last is the first, but its `w_q` learns $D_\\text{head}$ times faster."):
    for D_head in heads:
        one = train(False, 0.05, D_head**-0.5, D_head=D_head)
        claim(torch.equal(one, train(True, 0.05, faster=D_head, D_head=D_head)))
with says("it is sure of one key before it has learned which."):
    x, (w_q, w_k) = torch.randn(500, 8, 64), torch.randn(2, 64, 64) / 8
    dots = ((x[:, :1] @ w_q) @ (x @ w_k).mT).squeeze(1)
    claim(largest_weights(dots, 64)[0], at_least=0.8)


with says("so a gradient ten times as large makes the same step."):
    adam = torch.optim.Adam
    one = train(False, 0.01, by=adam)[:25]
    claim((one - train(True, 0.01, 8, 8, by=adam)[:25]).abs().max(), at_most=0.02)
    for wrong in ((8, 64), (8, 1), (1, 1)):
        claim((one - train(True, 0.01, *wrong, by=adam)[:25]).abs().max(), at_least=0.1)

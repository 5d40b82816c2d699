"""What chapter 2 says, asserted (see `tools/claims.py`)."""

from tools.claims import claim, says


def largest_weights(q, k):
    """Mean of the largest weight, without the root and with it."""
    scores = q @ k.transpose(-2, -1)
    ways = scores, scores / q.shape[-1] ** 0.5
    return [way.softmax(dim=-1).amax(dim=-1).mean() for way in ways]


with says("with 64 numbers one of them takes most of the weight, and with 1,024 all of it."):
    claim(without[1].max(), at_least=0.8)
    claim(without[2].max(), at_least=0.995)
with says("the largest of eight weights is 0.87 on average without the root, and 0.36 with it."):
    plain, divided = largest_weights(*draw(64, N=20_000))
    claim(plain, 0.865, 0.885)
    claim(divided, 0.355, 0.365)
with says("Queries and keys made by two fresh `nn.Linear` have 0.58"):
    torch.manual_seed(0)
    x = torch.randn(2000, 9, 512)
    q, k = (torch.nn.Linear(512, 64)(part).detach() for part in (x[:, :1], x[:, 1:]))
    claim(q.std(), 0.57, 0.59)
    claim(k.std(), 0.57, 0.59)
with says("their largest weight is 0.65 without the root and 0.19 with it"):
    plain, divided = largest_weights(q, k)
    claim(plain, 0.62, 0.67)
    claim(divided, 0.185, 0.2)
with says("has a spread of $\\sqrt{D_\\text{head}}$. Divided by that root"):
    for size in sizes:
        q, k = draw(size)
        claim((q @ k.transpose(-2, -1)).std() / size**0.5, 0.96, 1.04)


def lengths(size):
    """Of the gradients for 2,000 queries, without the root and with it."""
    q, k = draw(size)
    v = torch.randn(2000, 8, 1, generator=torch.Generator().manual_seed(1))
    q.requires_grad_()
    for scale in (1.0, size**-0.5):
        output = (q @ k.transpose(-2, -1) * scale).softmax(dim=-1) @ v
        yield torch.autograd.grad(output.sum(), q)[0].norm(dim=-1)


plain, divided = lengths(1024)
with says("without the root its gradient is thousands of times smaller."):
    claim(divided.median() / plain.median(), 2_000, 60_000)
with says("It is three times as large: a few queries waver"):
    claim(plain.mean() / divided.mean(), 2.5, 3.7)
with says("even the median is only a little smaller."):
    plain, divided = lengths(64)
    claim(divided.median() / plain.median(), 1.0, 1.8)

with says("a layer without the root *is* a layer with it whose $W^Q$ starts"):
    claim(torch.equal(first, second))
    start = torch.randn(100, 100, generator=torch.Generator().manual_seed(1)) / 10
    one, two = train(start, 0.2, root=False), train(10 * start, 20, root=True)
    claim((one - two)[:5].abs().max(), at_most=1e-3)  # 10 is no power of two
with says("With momentum the same holds"):
    momentum = partial(torch.optim.SGD, momentum=0.9)
    one = train(w_q, 0.05, root=False, by=momentum)
    claim(torch.equal(one, train(8 * w_q, 3.2, root=True, by=momentum)))


def ends(seeds, rate, root):
    """Losses at the end of runs that start from the usual `w_q`."""
    starts = [torch.randn(64, 64, generator=torch.Generator().manual_seed(s)) / 8 for s in seeds]
    runs = zip(starts, seeds, strict=True)
    return torch.stack([train(w, rate, root, seed=s)[-100:].mean() for w, s in runs])


with says("the larger start is still far behind, and so it is in eight runs of eight."):
    claim(second[-100:].mean() / third[-100:].mean(), at_least=4)
    claim((ends(range(8), 0.5, root=False) / ends(range(8), 5, root=True)).min(), at_least=2)
with says("Each way has the best of five rates, chosen in other runs."):
    trials = range(900, 903)
    for root, rates in ((False, (0.5, 0.06, 0.25, 1)), (True, (5, 1, 2.5, 20))):
        own, *others = (ends(trials, rate, root).mean() for rate in rates)
        claim(all(own < 1.2 * other for other in others))

with says("Only with a matrix for each does the word give itself about a quarter"):
    x = torch.randn(1000, 4, 64, generator=torch.Generator().manual_seed(1))
    w_q, w_k = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(2)) / 8
    for q, k, low, high in (
        (x, x, 0.99, 1.0),
        (x @ w_q, x @ w_q, 0.98, 1.0),
        (x @ w_q, x @ w_k, 0.2, 0.3),
    ):
        claim(attend(q, k, x)[1].diagonal(dim1=-2, dim2=-1).mean(), low, high)
with says("So a gradient that is always ten times as large makes the same step."):
    claim(torch.equal(one := train(w_q, 0.01, False, adam), train(8 * w_q, 0.08, True, adam)))
    claim((one - train(w_q, 0.01, True, adam)).abs().max(), at_least=0.1)

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


at_start = {way: [runs[way, n][1][:, 0].mean() for n in heads] for way in ways}
first_root, first_large, first_plain, first_small, _ = at_start.values()
pairs = (first_large, first_root), (first_plain, first_small)
with says("the larger start has the *smaller* gradient, as the paper suspects."):
    for larger, other in pairs:
        claim(max(a / b for a, b in zip(larger, other, strict=True)), at_most=0.9)
with says("But at 256 numbers it is still about half of the other"):
    for larger, other in pairs:
        claim(larger[-1] / other[-1], 0.4, 0.6)
with says("a layer without the root *is* a layer with it whose $W^Q$ starts"):
    claim(torch.equal(losses, of_twin))
ends = {
    way: torch.stack([runs[way, n][0][:, 100:].mean(dim=1) for n in heads]) for way in ways
}  # (3, 8) each
root_ends, large_ends, plain_ends, small_ends, sixteenth_ends = ends.values()
with says("The larger *start* is what hurts, with the root and without it"):
    for start, smaller in ((large_ends, root_ends), (plain_ends, small_ends)):
        claim((start.mean(dim=1) / smaller.mean(dim=1)).min(), at_least=1.3)
        claim(((start / smaller)[1:] > 2).all())  # in each run
with says("The faster rate does little harm."):
    claim((small_ends.mean(dim=1) / root_ends.mean(dim=1)).max(), at_most=1.8)
    claim((plain_ends.mean(dim=1) / large_ends.mean(dim=1)).max(), at_most=1.8)
with says("One of 1/16 is, without any root, for all three sizes."):
    claim((sixteenth_ends.mean(dim=1) / root_ends.mean(dim=1)).max(), at_most=1.3)
with says("The root makes one start do for every size: the scores then start with a spread of 1."):
    claim(root_ends.mean(dim=1).max(), at_most=0.05)
    for n in heads:
        x, (w_q, w_k) = torch.randn(2000, 8, 64), torch.randn(2, 64, n) / 8
        dots = ((x[:, :1] @ w_q) @ (x[:, 1:] @ w_k).mT) / n**0.5
        claim(dots.std(), 0.9, 1.1)
with says("by the Result, only the faster rate is left."):
    for n in heads:
        one, _ = train(False, 0.05, n**-0.5, D_head=n)
        claim(torch.equal(one, train(True, 0.05, faster=n, D_head=n)[0]))
with says("the layer is sure of one key before it has learned which."):
    x, (w_q, w_k) = torch.randn(500, 8, 64), torch.randn(2, 64, 64) / 8
    dots = ((x[:, :1] @ w_q) @ (x @ w_k).mT).squeeze(1)
    claim(largest_weights(dots, 64)[0], at_least=0.8)


with says("so a gradient ten times as large makes the same step."):
    adam = torch.optim.Adam
    one = train(False, 0.01, by=adam)[0][:25]
    claim((one - train(True, 0.01, 8, 8, by=adam)[0][:25]).abs().max(), at_most=0.02)
    for wrong in ((8, 64), (8, 1), (1, 1)):
        claim((one - train(True, 0.01, *wrong, by=adam)[0][:25]).abs().max(), at_least=0.1)

"""The checks of appendix A4 accept what is right, however written, and name what is wrong."""

import torch

from utils.checks import a4


def ablation(loss_of, num_heads):
    without = [loss_of(1 - row).mean() for row in torch.eye(num_heads)]
    return torch.stack(without) - loss_of(torch.ones(num_heads)).mean()


def ablation_by_loop(loss_of, num_heads):
    ones, rises = torch.ones(num_heads), []
    for h in range(num_heads):
        mask = ones.clone()
        mask[h] = 0
        rises.append((loss_of(mask) - loss_of(ones)).mean().item())
    return torch.tensor(rises)


def without(loss_of, num_heads):
    return torch.stack([loss_of(1 - row) for row in torch.eye(num_heads)])


def rises(loss_of, num_heads):
    return without(loss_of, num_heads) - loss_of(torch.ones(num_heads))


def only_it(loss_of, num_heads):
    alone = torch.stack([loss_of(row) for row in torch.eye(num_heads)])
    return (alone - loss_of(torch.ones(num_heads))).mean(1)


def own(loss_of, n, num_heads, at=1.0):
    masks = torch.full((n, num_heads), at, requires_grad=True)
    return torch.autograd.grad(loss_of(masks).sum(), masks)[0]


def gradient(*given):
    return own(*given).abs().mean(dim=0)


def gradient_by_backward(loss_of, n, num_heads):
    masks = torch.ones(n, num_heads).requires_grad_()
    loss_of(masks).sum().backward()
    return masks.grad.abs().sum(0) / n


def gradient_text_by_text(loss_of, n, num_heads):
    mask = torch.ones(num_heads, requires_grad=True)
    losses = loss_of(mask)
    sizes = [torch.autograd.grad(x, mask, retain_graph=True)[0].abs() for x in losses]
    return sum(sizes) / n


def gradient_of_one_mask(loss_of, n, num_heads):
    mask = torch.ones(num_heads, requires_grad=True)
    return torch.autograd.grad(loss_of(mask).mean(), mask)[0].abs()


def of_the_mean(loss_of, n, num_heads):
    masks = torch.ones(n, num_heads, requires_grad=True)
    return torch.autograd.grad(loss_of(masks).mean(), masks)[0].abs().mean(0)


def largest(weights):
    return weights.amax(dim=-1)


def cut(q, out, head, H):
    kept = [h for h in range(H) if h != head]
    return q.unflatten(0, (H, -1))[kept].flatten(0, 1), out.unflatten(1, (H, -1))[:, kept].flatten(
        1
    )


def cut_by_mask(q, out, head, H):
    kept = torch.arange(len(q)) // (len(q) // H) != head
    return q[kept], out[:, kept]


def cut_by_cat(q, out, head, H):
    a, b = head * len(q) // H, (head + 1) * len(q) // H
    return [torch.cat([q[:a], q[b:]]), torch.hstack([out[:, :a], out[:, b:]])]


def cut_strided(q, out, head, H):
    kept = torch.arange(len(q)) % H != head
    return q[kept], out[:, kept]


def cut_query_only(q, out, head, H):
    return cut(q, out, head, H)[0], out


def cut_number(q, out, head, H):
    kept = torch.arange(len(q)) != head
    return q[kept], out[:, kept]


def zero_instead(q, out, head, H):
    kept = torch.arange(len(q)) // (len(q) // H) != head
    return q * kept.unsqueeze(1), out * kept


RIGHT = {
    a4.head_ablation: [ablation, ablation_by_loop],
    a4.head_gradient: [gradient, gradient_by_backward, gradient_text_by_text],
    a4.head_confidence: [
        lambda w: w.amax(-1).mean(0),
        lambda w: w.max(dim=-1).values.sum(0) / len(w),
        lambda w: torch.stack([row.topk(1).values[:, 0] for row in w]).mean(0),
    ],
    a4.cut_head: [cut, cut_by_mask, cut_by_cat],
}

WRONG = {
    a4.head_ablation: [
        (lambda loss_of, n: torch.zeros(n), "still has 0"),
        (lambda *a: -ablation(*a), "the sign is turned"),
        (lambda *a: without(*a).mean(1), "take away the loss"),
        (only_it, "all others taken out"),
        (lambda *a: rises(*a).abs().mean(1), "the sizes are averaged"),
        (lambda *a: rises(*a).sum(1), "the sum over the texts"),
        (rises, "each text has its own"),
        (lambda *a: rises(*a).T, "each text has its own"),
        (lambda *a: ablation(*a).abs(), "this is the size"),
        (lambda *a: ablation(*a) + 1, "wrong at"),
    ],
    a4.head_gradient: [
        (lambda loss_of, n, h: torch.zeros(h), "still has 0"),
        (gradient_of_one_mask, "the size of the mean gradient"),
        (lambda *a: own(*a).mean(0).abs(), "the size of the mean gradient"),
        (lambda *a: own(*a).mean(0), "with its sign"),
        (lambda *a: own(*a).sum(0), "of the summed loss"),
        (lambda *a: own(*a).sum(0).abs(), "the summed gradient"),
        (lambda *a: own(*a).abs().sum(0), "added up"),
        (lambda *a: own(*a).abs(), "each text has its own"),
        (own, "the gradients of all texts"),
        (of_the_mean, "the mean loss was differentiated"),
        (lambda *a: own(*a, 0.0).abs().mean(0), "stand at 0"),
        (lambda *a: own(*a).abs().mean(1), "over the heads"),
        (lambda *a: own(*a).square().mean(0), "the square"),
    ],
    a4.head_confidence: [
        (lambda w: w[:, :, 0].mean(0), "the first token"),
        (lambda w: w.mean(0).amax(-1), "largest of the mean weights"),
        (lambda w: w.amax((0, 2)), "of any text"),
        (largest, "each text has its own"),
        (lambda w: w.amax(-1).mean(1), "over the heads; it should run over the texts"),
        (lambda w: w.amax(1).mean(0), "over the heads; it should run over the tokens"),
        (lambda w: w.argmax(-1).float().mean(0), "the place"),
        (lambda w: w.amax(-1).sum(0), "the sum over the texts"),
        (lambda w: w.mean((0, 2)), "the mean weight"),
    ],
    a4.cut_head: [
        (lambda q, out, *_: (q, out), "query's weight still has all"),
        (cut_query_only, "last projection's weight still has all"),
        (cut_strided, "every H-th"),
        (
            lambda q, o, h, H: (cut(q, o, h, H)[0], cut_strided(q, o, h, H)[1]),
            "every H-th",
        ),
        (lambda q, o, h, H: cut(q, o, h - 1, H), "counted from 0"),
        (lambda q, o, h, H: cut(q, o, H - 1, H), "the last head was"),
        (zero_instead, "set to zero; cut it out"),
        (cut_number, "lost one number"),
        (lambda q, o, h, H: (cut(q, o, h, H)[0], cut(o, q, h, H)[0]), "its rows were cut"),
        (lambda q, o, h, H: (cut(o, q, h, H)[1], cut(q, o, h, H)[1]), "its columns were cut"),
        (lambda q, o, h, H: [x.T for x in cut(q, o, h, H)], "is transposed"),
        (lambda q, *_: q, "two things"),
    ],
}

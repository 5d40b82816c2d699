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


def own(loss_of, n, num_heads, at=1.0):
    masks = torch.full((n, num_heads), at, requires_grad=True)
    return torch.autograd.grad(loss_of(masks).sum(), masks)[0]


def gradient_text_by_text(loss_of, n, num_heads):
    mask = torch.ones(num_heads, requires_grad=True)
    losses = loss_of(mask)
    sizes = [torch.autograd.grad(x, mask, retain_graph=True)[0].abs() for x in losses]
    return sum(sizes) / n


def of_the_mean(loss_of, n, num_heads):
    masks = torch.ones(n, num_heads, requires_grad=True)
    return torch.autograd.grad(loss_of(masks).mean(), masks)[0].abs().mean(0)


def in_turn(cost, num_heads, choose=min):
    gone = []
    while len(gone) < num_heads:
        left = [h for h in range(num_heads) if h not in gone]
        gone.append(choose(left, key=lambda h: cost([*gone, h])))
    return gone


def in_turn_by_tensors(cost, num_heads):
    gone, left = [], list(range(num_heads))
    while left:
        costs = torch.tensor([cost([*gone, h]) for h in left])
        gone.append(left.pop(costs.argmin()))
    return torch.tensor(gone)


def once(cost, num_heads):
    return sorted(range(num_heads), key=lambda h: cost([h]))


def of_those_that_stay(cost, num_heads):
    return in_turn(lambda gone: cost([h for h in range(num_heads) if h not in gone]), num_heads)


def cut(q, out, head, H):
    kept = [h for h in range(H) if h != head]
    return q.unflatten(0, (H, -1))[kept].flatten(0, 1), out.unflatten(1, (H, -1))[:, kept].flatten(
        1
    )


def cut_by_mask(q, out, head, H):
    kept = torch.arange(len(q)) // (len(q) // H) != head
    return q[kept], out[:, kept]


RIGHT = {
    a4.head_ablation: [ablation, ablation_by_loop],
    a4.head_gradient: [lambda *given: own(*given).abs().mean(dim=0), gradient_text_by_text],
    a4.greedy_order: [in_turn, in_turn_by_tensors],
    a4.cut_head: [cut, cut_by_mask],
}

WRONG = {
    a4.head_ablation: [
        (lambda loss_of, n: torch.zeros(n), "still has 0"),
        (lambda *a: -ablation(*a), "the sign is turned"),
        (lambda *a: without(*a).mean(1), "take away the loss"),
        (ablation, {"1 - row": "row"}, "all others taken out"),
        (ablation, {"1 - row": "row - 1"}, "are -1"),
        (
            ablation_by_loop,
            {"mask = ones.clone()": "mask = mask if h else ones.clone()"},
            "pile up",
        ),
        (ablation, {"torch.ones": "torch.zeros"}, "without any head"),
        (lambda *a: rises(*a).abs().mean(1), "the sizes are averaged"),
        (lambda *a: rises(*a).sum(1), "the sum over the texts"),
        (rises, "each text has its own"),
        (lambda *a: rises(*a).T, "each text has its own"),
        (lambda *a: ablation(*a).abs(), "this is the size"),
        (lambda *a: ablation(*a) + 1, "wrong at"),
    ],
    a4.head_gradient: [
        (lambda loss_of, n, h: torch.zeros(h), "still has 0"),
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
    a4.greedy_order: [
        (in_turn, {", key=lambda h: cost([*gone, h])": ""}, "min takes a key"),
        (once, "measured once"),
        (lambda *a: once(*a)[::-1], "all were measured once"),
        (lambda *a: in_turn(*a, choose=max), "take min, not max"),
        (lambda *a: in_turn(*a)[::-1], "the order is turned"),
        (of_those_that_stay, "those that are out"),
        (
            in_turn_by_tensors,
            {
                "(gone)": "(found)",
                "gone, left = [],": "gone, found, left = [], [],",
                "        gone.append": "        found.append(costs.argmin())\n        gone.append",
            },
            "places among",
        ),
        (lambda *a: in_turn(*a)[:-1], "the last head is missing"),
        (lambda cost, n: {0, 1}, "one list"),
        (
            lambda cost, num_heads: [in_turn(cost, num_heads)[: n + 1] for n in range(num_heads)],
            "a list itself",
        ),
        (lambda cost, n: [cost([h]) for h in range(n)], "should be an int"),
        (lambda cost, n: [0] * n, "names a head twice"),
        (lambda cost, n: [3, 0, 1, 2], "expected"),
    ],
    a4.cut_head: [
        (lambda q, out, *_: (q, out), "query's weight still has all"),
        (lambda q, o, h, H: (cut(q, o, h, H)[0], o), "last projection's weight still has all"),
        (cut_by_mask, {"// (len(q) // H)": "% H"}, "every H-th"),
        (lambda q, o, h, H: cut(q, o, h - 1, H), "counted from 0"),
        (lambda q, o, h, H: cut(q, o, H - 1, H), "the last head was"),
        (
            cut_by_mask,
            {"q[kept], out[:, kept]": "q * kept.unsqueeze(1), out * kept"},
            "set to zero; cut it out",
        ),
        (cut_by_mask, {"(len(q) // H)": "(q.shape[1] // H)"}, "not D / H numbers wide"),
        (cut_by_mask, {" // (len(q) // H)": ""}, "lost one number"),
        (lambda q, o, h, H: (cut(q, o, h, H)[0], cut(o, q, h, H)[0]), "its rows were cut"),
        (lambda q, o, h, H: (cut(o, q, h, H)[1], cut(q, o, h, H)[1]), "its columns were cut"),
        (lambda q, o, h, H: [x.T for x in cut(q, o, h, H)], "is transposed"),
        (lambda q, *_: q, "two things"),
    ],
}

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


def minus_ones(loss_of, num_heads):
    whole = loss_of(torch.ones(num_heads)).mean()
    return torch.stack([loss_of(row - 1).mean() - whole for row in torch.eye(num_heads)])


def from_nothing(loss_of, num_heads):
    return (without(loss_of, num_heads) - loss_of(torch.zeros(num_heads))).mean(1)


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


def not_restored(loss_of, num_heads):
    mask, rises = torch.ones(num_heads), []
    whole = loss_of(mask).mean()
    for h in range(num_heads):
        mask[h] = 0
        rises.append(loss_of(mask).mean() - whole)
    return torch.stack(rises)


def in_turn(cost, num_heads, choose=min):
    gone = []
    while len(gone) < num_heads:
        left = [h for h in range(num_heads) if h not in gone]
        gone.append(choose(left, key=lambda h: cost([*gone, h])))
    return gone


def in_turn_by_lists(cost, num_heads):
    gone = []
    for _ in range(num_heads):
        tries = [[*gone, h] for h in range(num_heads) if h not in gone]
        gone = min(tries, key=cost)
    return tuple(gone)


def in_turn_by_tensors(cost, num_heads):
    gone, left = [], list(range(num_heads))
    while left:
        costs = torch.tensor([cost([*gone, h]) for h in left])
        gone.append(left.pop(costs.argmin()))
    return torch.tensor(gone)


def in_turn_without_key(cost, num_heads):
    gone = []
    for _ in range(num_heads):
        gone = min([*gone, h] for h in range(num_heads) if h not in gone)
    return gone


def all_steps(cost, num_heads):
    order = in_turn(cost, num_heads)
    return [order[: n + 1] for n in range(num_heads)]


def places(cost, num_heads):
    gone, found = [], []
    while len(gone) < num_heads:
        left = [h for h in range(num_heads) if h not in gone]
        costs = [cost([*gone, h]) for h in left]
        found.append(int(torch.tensor(costs).argmin()))
        gone.append(left[found[-1]])
    return found


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


def cut_by_width(q, out, head, H):
    """Right only where the heads are D / H wide."""
    kept = torch.arange(len(q)) // (q.shape[1] // H) != head
    return q[kept], out[:, kept]


def zero_instead(q, out, head, H):
    kept = torch.arange(len(q)) // (len(q) // H) != head
    return q * kept.unsqueeze(1), out * kept


RIGHT = {
    a4.head_ablation: [ablation, ablation_by_loop],
    a4.head_gradient: [gradient, gradient_by_backward, gradient_text_by_text],
    a4.greedy_order: [in_turn, in_turn_by_lists, in_turn_by_tensors],
    a4.cut_head: [cut, cut_by_mask, cut_by_cat],
}

WRONG = {
    a4.head_ablation: [
        (lambda loss_of, n: torch.zeros(n), "still has 0"),
        (lambda *a: -ablation(*a), "the sign is turned"),
        (lambda *a: without(*a).mean(1), "take away the loss"),
        (only_it, "all others taken out"),
        (minus_ones, "are -1"),
        (not_restored, "pile up"),
        (from_nothing, "without any head"),
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
    a4.greedy_order: [
        (lambda cost, n: list(range(n)), "min takes a key"),
        (in_turn_without_key, "min takes a key"),
        (once, "measured once"),
        (lambda *a: once(*a)[::-1], "all were measured once"),
        (lambda *a: in_turn(*a, choose=max), "take min, not max"),
        (lambda *a: in_turn(*a)[::-1], "the order is turned"),
        (of_those_that_stay, "those that are out"),
        (places, "places among"),
        (lambda *a: in_turn(*a)[:-1], "the last head is missing"),
        (lambda cost, n: {0, 1}, "one list"),
        (all_steps, "a list itself"),
        (lambda cost, n: [cost([h]) for h in range(n)], "should be an int"),
        (lambda cost, n: [0] * n, "names a head twice"),
        (lambda cost, n: [3, 0, 1, 2], "expected"),
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
        (cut_by_width, "not D / H numbers wide"),
        (cut_number, "lost one number"),
        (lambda q, o, h, H: (cut(q, o, h, H)[0], cut(o, q, h, H)[0]), "its rows were cut"),
        (lambda q, o, h, H: (cut(o, q, h, H)[1], cut(q, o, h, H)[1]), "its columns were cut"),
        (lambda q, o, h, H: [x.T for x in cut(q, o, h, H)], "is transposed"),
        (lambda q, *_: q, "two things"),
    ],
}

"""The checks of chapter 13 accept what is right, however written, and name what is wrong."""

import itertools

import torch

from exercises import ch13
from utils.tiled import merge_attention, partial_attention


def project(heads, w_o, b_o, all_reduce):
    return all_reduce(heads @ w_o.T) + b_o


def in_place(heads, w_o, b_o, all_reduce):
    output = torch.einsum("btd,od->bto", heads, w_o)
    all_reduce(output)
    return output.add_(b_o)


def with_waste(heads, w_o, b_o, all_reduce):
    all_reduce(heads.clone())
    return project(heads, w_o, b_o, all_reduce)


def of_two(heads, w_o, b_o, all_reduce):
    return all_reduce(heads @ w_o.T) / (w_o.shape[0] // w_o.shape[1]) + b_o


TURNS = itertools.count()  # who comes first, and who second


def sometimes(heads, w_o, b_o, all_reduce):
    return all_reduce(heads @ w_o.T) if next(TURNS) % 2 else heads @ w_o.T


def of_two_shapes(heads, w_o, b_o, all_reduce):
    return all_reduce(heads[: 1 + next(TURNS) % 2] @ w_o.T)


def ring(q, k, v, N, pass_on):
    state = partial_attention(q, k, v)
    for _ in range(N - 1):
        k, v = pass_on([k, v])
        state = merge_attention([state, partial_attention(q, k, v)])
    return state[0]


def gathered(q, k, v, N, pass_on):
    keys, values = [k], [v]
    for _ in range(N - 1):
        keys.append(pass_on(keys[-1]))
        values.append(pass_on(values[-1]))
    return (q @ torch.cat(keys).T / q.shape[-1] ** 0.5).softmax(-1) @ torch.cat(values)


def parts_of(q, k, v, N, pass_on, passes=None):
    parts = [partial_attention(q, k, v)]
    for _ in range(N - 1 if passes is None else passes):
        k, v = pass_on((k, v))
        parts.append(partial_attention(q, k, v))
    return parts


def own_again(q, k, v, N, pass_on):
    parts = [partial_attention(q, k, v)]
    parts += [partial_attention(q, *pass_on((k, v))) for _ in range(N - 1)]
    return merge_attention(parts)[0]


def one_of_both(q, k, v, N, pass_on, keys_stay):
    parts = [partial_attention(q, k, v)]
    for _ in range(N - 1):
        k, v = (k, pass_on(v)) if keys_stay else (pass_on(k), v)
        parts.append(partial_attention(q, k, v))
    return merge_attention(parts)[0]


def queries_too(q, k, v, N, pass_on):
    parts = [partial_attention(q, k, v)]
    for _ in range(N - 1):
        q, k, v = pass_on([q, k, v])
        parts.append(partial_attention(q, k, v))
    return merge_attention(parts)[0]


def stacked(*inputs):
    return torch.stack([output for output, _ in parts_of(*inputs)])


def zigzag(T, N):
    pieces = torch.arange(T).chunk(2 * N)
    return [torch.cat([pieces[r], pieces[-1 - r]]) for r in range(N)]


def joined(q, k, v, N, pass_on):
    k_j, v_j = k, v
    for _ in range(N - 1):
        k_j, v_j = pass_on([k_j, v_j])
        k, v = torch.cat([k, k_j]), torch.cat([v, v_j])
    return partial_attention(q, k, v)[0]


def online(q, k, v, N, pass_on):
    mixed = total = 0
    for step in range(N):
        weights = (q @ k.T / q.shape[-1] ** 0.5).exp()
        mixed, total = mixed + weights @ v, total + weights.sum(-1, keepdim=True)
        if step < N - 1:
            kv = pass_on(torch.stack([k, v]).flatten())
            k, v = kv.view(2, *k.shape)
    return mixed / total


def with_gradients(*given):
    q, k, v, *rest = given
    return ring(q.requires_grad_(), k, v, *rest).detach()


SENT = {"heads": 262_144, "texts": 49_152, "tokens": 245_760}


RIGHT = {
    ch13.placed_all_reduce: [project, in_place],
    ch13.ring_of_parts: [ring, online],
    ch13.balanced_ring: [
        zigzag,
        lambda T, N: [[t for i in range(r, T // 2, N) for t in (i, T - 1 - i)] for r in range(N)],
    ],
    ch13.numbers_sent: [SENT, {name: float(n) for name, n in SENT.items()}],
}

WRONG = {
    ch13.placed_all_reduce: [
        (lambda heads, w_o, b_o, _: heads @ w_o.T + b_o, "call all_reduce"),
        (lambda h, o, b_o, all_reduce: all_reduce(h @ o.T + b_o), "once for each process"),
        (lambda heads, w_o, *_: heads @ w_o.T, "not added up, and the bias is missing"),
        (lambda heads, w_o, _, add: add(heads @ w_o.T), "the bias is missing"),
        (lambda h, o, b_o, all_reduce: all_reduce(h) @ o.T + b_o, "before the projection"),
        (lambda h, o, b_o, all_reduce: all_reduce(all_reduce(h @ o.T)) + b_o, "added up again"),
        (of_two, "the mean of the parts"),
        (with_waste, "right, but 120 numbers go through it; 80 do"),
        (sometimes, "wait for one another"),
        (of_two_shapes, "tensors of different shapes"),
        (lambda heads, *_: heads, "has shape (2, 5, 4)"),
        (lambda heads, w_o, *_: heads @ w_o, "your code raised RuntimeError"),
    ],
    ch13.ring_of_parts: [
        (lambda q, k, v, N, pass_on: partial_attention(q, k, v)[0], "alone: pass keys on"),
        (lambda *inputs: stacked(*inputs).mean(dim=0), "the plain mean"),
        (lambda *inputs: stacked(*inputs).sum(dim=0), "merge_attention weighs them"),
        (lambda *inputs: stacked(*inputs)[-1], "came last"),
        (lambda *inputs: merge_attention(parts_of(*inputs)[1:])[0], "your own keys are not in it"),
        (own_again, "pass on what has just come"),
        (lambda *inputs: one_of_both(*inputs, False), "the values stay your own"),
        (lambda *inputs: one_of_both(*inputs, True), "the keys stay your own"),
        (
            lambda q, k, v, N, p: merge_attention(parts_of(q, k, v, N, p, max(1, N - 2)))[0],
            "the last slice has not come",
        ),
        (lambda *x: merge_attention(parts_of(*x, x[3]))[0], "your own keys count twice"),
        (queries_too, "the queries travel too"),
        (lambda *inputs: merge_attention(parts_of(*inputs)), "take [0]"),
        (gathered, "Memory is the ring's only point"),
        (joined, "Memory is the ring's only point"),
        (lambda *inputs: merge_attention(parts_of(*inputs))[0], "you keep the parts"),
        (
            lambda q, k, v, N, p: merge_attention(parts_of(q, k, v, N, p, N)[:N])[0],
            "right, but 72 numbers leave a process",
        ),
    ],
    ch13.balanced_ring: [
        (lambda T, N: torch.arange(T).view(N, -1), "an early and a late part"),
        (lambda T, N: [range(r, T, N) for r in range(N)], "every N-th token"),
        (
            lambda T, N: torch.arange(T).view(2, N, -1).transpose(0, 1).flatten(1),
            "count the late pieces from the end",
        ),
        (lambda T, N: [range(T)] * N, "has no place, or two"),
        (lambda T, N: [range(T)], "there are 1 lists"),
        (lambda T, N: [range(1), range(1, T), *[[]] * (N - 2)], "should hold 4"),
        (lambda T, N: T, "a list for each process"),
        (
            lambda T, N: torch.cat([torch.arange(T)[::2], torch.arange(T)[1::2]]).view(N, -1),
            "pairs",
        ),
    ],
    ch13.numbers_sent: [
        (262_144, "should be a dict"),
        ({"heads": 1}, "should be a dict"),
        (SENT | {"heads": "many"}, "should be a number"),
        (SENT | {"heads": 524_288}, "heads: a process sends half of that"),
        (SENT | {"heads": 393_216}, "the factor of four processes"),
        (SENT | {"heads": 65_536}, "these have 256"),
        (SENT | {"heads": 98_304}, "what the run above printed"),
        (SENT | {"texts": 73_728}, "the factor of four processes"),
        (SENT | {"heads": 131_072}, "goes round twice"),
        (SENT | {"texts": 196_608}, "however long the texts"),
        (SENT | {"texts": 294_912}, "do not grow"),
        (SENT | {"tokens": 196_608}, "the gradients of the weights are missing"),
        (SENT | {"tokens": 49_152}, "keys and values are missing"),
        (SENT | {"tokens": 114_688}, "go round three times"),
        (SENT | {"tokens": 1}, "tokens: 1 is not what is sent"),
    ],
}

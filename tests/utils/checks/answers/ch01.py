"""The checks of chapter 1 accept what is right, however written, and name what is wrong."""

import torch
import torch.nn.functional as F

from utils.checks import ch01


def lookup_by_loops(query, keys, values):
    powers = [torch.exp(torch.dot(query, key)) for key in keys]
    output = torch.zeros(values.shape[1])
    for power, value in zip(powers, values, strict=True):
        output += power / sum(powers) * value
    return output


def kernel_by_loops(queries, keys, width):
    rows = [torch.stack([-((q - k) ** 2).sum() / (2 * width**2) for k in keys]) for q in queries]
    return torch.stack([torch.softmax(row, dim=0) for row in rows])


def attention_by_pytorch(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return F.scaled_dot_product_attention(q, k, v, scale=1.0), (q @ k.T).softmax(dim=1)


def attention_by_rows(x, w_q, w_k, w_v):
    weights = torch.stack([torch.softmax((x @ w_k) @ (row @ w_q), 0) for row in x])
    return [weights @ x @ w_v, weights]


def attend(x, w_q, w_k, w_v, dim=-1, scale=1.0):
    weights = (x @ w_q @ (x @ w_k).T * scale).softmax(dim=dim)
    return weights @ x @ w_v, weights


def kernel(q, k, factor, power=2):
    return torch.softmax(factor * torch.cdist(q, k) ** power, dim=-1)


def kernel_without_stable_softmax(q, k, w):
    powers = (-(torch.cdist(q, k) ** 2) / (2 * w**2)).exp()
    return powers / powers.sum(dim=1, keepdim=True)


def transposed_weights(x, w_q, w_k, w_v):
    weights = attend(x, w_q, w_k, w_v)[1]
    return weights.T @ x @ w_v, weights


def unprojected_values(x, w_q, w_k, w_v):
    weights = attend(x, w_q, w_k, w_v)[1]
    return weights @ x, weights


def asks(action=(0, 3), person=(0, 0), thing=(0, 3), dtype=torch.float32):
    return lambda: torch.tensor([action, person, thing], dtype=dtype)


RIGHT = {
    ch01.soft_lookup: [lookup_by_loops, lambda q, k, v: torch.softmax(q @ k.T, dim=0) @ v],
    ch01.kernel_weights: [
        kernel_by_loops,
        lambda q, k, w: ((q @ k.T - (k**2).sum(dim=-1) / 2) / w**2).softmax(dim=-1),
    ],
    ch01.self_attention: [attention_by_pytorch, attention_by_rows],
    ch01.queries_by_hand: [asks(), lambda: [[0, 3], [0, 0], [0, 3]]],
}

WRONG = {
    ch01.soft_lookup: [
        (lambda q, k, v: (k @ q).exp() @ v, "not divided by their sum"),
        (lambda q, k, v: k @ q @ v, "weights by a softmax"),
        (lambda q, k, v: k @ q / (k @ q).sum() @ v, "exponentials first"),
        (lambda q, k, v: (k @ q / 3**0.5).softmax(0) @ v, "leave that to"),
        (lambda q, k, v: v[(k @ q).argmax()], "best key alone"),
        (lambda q, k, v: v.mean(dim=0), "all values have the same weight"),
        (lambda q, k, v: torch.softmax(-k @ q, dim=0) @ v, "the sign is wrong"),
        (lambda q, k, v: k @ q, "these are the scores"),
        (lambda q, k, v: torch.softmax(k @ q, dim=0) @ k, "the keys are mixed"),
        (lambda q, k, v: torch.zeros(2), "the output is wrong at"),
        (lambda q, k, v: q @ k @ v, "your code raised"),
        (lambda q, k, v: (k @ q).softmax(dim=0), "these are the weights"),
        (lambda q, k, v: None, "got NoneType"),
    ],
    ch01.kernel_weights: [
        (lambda q, k, w: kernel(q, k, -0.5), "width is not used"),
        (lambda q, k, w: kernel(q, k, -0.5 / w), "width is not squared"),
        (lambda q, k, w: kernel(q, k, -1 / w**2), "factor"),
        (lambda q, k, w: kernel(q, k, -0.5 / w**2 / 3), "are averaged over the numbers"),
        (lambda q, k, w: kernel(q, k, -1 / 2 * w**2), "divides by 2, then multiplies"),
        (lambda q, k, w: kernel(q, k, 0.5 / w**2), "sign"),
        (lambda q, k, w: kernel(q, k, -0.5 / w**2, 1), "distances are not"),
        (
            lambda q, k, w: (-(torch.cdist(q, k) ** 2) / (2 * w**2)).exp(),
            "not divided by their sum",
        ),
        (lambda q, k, w: (-(torch.cdist(q, k) ** 2) / (2 * w**2)).softmax(dim=0), "wrong axis"),
        (lambda q, k, w: (q @ k.T / (2 * w**2)).softmax(-1), "not products"),
        (kernel_without_stable_softmax, "0/0 is NaN"),
    ],
    ch01.self_attention: [
        (lambda x, a, b, c: (x @ c, (x @ a @ (x @ b).T).exp()), "not divided by their sum"),
        (lambda x, *w: attend(x, *w)[0], "two things"),
        (lambda x, *w: (x @ w[2], torch.full((5, 5), 0.2)), "all weights are equal"),
        (lambda x, *w: attend(x, *w)[::-1], "output comes first"),
        (lambda x, *w: (x @ w[2], (x @ x.T).softmax(1)), "w_q and w_k"),
        (lambda x, a, b, c: attend(x, a, a, c), "the keys are made with w_q"),
        (lambda x, a, b, c: attend(x, b, b, c), "the queries are made with w_k"),
        (lambda x, *w: attend(x, *w, scale=0.5), "divided by a root"),
        (lambda x, a, b, c: (x @ c, x @ a @ (x @ b).T), "softmax is missing"),
        (lambda x, *w: attend(x, *w, dim=0), "wrong axis"),
        (lambda x, a, b, c: attend(x, b, a, c), "queries and keys are exch"),
        (lambda x, *w: attend(x, *w, scale=3 ** (-0.5)), "leave that to chapter 2"),
        (unprojected_values, "w_v first"),
        (transposed_weights, "transposed"),
        (lambda x, *w: (x @ w[2], attend(x, *w)[1]), "these are the values"),
    ],
    ch01.queries_by_hand: [
        (lambda: asks()().T, "makes it (3, 2)"),
        (lambda: torch.eye(3), "shape (3, 3)"),
        (lambda: None, "should be a tensor"),
        (lambda: "w_q", "should be a tensor"),
        (lambda: asks()() / 0, "not finite"),
        (asks((0, 1), thing=(0, 1)), "only 0.475; make its number larger"),
        (asks((3, 0), thing=(3, 0)), "looks for an action"),
        (asks(thing=(0, 0)), '"that" gives "you" only 0.250'),
        (asks((0, -3)), "turns it away"),
        (asks((-10, 0), thing=(-10, 0)), "turning away from actions still leaves two words"),
        (asks((0, 0), (0, 3)), "Its row is that of an action"),
        (asks(person=(3, 0)), '"you" gives the words 0.48, 0.02, 0.48, 0.02'),
        (asks(person=(0, 3)), "fits no key better"),
    ],
}

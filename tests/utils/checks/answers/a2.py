"""The checks of appendix A2 accept what is right, however written, and name what is wrong."""

import torch

from utils.checks import a2


def additive(query, key, w_query, w_key, v):
    q, k = query @ w_query, key @ w_key
    return (q[:, :, None] + k[:, None]).tanh() @ v


def additive_by_loops(query, key, w_query, w_key, v):
    scores = torch.zeros(*query.shape[:2], key.shape[1])
    for b, t, s in torch.cartesian_prod(*map(torch.arange, scores.shape)):
        scores[b, t, s] = (query[b, t] @ w_query + key[b, s] @ w_key).tanh() @ v
    return scores


def additive_of_the_last(query, key, w_query, w_key, w):
    for a in range(len(w)):
        q, k = query @ w_query[:, a], key @ w_key[:, a]
        scores = w[a] * (q[:, :, None] + k[:, None]).tanh()
    return scores


def additive_unbatched(query, key, w_query, w_key, w):
    return ((query @ w_query).unsqueeze(1) + (key @ w_key).unsqueeze(0)).tanh() @ w


def additive_not_summed(query, key, w_query, w_key, w):
    return (query @ w_query)[:, :, None].add((key @ w_key)[:, None]).tanh() * w


def by_roots(w, rank):
    U, values, Vh = torch.linalg.svd(w, full_matrices=False)
    roots = values[:rank].sqrt()
    return U[:, :rank] * roots, Vh[:rank].T * roots


def in_one(w, rank):
    U, values, V = torch.svd(w)
    return U[:, :rank], V[:, :rank] * values[:rank]


def by_qr(w, rank):
    Q, _ = torch.linalg.qr(w[:, :rank])  # its columns span those of w
    return Q, (Q.T @ w).T


def svd_of(w, rank):
    U, values, Vh = torch.linalg.svd(w)
    return U[:, :rank], values[:rank], Vh


RIGHT = {a2.additive_scores: [additive, additive_by_loops], a2.two_projections: [by_roots, by_qr]}

WRONG = {
    a2.additive_scores: [
        (lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v, "tanh is missing"),
        (
            lambda q, k, wq, wk, v: (((q @ wq)[:, :, None] + (k @ wk)[:, None]) @ v).tanh(),
            "tanh comes last",
        ),
        (
            lambda q, k, wq, wk, v: ((q @ wq).tanh()[:, :, None] + (k @ wk).tanh()[:, None]) @ v,
            "tanh is taken of each part",
        ),
        (
            lambda q, k, wq, wk, v: ((q @ wq)[:, :, None] * (k @ wk)[:, None]).tanh() @ v,
            "multiplies the two parts",
        ),
        (lambda q, k, wq, wk, v: additive(q, k, wq, wk, torch.ones_like(v)), "w is missing"),
        (lambda *x: additive(*x).softmax(-1), "leave the softmax out"),
        (lambda *x: additive(*x).mT, "scores are transposed"),
        (lambda q, k, wq, wk, v: (q @ wq + k @ wk).tanh() @ v, "query t meets key t"),
        (lambda q, k, wq, wk, v: additive(q, k, wk, wq, v), "are swapped"),
        (lambda q, k, wq, wk, v: (q @ wq) @ (k @ wk).mT, "these are dot products"),
        (additive_of_the_last, "only the last of the D_head numbers is left"),
        (additive_not_summed, "not summed"),
        (lambda *x: additive(*x) / len(x[-1]), "averaged"),
        (lambda *x: additive(*x) / len(x[-1]) ** 0.5, "root of D_head"),
        (lambda q, k, wq, wk, v: additive(q, k[:1].expand_as(k), wq, wk, v), "the first one"),
        (additive_unbatched, "those of one sequence"),
        (lambda *x: None, "should be a tensor"),
        (lambda q, k, *x: additive(q[0], k[0], *x), "has shape (4, 6)"),
    ],
    a2.two_projections: [
        (lambda w, r: w, "two matrices"),
        (lambda w, r: (w, None), "should be tensors"),
        (lambda w, r: (w, torch.eye(w.shape[1])), "product is right, but each matrix has 5"),
        (lambda w, r: (by_roots(w, r)[0], by_roots(w, r)[1].T), "w_key is transposed"),
        (lambda w, r: by_roots(w, r)[::-1], "W transposed"),
        (lambda w, r: (svd_of(w, r)[0], svd_of(w, r)[2][:r].T), "singular values are missing"),
        (lambda w, r: (svd_of(w, r)[0] * svd_of(w, r)[1], in_one(w, r)[1]), "in both matrices"),
        (
            lambda w, r: (svd_of(w, r)[0] * svd_of(w, r)[1].sqrt(), svd_of(w, r)[2][:r].T),
            "in one matrix only",
        ),
        (lambda w, r: (svd_of(w, r)[0] * svd_of(w, r)[1], svd_of(w, r)[2][:, :r]), "V transposed"),
        (lambda w, r: (torch.zeros(len(w), r), torch.zeros(w.shape[1], r)), "is wrong at"),
        (lambda w, r: (torch.zeros(3, 3), torch.zeros(2, 2)), "have the shapes"),
    ],
}

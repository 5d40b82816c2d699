"""The checks of appendix A2 accept what is right, however written, and name what is wrong."""

import torch

from exercises import a2


def additive(query, key, w_query, w_key, v):
    q, k = query @ w_query, key @ w_key
    return (q[:, :, None] + k[:, None]).tanh() @ v


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


RIGHT = {
    a2.two_projections: [by_roots, by_qr],
}

WRONG = {
    a2.additive_scores: [
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

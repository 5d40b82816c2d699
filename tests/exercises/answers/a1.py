"""The checks of appendix A1 accept what is right, however written, and name what is wrong."""

import numpy as np
import torch

from exercises import a1


def by_axes(packed, H):
    D = packed.shape[1]
    return packed.reshape(H, 3, D // H, D).transpose(1, 3, 0, 2)


def by_loops(packed, H):
    D = packed.shape[1]
    kernels = [np.zeros((D, H, D // H)) for _ in range(3)]
    for h, kind, i in np.ndindex(H, 3, D // H):
        kernels[kind][:, h, i] = packed[(3 * h + kind) * (D // H) + i]
    return kernels


def cut(packed, *axes, order):
    D = packed.shape[1]
    return packed.reshape(*axes, D).transpose(order)


def d_head(packed, H):
    return packed.shape[1] // H


def only_reshaped(packed, H):
    D = packed.shape[1]
    return cut(packed, H, 3, D // H, order=(1, 0, 2, 3)).reshape(3, D, H, D // H)


def allowed(attn_mask, padding):
    return ~(attn_mask[None, None] | padding[:, None, None])


def allowed_in_torch(attn_mask, padding):
    return torch.from_numpy(allowed(attn_mask, padding))


RIGHT = {a1.kernels_for_keras: [by_axes, by_loops], a1.mask_for_jax: [allowed, allowed_in_torch]}

WRONG = {
    a1.kernels_for_keras: [
        (lambda p, H: cut(p, 3, H, d_head(p, H), order=(0, 3, 1, 2)), "PyTorch's order"),
        (lambda p, H: cut(p, H, d_head(p, H), 3, order=(2, 3, 0, 1)), "one kind stay together"),
        (only_reshaped, "do not reshape (H, D_head, D)"),
        (lambda p, H: cut(p, H, 3, d_head(p, H), order=(1, 0, 2, 3)), "are not transposed"),
        (lambda p, H: by_axes(p, H).swapaxes(2, 3), "comes last"),
        (lambda p, H: by_axes(p, H).swapaxes(1, 2), "comes first"),
        (lambda p, H: [k.reshape(len(k), -1) for k in by_axes(p, H)], "folded into one"),
        (lambda p, H: by_axes(p, H)[::-1], "wrong order"),
        (lambda p, H: by_axes(p, H)[[0, 2, 1]], "keys and values are exchanged"),
        (lambda p, H: by_axes(p, H) + 1, "is wrong at"),
        (lambda p, H: by_axes(p, H)[:2], "three kernels; got 2"),
        (lambda p, H: (p, p, p.T[:2]), "have the shapes"),
        (lambda p, H: (p, p, p), "has shape"),
        (lambda p, H: None, "should be an array; got NoneType"),
        (lambda p, H: p.reshape(H, 3, 7), "your code raised ValueError"),
    ],
    a1.mask_for_jax: [
        (lambda a, p: ~allowed(a, p), "True still means blocked"),
        (lambda a, p: ~(a[None, None] & p[:, None, None]), "neither of the two"),
        (lambda a, p: allowed(~a, p), "turn both"),
        (lambda a, p: allowed(a, ~p), "turn both"),
        (lambda a, p: np.repeat(~a[None, None], len(p), 0), "padding is not used"),
        (lambda a, p: allowed(np.zeros_like(a), p), "attn_mask, is not used"),
        (lambda a, p: allowed(a, p)[:, 0], "an axis for the heads is missing"),
        (lambda a, p: allowed(a, p).swapaxes(0, 1), "comes second"),
        (lambda a, p: ~a | p[:, None, None], "write brackets"),
        (lambda a, p: allowed(a, p).astype(float), "dtype float64"),
        (lambda a, p: ~(a[None, None] | p[:, None, :, None]), "blocks queries"),
        (lambda a, p: None, "should be an array; got NoneType"),
    ],
}

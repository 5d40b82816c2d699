import numpy as np
import torch

from exercises import a1


def by_axes(packed, H, order=(1, 3, 0, 2)):
    D = packed.shape[1]
    return packed.reshape(H, 3, D // H, D).transpose(order)


def by_loops(packed, H):
    D = packed.shape[1]
    kernels = [np.zeros((D, H, D // H)) for _ in range(3)]
    for h, kind, i in np.ndindex(H, 3, D // H):
        kernels[kind][:, h, i] = packed[(3 * h + kind) * (D // H) + i]
    return kernels


def allowed(attn_mask, padding):
    return ~(attn_mask[None, None] | padding[:, None, None])


def allowed_in_torch(attn_mask, padding):
    return torch.from_numpy(allowed(attn_mask, padding))


RIGHT = {a1.kernels_for_keras: [by_axes, by_loops], a1.mask_for_jax: [allowed, allowed_in_torch]}

WRONG = {
    a1.kernels_for_keras: [
        (lambda p, H: by_axes(p, H) + 1, "is wrong at"),
        (lambda p, H: by_axes(p, H, (1, 0, 2, 3)), "the kernels are not transposed"),
        (lambda p, H: p.T.reshape(3, len(p) // 3, H, -1), "the first axis of packed.T is D"),
        (lambda p, H: by_axes(p, H)[:2], "three kernels; got 2"),
        (lambda p, H: (p, p, p.T[:2]), "have the shapes"),
        (lambda p, H: (p, p, p), "has shape"),
        (lambda p, H: None, "should be an array; got NoneType"),
        (lambda p, H: p.reshape(H, 3, 7), "your code raised ValueError"),
    ],
    a1.mask_for_jax: [(lambda a, p: allowed(a, p).astype(float), "dtype float64")],
}

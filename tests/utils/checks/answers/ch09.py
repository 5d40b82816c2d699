"""The checks of chapter 9 accept what is right, however written, and name what is wrong."""

import torch

from utils.checks import ch09


def ablate(joined, head, H):
    heads = joined.unflatten(-1, (H, -1)).clone()
    heads[:, :, head] = 0
    return heads.flatten(-2)


def ablate_by_mask(joined, head, H):
    size = joined.shape[-1] // H
    return joined * (torch.arange(joined.shape[-1]) // size != head)


def ablate_by_cat(joined, head, H):
    parts = [p * (h != head) for h, p in enumerate(joined.chunk(H, dim=-1))]
    return torch.cat(parts, dim=-1)


def ablate_in_place(joined, head, H):
    joined.unflatten(-1, (H, -1))[:, :, head] = 0
    return joined


def ablate_strided(joined, head, H):
    heads = joined.unflatten(-1, (-1, H)).clone()
    heads[..., head] = 0
    return heads.flatten(-2)


def keep_one(joined, head, H):
    return joined - ablate(joined, head, H)


def remove(joined, head, H):
    return torch.cat([p for h, p in enumerate(joined.chunk(H, -1)) if h != head], dim=-1)


def gradient(losses_of, B, H, value=1.0):
    masks = torch.full((B, H), value, requires_grad=True)
    return torch.autograd.grad(losses_of(masks).sum(), masks)[0]


def importance(losses_of, B, H):
    return gradient(losses_of, B, H).abs().mean(dim=0)


def importance_by_loop(losses_of, B, H):
    total = torch.zeros(H)
    for b in range(B):
        masks = torch.ones(B, H, requires_grad=True)
        losses_of(masks)[b].backward()
        total += masks.grad[b].abs() / B
    return total


def importance_by_func(losses_of, B, H):
    jacobian = torch.func.jacrev(losses_of)(torch.ones(B, H))  # (B, B, H)
    return torch.stack([jacobian[b, b].abs() for b in range(B)]).mean(0)


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


def cut_rows_of_both(q, out, head, H):
    q, out = cut(q, out, head, H)
    return q, out.T


def zero_instead(q, out, head, H):
    kept = torch.arange(len(q)) // (len(q) // H) != head
    return q * kept.unsqueeze(1), out * kept


def confidence(weights, padding):
    return weights.amax(-1).transpose(1, 2)[~padding].mean(dim=0)


def confidence_by_sum(weights, padding):
    keep = (~padding).to(weights.dtype)
    return torch.einsum("bht,bt->h", weights.max(dim=-1).values, keep) / keep.sum()


def confidence_by_loop(weights, padding):
    rows = [weights[b, :, t].amax(-1) for b, t in (~padding).nonzero().tolist()]
    return torch.stack(rows).mean(0)


def confidence_by_document(weights, padding):
    found = [w[:, ~p].amax(-1).mean(-1) for w, p in zip(weights, padding, strict=True)]
    return torch.stack(found).mean(0)


RIGHT = {
    ch09.ablate_head: [ablate, ablate_by_mask, ablate_by_cat],
    ch09.mask_gradient: [importance, importance_by_loop, importance_by_func],
    ch09.cut_head: [cut, cut_by_mask, cut_by_cat],
    ch09.confidence: [confidence, confidence_by_sum, confidence_by_loop],
}

WRONG = {
    ch09.ablate_head: [
        (lambda x, *_: x, "nothing was set"),
        (ablate_in_place, "the input was changed"),
        (ablate_strided, "heads mixed up"),
        (keep_one, "all other heads are gone"),
        (remove, "keep the shape"),
        (lambda x, h, H: ablate(x, h - 1, H), "counted from 0"),
        (lambda x, h, H: ablate(x, h, x.shape[-1]), "one number"),
        (lambda x, h, H: ablate(x, h, H) + 1, "wrong at"),
    ],
    ch09.mask_gradient: [
        (lambda *a: gradient(*a).mean(0).abs(), "documents cancel"),
        (lambda *a: gradient(*a).mean(0), "with its sign"),
        (lambda *a: gradient(*a).abs().sum(0), "the sum over"),
        (lambda *a: gradient(*a).square().mean(0), "not the square"),
        (lambda *a: gradient(*a, 0.0).abs().mean(0), "stand at 0"),
        (lambda *a: gradient(*a).abs(), "kept apart"),
        (lambda *a: gradient(*a).abs().mean(1), "over the heads"),
    ],
    ch09.cut_head: [
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
        (lambda q, *_: q, "two things"),
    ],
    ch09.confidence: [
        (lambda w, p: (w.amax(-1) * ~p[:, None]).sum((0, 2)), "this is the sum"),
        (lambda w, p: w.amax(-1).mean((0, 2)), "the padding takes part"),
        (lambda w, p: confidence(w, ~p), "the wrong way round"),
        (lambda w, p: (w.amax(-1) * ~p[:, None]).mean((0, 2)), "still counted"),
        (confidence_by_document, "each document counts alike"),
        (lambda w, p: (w * ~p[:, None, :, None]).amax(2).mean((0, 2)), "over the queries"),
        (lambda w, p: confidence(w, p).mean(), "heads are averaged"),
        (lambda w, p: confidence(w.mean(-1, True), p), "the mean weight"),
    ],
}

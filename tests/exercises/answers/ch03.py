import torch

from exercises import ch03


def by_hand(first=(0, 6), sharp=30.0, keys=None, w_v=None, w_o=None):
    """Two heads of which each hears six numbers of the query, from these places on."""
    keys = torch.eye(6) if keys is None else keys
    w_v = torch.eye(6) if w_v is None else w_v
    heads = []
    for start in first:
        w_q = torch.zeros(12, 6)
        w_q[start : start + 6] = sharp * keys
        heads.append((w_q, keys, w_v))
    return heads, torch.eye(12) if w_o is None else w_o


def in_another_basis():
    turn = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(1))).Q
    w_o = torch.zeros(12, 12)
    w_o[:6, :6] = w_o[6:, 6:] = turn.T
    return by_hand(keys=turn, w_v=turn, w_o=w_o)


def hearing_both_names():
    heads, w_o = by_hand()
    return [(torch.cat([30 * torch.eye(6)] * 2), *head[1:]) for head in heads], w_o


def split_by_heads(outputs, w_o):
    blocks = w_o.split(len(outputs))
    return torch.stack([o @ block for o, block in zip(outputs, blocks, strict=True)])


RIGHT = {ch03.couriers: [by_hand, in_another_basis]}

WRONG = {
    ch03.couriers: [
        (lambda: by_hand(sharp=2.0), "make its scores larger"),
        (lambda: by_hand(sharp=-30.0), "head 0 turns away from the name"),
        (hearing_both_names, "head 0 hears both names, and gives them 0.50 and 0.50"),
        (lambda: by_hand((0, 0)), "both heads go to the same guest"),
        (lambda: by_hand((6, 0)), "in the wrong order"),
        (lambda: by_hand(w_o=torch.zeros(12, 12)), "the error is 1.0"),
        (lambda: by_hand(w_v=torch.eye(6)[:, :3], w_o=torch.ones(6, 12)), "all six numbers"),
        (lambda: by_hand(w_o=torch.eye(6)), "w_o has shape (6, 6); expected (12, 12)"),
        (lambda: ([(torch.eye(6),) * 2] * 2, torch.eye(12)), "three matrices for head 0"),
        (lambda: by_hand()[1], "two things: the heads and w_o"),
        (lambda: (by_hand()[0][:1], torch.eye(12)), "two heads"),
        (lambda: by_hand(keys=torch.ones(6, 5)), "your code raised"),
        (
            lambda: (by_hand()[0], torch.eye(12).tolist()),
            "w_o should be a tensor of shape (12, 12)",
        ),
        (lambda: ([[1, 2, 3]] * 2, torch.eye(12)), "matrices of head 0 should be a 2-d tensor"),
        (lambda: ([(torch.eye(12), torch.eye(6), torch.eye(6))] * 2, torch.eye(12)), "(12, 12)"),
    ],
    ch03.contributions_of_heads: [(split_by_heads, "w_o.split(D_head)")],
}

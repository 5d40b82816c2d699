"""The check of appendix A3 accepts what is right, however written, and names what is wrong."""

import torch

from utils.checks import a3


def by_keys(ids, padding):
    keys = torch.rand(ids.shape)
    keys[:, 0] = -1
    keys[ids == padding] = 2
    return ids.gather(1, keys.argsort(dim=1))


def by_rows(ids, padding):
    rows = []
    for row in ids:
        n = int((row != padding).sum())
        order = torch.cat([torch.tensor([0]), torch.randperm(n - 1) + 1, torch.arange(n, len(row))])
        rows.append(row[order])
    return torch.stack(rows)


def in_place(ids, padding):
    for row in ids:
        n = int((row != padding).sum())
        row[1:n] = row[1:n][torch.randperm(n - 1)]
    return ids


def by_keys_alone(ids, padding):
    return ids.gather(1, torch.rand(ids.shape).argsort(dim=1))


def with_padding(ids, padding):
    keys = torch.rand(ids.shape)
    keys[:, 0] = -1
    return ids.gather(1, keys.argsort(dim=1))


def one_order(ids, padding):
    keys = torch.rand(ids.shape[1]).expand(ids.shape).clone()
    keys[:, 0] = -1
    keys[ids == padding] = 2
    return ids.gather(1, keys.argsort(dim=1))


def only_the_first(ids, padding):
    return torch.cat([by_keys(ids[:1], padding), ids[1:]])


RIGHT = {a3.shuffle_words: [by_keys, by_rows, in_place]}

WRONG = {
    a3.shuffle_words: [
        (lambda ids, padding: ids, "nothing is shuffled"),
        (lambda ids, padding: None, "as a tensor"),
        (lambda ids, padding: ids[:, 1:], "have shape"),
        (lambda ids, padding: ids[torch.randperm(4)], "moved to other texts"),
        (lambda ids, padding: torch.randint(2, 32, ids.shape), "keep its words"),
        (by_keys_alone, "token 0"),
        (with_padding, "padding has come between"),
        (one_order, "in the same order"),
        (only_the_first, "one of the texts"),
    ]
}

"""The check of appendix A3 accepts what is right, however written, and names what is wrong."""

import torch

from exercises import a3


def each_text(order, first=1, less=0):
    """A function that gives the words of each text in the order that ``order(n, draw)`` says."""

    def shuffle(ids, pad, draw):
        new = ids.clone()
        for text, row in zip(ids, new, strict=True):
            end = int((text != pad).sum()) - less
            row[first:end] = text[first:end][order(end - first, draw)]
        return new

    return shuffle


def drawn(n, draw):
    return torch.randperm(n, generator=draw)


def by_sorting(ids, pad, draw):
    noise = torch.rand(ids.shape, generator=draw)
    noise[:, 0] = -1.0
    noise[ids == pad] = 2.0
    return ids.gather(1, noise.argsort(dim=1))


def by_swaps(ids, pad, draw):
    new = []
    for text in ids.tolist():
        for i in range(sum(token != pad for token in text) - 1, 1, -1):
            other = int(torch.randint(1, i + 1, (), generator=draw))
            text[i], text[other] = text[other], text[i]
        new.append(text)
    return torch.tensor(new)


def in_place(ids, pad, draw):
    ids[:] = by_sorting(ids, pad, draw)
    return ids


def up_to_the_padding(ids, pad, draw):
    order = 1 + torch.randperm(ids.shape[1] - 1, generator=draw)
    return torch.cat([ids[:, :1], ids[:, order]], dim=1)


def across_texts(ids, pad, draw):
    new = ids.clone()
    words = (ids != pad) & (torch.arange(ids.shape[1]) > 0)
    new[words] = ids[words][torch.randperm(int(words.sum()), generator=draw)]
    return new


def by_sorting_rows(ids, pad, seed):
    return each_text(lambda n, _: drawn(n, torch.Generator().manual_seed(seed)))(ids, pad, None)


def only_the_first_text(ids, pad, draw):
    new = ids.clone()
    new[0] = by_sorting(ids, pad, draw)[0]
    return new


def turned(n, draw):
    return torch.arange(n).roll(int(torch.randint(n, (), generator=draw)))


def by_coarse_noise(n, draw):
    return torch.randint(3, (n,), generator=draw).argsort(stable=True)


RIGHT = {a3.shuffle_words: [each_text(drawn), by_swaps]}

WRONG = {
    a3.shuffle_words: [
        (lambda ids, pad, draw: ids, "nothing is shuffled"),
        (lambda ids, pad, draw: None, "should be a tensor"),
        (lambda ids, pad, draw: 1 / 0, "ZeroDivisionError"),
        (lambda ids, pad, draw: by_sorting(ids, pad, draw)[:, 1:], "has shape"),
        (lambda ids, pad, draw: by_sorting(ids, pad, draw).float(), "whole numbers"),
        (in_place, "changes ids"),
        (each_text(drawn, first=0), "[CLS] has moved"),
        (up_to_the_padding, "padding has come"),
        (across_texts, "from one text to another"),
        (each_text(lambda n, draw: torch.randint(n, (n,), generator=draw)), "come twice"),
        (each_text(drawn, first=2), "the first word never moves"),
        (each_text(drawn, less=1), "the last word never moves"),
        (only_the_first_text, "text 1 is never"),
        (each_text(lambda n, _: torch.arange(n).flip(0)), "the same order; draw goes on"),
        (lambda i, p, d: by_sorting(i, p, d.manual_seed(0)), "the same order; draw goes on"),
        (
            lambda i, p, d: by_sorting_rows(i, p, int(torch.randint(10**6, (), generator=d))),
            "texts of one length",
        ),
        (each_text(lambda n, _: torch.randperm(n)), "generator=draw"),
        (each_text(turned), "only 3 of them"),
        (each_text(by_coarse_noise), "each should be as likely"),
    ]
}

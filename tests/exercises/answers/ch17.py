"""The checks of chapter 17 accept what is right, however written, and name what is wrong."""

import numpy as np
import torch

from exercises import ch17


def one_at_a_time(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    before = decode(ids)
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % vocab_size
        if (decode(changed) - before)[:, :place].abs().max() > 1e-5:
            return True
    return False


def beginnings(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (2, T))
    whole = decode(ids)
    return any(not torch.allclose(decode(ids[:, :t]), whole[:, :t], atol=1e-4) for t in range(1, T))


def compared(first_output, token, tolerance=1e-5):
    """Compare outputs before or at the changed token, of one token only."""

    def function(decode, T, vocab_size):
        ids = torch.randint(vocab_size, (1, T))
        changed = ids.clone()
        changed[:, token] = (ids[:, token] + 1) % vocab_size
        moved = (decode(changed) - decode(ids))[:, first_output(T)].abs().max()
        return bool(moved > tolerance)

    return function


def second_half(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    changed = ids.clone()
    changed[:, T // 2 :] = (ids[:, T // 2 :] + 1) % vocab_size
    return bool((decode(changed) - decode(ids))[:, : T // 2].abs().max() > 1e-05)


def first_pair(decode, T, vocab_size):
    tests = [compared(lambda _, t=t: slice(0, t), t) for t in (1, T - 1)]
    return any(test(decode, T, vocab_size) for test in tests)


def neighbours(decode, T, vocab_size):
    tests = [compared(lambda _, t=t: slice(t - 1, t), t) for t in range(1, T)]
    return any(test(decode, T, vocab_size) for test in tests)


RIGHT = {
    ch17.switched: ["Freitag, 25. Juli 1969", " Freitag,  25. Juli 1969. "],
    ch17.looks_ahead: [one_at_a_time, beginnings, lambda *given: np.bool_(one_at_a_time(*given))],
}

WRONG = {
    ch17.switched: [
        ("Freitag, 25. Mai 2001", "nothing of it is kept"),
        ("Sonntag, 20. Juli 1969", "nobody takes it back"),
        ("Freitag, 25. Mai 1969", "the month is yet to be written"),
        ("Freitag, 25. Juli 2001", "the year is yet to be written"),
        ("Freitag, 25. 20. Juli 1969", "after the day comes the month"),
        ("Juli 1969", "give the whole text"),
        ("Freitag, 25. …", "the beginning stays"),
        (1920, "should be a text; got int"),
    ],
    ch17.looks_ahead: [
        (lambda *_: False, "has no mask does look ahead"),
        (lambda *_: True, "all that came before does not look ahead"),
        (compared(lambda T: slice(0, T), -1), "compare those before it"),
        (compared(lambda T: slice(0, T - 1), -1, 0.0), "Allow a tolerance"),
        (second_half, "lets only output 5 see token 6 does look ahead"),
        (first_pair, "lets only output 4 see token 5 does look ahead"),
        (neighbours, "lets only output 4 see token 6 does look ahead"),
        (compared(lambda T: slice(0, 1), 3), "sees one token ahead does look ahead"),
        (lambda *_: None, "return True or False; got NoneType"),
        (lambda d, T, V: d(torch.full((1, T), V)) is None, "ids should be (B, T), from 0 to 4"),
    ],
}

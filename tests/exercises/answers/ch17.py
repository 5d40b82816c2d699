import numpy as np
import torch

from exercises import ch17


def one_at_a_time(decode, T, vocab_size, tolerance=1e-5):
    ids = torch.randint(vocab_size, (1, T))
    before = decode(ids)
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % vocab_size
        if (decode(changed) - before)[:, :place].abs().max() > tolerance:
            return True
    return False


def beginnings(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (2, T))
    whole = decode(ids)
    return any(not torch.allclose(decode(ids[:, :t]), whole[:, :t], atol=1e-4) for t in range(1, T))


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
        (lambda *_: None, "return True or False; got NoneType"),
        (lambda *given: one_at_a_time(*given, 0.0), "Allow a tolerance"),
    ],
}

import torch
import torch.nn.functional as F

from exercises import ch19


def in_a_loop(tokens):
    rows, found = tokens.tolist(), torch.zeros_like(tokens)
    for t, row in enumerate(rows):
        after = [tokens[j] for j in range(1, t + 1) if rows[j - 1] == row]
        if after:
            found[t] = torch.stack(after).mean(dim=0)
    return found


RIGHT = {ch19.copy_by_hand: [in_a_loop], ch19.fixed_place: [7, 6.9, torch.tensor(6.8)]}


def with_a_softmax(tokens):
    notes = F.pad(tokens, (0, 0, 1, -1))
    return F.scaled_dot_product_attention(tokens, notes, tokens, is_causal=True, scale=1.0)


WRONG = {
    ch19.copy_by_hand: [(with_a_softmax, "a softmax gives weight to every token, also where")],
    ch19.fixed_place: [
        (0, "even a guess is right"),
        (0.8, "at a random place"),
        (3.5, "which of the seven"),
        (100, "from 0 to 7"),
    ],
}

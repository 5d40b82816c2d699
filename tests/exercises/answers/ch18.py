import torch

from exercises import ch18


def in_a_loop(probabilities, p):
    kept, total = torch.zeros_like(probabilities), 0.0
    for place in probabilities.argsort(descending=True).tolist():
        if total >= p:
            break
        kept[place] = probabilities[place]
        total += probabilities[place].item()
    return kept / kept.sum()


RIGHT = {ch18.top_p: [in_a_loop]}

WRONG = {
    ch18.top_p: [(lambda probabilities, p: probabilities[probabilities >= p], "has shape (0,)")],
}

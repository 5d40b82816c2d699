import torch

from exercises import ch20


def by_the_sums(output, log_sum, sink):
    total = log_sum.exp()
    return output * total / (total + sink.exp()[:, None, None])


def one_place_each(q_scale, k_scale):
    D_head = len(q_scale)
    alone = torch.eye(D_head) * D_head**0.5  # a normalised vector per row
    scores = (alone * q_scale) @ (alone * k_scale).mT / D_head**0.5
    return scores.abs().max()


RIGHT = {
    ch20.highest: [one_place_each],
    ch20.sink_after: [by_the_sums],
    ch20.never_new: [0.93, 0.95, 0.97],
}

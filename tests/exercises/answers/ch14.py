import torch

from exercises import ch14


def in_matrices(state, key, value, keep, write):
    fade = torch.eye(len(key)) - write * key[:, None] * key
    return keep * fade @ state + write * key[:, None] * value


RIGHT = {ch14.wider: [0.86, 0.88, 0.9], ch14.step: [in_matrices]}

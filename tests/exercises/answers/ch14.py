import torch

from exercises import ch14


def projected(state, key):
    return (torch.eye(len(key)) - key[:, None] * key) @ state


RIGHT = {ch14.wider: [0.86, 0.88, 0.9], ch14.forget: [projected]}

import torch

from exercises import ch14


def one_by_one(layers, T, width):
    sizes = [width if layer == "W" and width < T else T for layer in layers]
    return sum(sizes) / T / len(sizes)


def projected(state, key):
    return (torch.eye(len(key)) - key[:, None] * key) @ state


RIGHT = {ch14.cache_share: [one_by_one], ch14.forget: [projected]}

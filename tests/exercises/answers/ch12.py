import torch
from torch.nn.functional import scaled_dot_product_attention as attend

from exercises import ch12


def only_the_old(q, k, v, keys, values):
    return attend(q, keys, values), torch.cat([keys, k], 2), torch.cat([values, v], 2)


RIGHT = {ch12.cache_as_large: [6144, 6144.0]}

WRONG = {
    ch12.cached_steps: [
        (lambda q, k, v, keys, values: q, "three things"),
        (only_the_old, "only the old tokens are seen"),
    ],
    ch12.cache_as_large: [(100, "how many numbers does a token keep?")],
}

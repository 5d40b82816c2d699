"""Checks of chapter 14: the cache of a layout, and a state that forgets one value."""

import torch
import torch.nn.functional as F

from exercises.exercise import Case, Cases, exercise, normal


@exercise
def cache_share() -> Cases:
    """Check ``function(layers, T, width)``: the share of the cache that windows leave."""
    for layers, T, width in (("WWWWWG", 32_768, 1_024), ("WGWG", 100, 20), ("WWG", 10, 16), ("WW", 50, 5)):
        windows, n = layers.count("W"), len(layers)
        right = (windows * min(T, width) + (n - windows) * T) / (n * T)
        wrong = {
            "a text shorter than the window fills only T places of it.": (windows * width + (n - windows) * T) / (n * T),
            "this is the share that is saved; what is left?": 1 - right,
            "the layers that read all keep their caches as well.": windows * min(T, width) / (n * T),
            "divide by the cache of all layers, not of one.": right * n,
            "a share has no unit: divide by what layers that all read all would keep.": right * n * T,
            "that is what one layer with a window keeps; count every layer.": min(T, width) / T,
        }
        yield Case((layers, T, width), right, wrong, "the share", atol=1e-6)


@exercise
def forget() -> Cases:
    """Check ``function(state, key)``: ``state`` (D_head, D_head) without what stands under ``key``, (D_head,)."""
    randn = normal(0)
    for D_head in (2, 3, 5):
        state, key = randn(D_head, D_head), F.normalize(randn(D_head), dim=0)
        under = key @ state
        wrong = {
            "nothing is forgotten yet.": state,
            "this stores the value a second time: take it away.": state + torch.outer(key, under),
            "this takes the value away from every row; it stands under the key: take away the key times the value.": state - under,
            "the outer product is the other way round: the key first, as in the rule.": state - torch.outer(under, key),
            "`key * (key @ state)` goes place by place; the key stands in a column: take the outer product.": state - key * under,
            "the value is not the key itself: read it first, `key @ state`.": state - torch.outer(key, key),
            "keys multiply the state from the left, `key @ state`; here from the right.": state - torch.outer(state @ key, key),
        }
        yield Case((state, key), state - torch.outer(key, under), wrong, "the state")

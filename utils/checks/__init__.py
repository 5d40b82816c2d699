"""What a reader calls to test what they wrote: one check for each exercise.

A check runs an obvious specification on seeded inputs and returns "Right." or, starting with "Not
yet:", one sentence that says what is wrong.
"""

from utils.checks.dot_product import additive_scores, batched_product, scaled_dot_product, softmax
from utils.checks.heads import contributions_of_heads, join_and_project, loop_over_heads, one_head
from utils.checks.lookup import (
    cosine_similarities,
    kernel_weights,
    self_attention,
    soft_lookup,
    softmax_at,
)
from utils.checks.masking import (
    causal_mask,
    combined_mask,
    layer_mask,
    masked_softmax,
    padding_mask,
)
from utils.checks.reshaping import (
    efficient_layer,
    folded_weights,
    join_heads,
    split_heads,
    stack_projections,
)

__all__ = [
    "additive_scores",
    "batched_product",
    "causal_mask",
    "combined_mask",
    "contributions_of_heads",
    "cosine_similarities",
    "efficient_layer",
    "folded_weights",
    "join_and_project",
    "join_heads",
    "kernel_weights",
    "layer_mask",
    "loop_over_heads",
    "masked_softmax",
    "one_head",
    "padding_mask",
    "scaled_dot_product",
    "self_attention",
    "soft_lookup",
    "softmax",
    "softmax_at",
    "split_heads",
    "stack_projections",
]

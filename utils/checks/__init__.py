"""What a reader calls to test what they wrote: one check for each exercise.

A check runs an obvious specification on seeded inputs and returns "Right." or, starting with "Not
yet:", one sentence that says what is wrong.
"""

from utils.checks.classifying import classifier_size, mean_layer
from utils.checks.costs import low_rank_scores, multiply_adds, parameter_count, weights_of_head
from utils.checks.decoding import (
    absorbed_heads,
    cached_step,
    repeated_key_heads,
    tokens_that_fit,
)
from utils.checks.dot_product import additive_scores, batched_product, scaled_dot_product, softmax
from utils.checks.embedding import exact_p_value, first_of_kind, nearest_class
from utils.checks.encoding import encoder_block, new_name, offset_share, rms_norm
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
from utils.checks.ordering import alibi_bias, rotate_at, shift_matrix, sinusoidal_table
from utils.checks.reading import ablate_head, confidence, cut_head, mask_gradient
from utils.checks.reshaping import (
    efficient_layer,
    folded_weights,
    join_heads,
    split_heads,
    stack_projections,
)
from utils.checks.speed import absorbed_scores, absorbed_values, padding_tokens, row_asked_for
from utils.checks.tiling import one_tile, online_step, tiles_visited
from utils.checks.translating import cross_attention, smoothed_loss
from utils.checks.widths import (
    absorb_convolution,
    parameters_of_widths,
    wide_attention,
    width_of_equal_cost,
)
from utils.checks.writing import beam_step, looks_ahead

__all__ = [
    "ablate_head",
    "absorb_convolution",
    "absorbed_heads",
    "absorbed_scores",
    "absorbed_values",
    "additive_scores",
    "alibi_bias",
    "batched_product",
    "beam_step",
    "cached_step",
    "causal_mask",
    "classifier_size",
    "combined_mask",
    "confidence",
    "contributions_of_heads",
    "cosine_similarities",
    "cross_attention",
    "cut_head",
    "efficient_layer",
    "encoder_block",
    "exact_p_value",
    "first_of_kind",
    "folded_weights",
    "join_and_project",
    "join_heads",
    "kernel_weights",
    "layer_mask",
    "looks_ahead",
    "loop_over_heads",
    "low_rank_scores",
    "mask_gradient",
    "masked_softmax",
    "mean_layer",
    "multiply_adds",
    "nearest_class",
    "new_name",
    "offset_share",
    "one_head",
    "one_tile",
    "online_step",
    "padding_mask",
    "padding_tokens",
    "parameter_count",
    "parameters_of_widths",
    "repeated_key_heads",
    "rms_norm",
    "rotate_at",
    "row_asked_for",
    "scaled_dot_product",
    "self_attention",
    "shift_matrix",
    "sinusoidal_table",
    "smoothed_loss",
    "soft_lookup",
    "softmax",
    "softmax_at",
    "split_heads",
    "stack_projections",
    "tiles_visited",
    "tokens_that_fit",
    "weights_of_head",
    "wide_attention",
    "width_of_equal_cost",
]

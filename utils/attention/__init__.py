"""Attention: the definition, the layer in several ways, masks and positions.

Read it in this order:

``masks``        which query may attend to which key
``dot_product``  scaled dot-product attention, the definition: it returns the weights as well
``naive``        multi-head attention as a loop over heads
``multi_head``   the same at once: one projection each, a reshape, one call of the kernel
``layer``        how all layers are called; ``validate`` checks what they are given, ``weights``
                 converts them from and to PyTorch's
``fast``         the cheapest order of the products; ``absorbed`` projects no key and no value
``grouped``      heads that share keys and values
``cache``        the keys and values that a layer keeps while it writes token by token
``paged``        the same for many texts, in pages of one memory
``tiled``        exact attention that never holds the matrix of weights; parts of it, merged
``parallel``     heads over processes; ``ring`` the same for the tokens of a sequence
``positions``    what tells the layer where a token stands: four encodings
``variants``     heads as wide as the model, and a convolution that reduces them
``in_numpy``     the same layer in NumPy alone
"""

from utils.attention.absorbed import absorbed_attention
from utils.attention.cache import KeyValueCache
from utils.attention.dot_product import scaled_dot_product_attention
from utils.attention.fast import FastMultiHeadAttention, products_of_orders
from utils.attention.grouped import grouped_attention
from utils.attention.in_numpy import NumpyMultiHeadAttention, softmax
from utils.attention.layer import AttentionLayer, LayerOptions
from utils.attention.masks import (
    blocked_to_allowed,
    causal_mask,
    combine_masks,
    masked_softmax,
    merge_layer_masks,
    to_additive,
    valid_length_mask,
)
from utils.attention.multi_head import MultiHeadAttention
from utils.attention.naive import Head, NaiveMultiHeadAttention
from utils.attention.paged import PagedCache
from utils.attention.parallel import parallelize_heads
from utils.attention.positions import (
    ALiBi,
    LearnedPositionalEncoding,
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
    alibi_slopes,
    position_angles,
)
from utils.attention.ring import ring_attention, ring_positions
from utils.attention.tiled import merge_attention, partial_attention, tiled_attention
from utils.attention.validate import (
    check_broadcast,
    check_dtypes,
    check_mask,
    check_whole,
    is_plain,
)
from utils.attention.variants import ConvMultiHeadAttention, WideMultiHeadAttention
from utils.attention.weights import check_weights, is_plain_linear
